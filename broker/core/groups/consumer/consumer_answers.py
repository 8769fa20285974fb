"""What is told of groups of the consumer protocol (ConsumerGroupDescribe), and who has them.

Source: ConsumerGroup.asDescribedGroup, ConsumerGroupMember.asConsumerGroupDescribeMember,
KafkaApis.isConsumerGroupProtocolEnabled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.consumer.known_topics import KnownTopics
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.features import GROUP_VERSION, finalized_level
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeResponseAssignment,
    ConsumerGroupDescribeResponseTopicPartitions,
    DescribedGroup,
    Member,
)

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def require_protocol(cluster_release: str | None, config: CoordinationConfig) -> None:
    """Refuse requests of the consumer protocol where its release or its broker does not speak it.

    Raises:
        KafkaError: UNSUPPORTED_VERSION.
    """
    is_spoken = "consumer" in config.group_coordinator_rebalance_protocols
    if not is_spoken or finalized_level(cluster_release, GROUP_VERSION) == 0:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def described(group: ConsumerGroup, topics: KnownTopics, default_assignor: str) -> DescribedGroup:
    """Describe a group with its members, what they have and what they shall have."""
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or default_assignor,
        members=[_member(group, member, topics) for member in group.members.values()],
    )


def not_described(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Tell why a group is not described."""
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: KnownTopics) -> Member:
    has: dict[bytes, list[int]] = {}
    for held in (member.assigned, member.revoking):  # It answers for both.
        for topic_id, partitions in held.items():
            has.setdefault(topic_id, []).extend(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(has, topics),
        target_assignment=_assignment(group.targets.get(member.member_id, {}), topics),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(
    partitions: Mapping[bytes, Iterable[int]], topics: KnownTopics
) -> ConsumerGroupDescribeResponseAssignment:
    rows = ((topic_id, topics.name(topic_id)) for topic_id in partitions)
    return ConsumerGroupDescribeResponseAssignment(
        topic_partitions=[
            ConsumerGroupDescribeResponseTopicPartitions(
                topic_id=topic_id, topic_name=name, partitions=list(partitions[topic_id])
            )
            for topic_id, name in rows
            if name is not None
        ]
    )
