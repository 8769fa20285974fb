"""What is said of groups: members of both protocols, offsets, descriptions, deletions."""

from __future__ import annotations

import base64
from struct import pack
from typing import Any, Final

from conformance.core.cases.members import (
    commit_form,
    join_form,
    offset_row,
    offsets_form,
    sync_form,
)
from conformance.core.script import Coordinator, ask
from protocol.errors import ErrorCode
from tests.conversations.speaker import Consumer, Member, Speaker, Step, say

_STRANGER: Final = "stranger"
_IDS: Final = tuple(f"AAAAAAAAAAAAAAAAAAAAA{last}" for last in "Qg")
"""Two: which of three goes without, where a topic has two partitions, is the assignor's affair."""
_SESSION_MS: Final = 45_000
_SUBSCRIPTION: Final = base64.b64encode(pack(">hih1si", 0, 1, 1, b"a", -1)).decode()
"""What a consumer that reads one topic says, in its first version."""


def join(speaker: Speaker) -> Step:
    """Have a member join a group that is empty or its own, and be assigned."""
    group = speaker.name("group")
    mine = [each for each in speaker.members if each.group == group]
    member = mine[0].id if mine else ""
    member = speaker.mostly(member, _STRANGER, share=0.97)
    # A first member without a type is refused, and leaves an empty group by 3.9, none by 4.3.
    kinds = ("connect",) if speaker.is_told_late else ("connect", "")
    kind = speaker.mostly("consumer", *kinds, share=0.95)
    more: dict[str, Any] = {"protocolType": kind}
    if speaker.chance(0.9):
        more["protocols"] = [{"name": "range", "metadata": _SUBSCRIPTION}]
    if not mine and speaker.chance(0.2):
        more["groupInstanceId"] = "instance"
    to, version = Coordinator(group), speaker.version("JoinGroup", 5)
    answer = yield from ask("JoinGroup", version, join_form(group, member, **more), to=to)
    if answer.get("errorCode") == ErrorCode.MEMBER_ID_REQUIRED:
        member = answer.get("memberId", "")
        answer = yield from ask("JoinGroup", version, join_form(group, member, **more), to=to)
    if answer.get("errorCode") != 0:
        return
    made = Member(group, answer["memberId"], answer["generationId"])
    speaker.members[:] = [each for each in speaker.members if each.group != group] + [made]
    if speaker.chance(0.9):
        yield from sync(speaker)


def sync(speaker: Speaker) -> Step:
    """SyncGroup of a member, of its generation or of another."""
    if not speaker.members:
        return
    member = speaker.members[-1]
    generation = speaker.mostly(member.generation, member.generation + 1, -1, share=0.95)
    form = sync_form(member.group, generation, speaker.mostly(member.id, _STRANGER, share=0.97))
    yield from say(speaker, "SyncGroup", form, to=Coordinator(member.group), since=3)


def beat(speaker: Speaker) -> Step:
    """Heartbeat."""
    if not speaker.members:
        return
    member = speaker.one_of(speaker.members)
    form = {
        "groupId": member.group,
        "generationId": speaker.mostly(member.generation, member.generation - 1),
        "memberId": speaker.mostly(member.id, _STRANGER, ""),
    }
    yield from say(speaker, "Heartbeat", form, to=Coordinator(member.group), since=3)


def leave(speaker: Speaker) -> Step:
    """LeaveGroup of a member, of nobody, or of two."""
    if not speaker.members:
        return
    member = speaker.one_of(speaker.members)
    id_ = speaker.mostly(member.id, _STRANGER, share=0.9)
    members = [{"memberId": id_}] + [{"memberId": _STRANGER}] * speaker.chance(0.2)
    form = {"groupId": member.group, "memberId": id_, "members": members}
    yield from say(speaker, "LeaveGroup", form, to=Coordinator(member.group))
    if id_ == member.id:
        speaker.members.remove(member)


def beat_consumer(speaker: Speaker) -> Step:
    """ConsumerGroupHeartbeat: a member joins, goes on, changes what it reads, or leaves."""
    group, id_ = speaker.name("group"), speaker.one_of(_IDS)
    mine = [each for each in speaker.consumers if (each.group, each.id) == (group, id_)]
    epoch = mine[0].epoch if mine else 0
    epoch = speaker.mostly(epoch, 0, -1, epoch + 1, max(epoch - 1, 0), share=0.8)
    form: dict[str, Any] = {"groupId": group, "memberId": id_, "memberEpoch": epoch}
    if epoch == 0:
        form |= {
            "rebalanceTimeoutMs": speaker.mostly(_SESSION_MS, -1, share=0.97),
            "subscribedTopicNames": [speaker.topic().name],
            "topicPartitions": [],
        }
        if speaker.chance(0.3):
            form["serverAssignor"] = speaker.one_of(["uniform", "range", "none"])
    elif speaker.chance(0.2):
        form["subscribedTopicNames"] = sorted({speaker.topic().name, speaker.topic().name})
    answer = yield from say(speaker, "ConsumerGroupHeartbeat", form, to=Coordinator(group))
    if answer.get("errorCode") == 0:
        speaker.consumers[:] = [e for e in speaker.consumers if (e.group, e.id) != (group, id_)]
        if answer["memberEpoch"] > 0:
            speaker.consumers.append(Consumer(group, id_, answer["memberEpoch"]))


def commit(speaker: Speaker) -> Step:
    """OffsetCommit by nobody or by a member of either protocol."""
    group, topic = speaker.name("group", 3), speaker.topic()
    who: dict[str, Any] = {}
    ids = [
        *((each.id, each.generation) for each in speaker.members if each.group == group),
        *((each.id, each.epoch) for each in speaker.consumers if each.group == group),
    ]
    if ids and speaker.chance(0.8):
        id_, generation = speaker.one_of(ids)
        generation = speaker.mostly(generation, generation + 1, generation - 1, share=0.9)
        who = {"memberId": id_, "generationIdOrMemberEpoch": generation}
    metadata = speaker.mostly("m", None, "", "x" * 5000)
    rows = [offset_row(speaker.partition(topic), speaker.dice.randint(0, 40), metadata)]
    form = commit_form(group, topic, rows, **who)
    yield from say(speaker, "OffsetCommit", form, to=Coordinator(group), since=2)


def offsets(speaker: Speaker) -> Step:
    """OffsetFetch of some partitions or of all."""
    group, topic = speaker.name("group", 3), speaker.topic()
    version = speaker.version("OffsetFetch", 2)
    partitions = speaker.one_of([[0], [0, 1], None])
    form = offsets_form(group, topic, partitions) | {"requireStable": speaker.chance(0.3)}
    yield from ask("OffsetFetch", version, form, to=Coordinator(group))


def delete_offsets(speaker: Speaker) -> Step:
    """OffsetDelete of a partition, and a commit: 3.9 lets go of a group with its last offset."""
    group, topic = speaker.name("group", 3), speaker.topic()
    rows = [{"partitionIndex": speaker.partition(topic)}]
    form = {"groupId": group, "topics": [{"name": topic.name, "partitions": rows}]}
    yield from say(speaker, "OffsetDelete", form, to=Coordinator(group))
    rows = [offset_row(0, 1)]
    again = commit_form(group, speaker.topics[0], rows)
    yield from say(speaker, "OffsetCommit", again, to=Coordinator(group), since=2)


def describe(speaker: Speaker) -> Step:
    """DescribeGroups and ConsumerGroupDescribe of one that may be of either kind, or none."""
    group = speaker.name("group", 4)
    to = Coordinator(group)
    yield from say(speaker, "DescribeGroups", {"groups": [group]}, to=to)
    yield from say(speaker, "ConsumerGroupDescribe", {"groupIds": [group]}, to=to)


def list_all(speaker: Speaker) -> Step:
    """ListGroups by states and types."""
    form = {
        "statesFilter": speaker.one_of([[], ["Stable"], ["Empty"], ["stable", "Dead"]]),
        "typesFilter": speaker.one_of([[], ["consumer"], ["classic"], ["Consumer"]]),
    }
    yield from say(speaker, "ListGroups", form, to=Coordinator(speaker.name("group")))


def delete(speaker: Speaker) -> Step:
    """DeleteGroups."""
    group = speaker.name("group", 3)
    yield from say(speaker, "DeleteGroups", {"groupsNames": [group]}, to=Coordinator(group))
