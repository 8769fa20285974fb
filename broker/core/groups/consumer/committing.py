"""Who of a group of the consumer protocol may commit and fetch offsets.

A commit in an earlier epoch is good for a partition that the member has had since then (KIP-1251).
Source: ConsumerGroup.validateOffsetCommit, validateOffsetFetch.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


def commit_error(
    group: ConsumerGroup, committer: Committer, tps: Iterable[TopicPartition], topics: KnownTopics
) -> ErrorCode:
    """Return why offsets may not be committed; NONE if all may."""
    epoch = committer.generation
    if epoch < 0 and group.is_empty:
        return ErrorCode.NONE
    is_anonymous = epoch == -1 and not committer.member_id and committer.instance_id is None
    if committer.is_transactional and is_anonymous:
        return ErrorCode.NONE
    member = group.members.get(committer.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not (committer.is_transactional or member.classic is not None or committer.has_member_epoch):
        return ErrorCode.UNSUPPORTED_VERSION
    if epoch == member.epoch or (epoch < member.epoch and _has_since(member, epoch, tps, topics)):
        return ErrorCode.NONE
    return _stale(member, is_transactional=committer.is_transactional)


def fetch_error(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> ErrorCode:
    """Return why offsets may not be fetched; NONE if they may.

    Who says neither who it is nor its epoch is no member, and may.
    """
    if member_id is None and member_epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_epoch == member.epoch else _stale(member)


def _has_since(
    member: ConsumerMember, epoch: int, tps: Iterable[TopicPartition], topics: KnownTopics
) -> bool:
    """Tell whether a member has had each partition in this earlier epoch already."""
    for tp in tps:
        since = member.assignment_epoch(topics.topic_id(tp.topic) or b"", tp.partition)
        if since is None or epoch < since:
            return False
    return True


def _stale(member: ConsumerMember, *, is_transactional: bool = False) -> ErrorCode:
    if is_transactional or member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
