"""Groups at their bounds: timeouts, names, sizes of metadata, lists, odd fields of heartbeats."""

from __future__ import annotations

from typing import Any, Final

from conformance.core.cases.building import UNKNOWN_ID
from conformance.core.cases.consumer_groups import known_topic
from conformance.core.cases.members import (
    JOIN,
    commit_form,
    join_form,
    joined,
    left,
    offset_row,
    offsets_form,
)
from conformance.core.catalogue import case
from conformance.core.script import Coordinator, Given, NewTopic, Request, Script, Talk, Topic, ask
from protocol.errors import ErrorCode

_INT_MAX: Final = 2**31 - 1
_INT_MIN: Final = -(2**31)
_LONG_MAX: Final = 2**63 - 1
_SESSION_MIN_MS: Final = 6000
_SESSION_MAX_MS: Final = 1_800_000
_METADATA_MAX: Final = 4096
"""offset.metadata.max.bytes counts characters of what JSON calls a string."""
_MEMBER: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
_INSTANCES_SINCE: Final = 5
_ODD_NAMES: Final = ("-" + "x" * 1000, " a b", "\u00e9\u4e2d", "#\t/", "." * 249)


@case("groups/join-timeouts", "JoinGroup", versions="all")
def join_timeouts(given: Given) -> Script:
    """Session timeouts at their bounds and beyond; times to rebalance that are no times."""
    group = given.name("group")
    to = Coordinator(group)
    for timeout_ms in (0, -1, _INT_MIN, _SESSION_MIN_MS - 1, _SESSION_MAX_MS + 1, _INT_MAX):
        form = join_form(group) | {"sessionTimeoutMs": timeout_ms}
        yield from ask("JoinGroup", given.version, form, to=to)
    for session_ms, rebalance_ms in (
        (_SESSION_MIN_MS, 1),
        (_SESSION_MAX_MS, 0),
        (_SESSION_MIN_MS, -1),
        (_SESSION_MIN_MS, _INT_MIN),
        (_SESSION_MIN_MS, _INT_MAX),
    ):
        yield from _joined_briefly(given, group, session_ms, rebalance_ms)


def _joined_briefly(given: Given, group: str, session_ms: int, rebalance_ms: int) -> Script:
    """Join and leave: who has no time to rebalance may be gone before it is given its part."""
    form = join_form(group) | {"sessionTimeoutMs": session_ms, "rebalanceTimeoutMs": rebalance_ms}
    answer = yield from ask("JoinGroup", given.version, form, to=Coordinator(group))
    if answer.get("errorCode") == ErrorCode.MEMBER_ID_REQUIRED:
        form["memberId"] = answer["memberId"]
        answer = yield from ask("JoinGroup", given.version, form, to=Coordinator(group))
    rows = [{"memberId": answer.get("memberId", "")}]
    gone = {"groupId": group, "members": rows}
    leaves = Request("LeaveGroup", 3, gone)
    yield Talk([leaves], to=Coordinator(group), is_seen=False, may_go_wrong=True)


@case("groups/join-odd", "JoinGroup", versions="all")
def join_odd(given: Given) -> Script:
    """Protocols without a name or metadata; kinds, reasons and instance ids of odd form."""
    row = {"name": "range", "metadata": ""}
    odd: list[dict[str, Any]] = [
        {"protocols": [row]},
        {"protocols": [{"name": "", "metadata": ""}]},
        {"protocolType": "x" * 1000},
        {"reason": ""},
        {"reason": "x" * 1000},
    ]
    if given.version >= _INSTANCES_SINCE:
        odd += [{"groupInstanceId": each} for each in ("", ".", "a b", "x" * 250)]
    for number, more in enumerate(odd, 1):
        group = given.name("group", number)
        member, _ = yield from joined(given.version, group, **more)
        rows = [{"memberId": member, "groupInstanceId": more.get("groupInstanceId")}]
        gone = {"groupId": group, "members": rows}
        yield from ask("LeaveGroup", 3, gone, to=Coordinator(group))


@case("groups/names", "OffsetCommit", versions="ends", since=1)
def names(given: Given) -> Script:
    """Groups of long and odd names are groups like all others."""
    topic = yield NewTopic()
    for odd in _ODD_NAMES:
        group = given.name("group") + odd
        to = Coordinator(group)
        form = commit_form(group, topic, [offset_row(0, 5)])
        yield from ask("OffsetCommit", given.version, form, to=to)
        yield from ask("OffsetFetch", 5, offsets_form(group, topic, [0]), to=to)
        yield from ask("DescribeGroups", 3, {"groups": [group]}, to=to)
        yield from ask("DeleteGroups", 1, {"groupsNames": [group]}, to=to)


@case("groups/commit-bounds", "OffsetCommit", versions="all", since=1)
def commit_bounds(given: Given) -> Script:
    """Metadata as large as may be and larger; offsets, epochs and times at both ends."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    for metadata in ("x" * _METADATA_MAX, "x" * (_METADATA_MAX + 1), "\u00e9" * _METADATA_MAX):
        form = commit_form(group, topic, [offset_row(0, 1, metadata), offset_row(1, 1)])
        yield from ask("OffsetCommit", given.version, form, to=to)
    for offset in (-2, -_LONG_MAX - 1, 0):
        form = commit_form(group, topic, [offset_row(0, offset)])
        yield from ask("OffsetCommit", given.version, form, to=to)
        yield from ask("OffsetFetch", 5, offsets_form(group, topic, [0]), to=to)
    for epoch in (-1, -2, _INT_MIN, _INT_MAX):
        form = commit_form(group, topic, [offset_row(0, 2) | {"committedLeaderEpoch": epoch}])
        yield from ask("OffsetCommit", given.version, form, to=to)
        yield from ask("OffsetFetch", 5, offsets_form(group, topic, [0]), to=to)
    for number in (0, -2, _INT_MAX, _INT_MIN):
        more = {"generationIdOrMemberEpoch": number}
        form = commit_form(group, topic, [offset_row(0, 3)], **more)
        yield from ask("OffsetCommit", given.version, form, to=to)
    form = commit_form(group, topic, [offset_row(-1, 3), offset_row(_INT_MAX, 3)])
    yield from ask("OffsetCommit", given.version, form, to=to)
    yield from ask("OffsetCommit", given.version, form | {"topics": []}, to=to)


@case("groups/fetch-bounds", "OffsetFetch", versions="all", since=1)
def fetch_bounds(given: Given) -> Script:
    """Offsets of partitions that cannot be, of one twice, of a topic that is not there."""
    topic = yield NewTopic()
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, commit_form(group, topic, [offset_row(0, 5)]), to=to)
    for partitions in ([-1, _INT_MAX, _INT_MIN], [0, 0]):
        form = offsets_form(group, topic, partitions)
        yield from ask("OffsetFetch", given.version, form, to=to)


@case("groups/many-described", "DescribeGroups", versions="all")
def many_described(given: Given) -> Script:
    """No group, one many times, and what may be done with it."""
    group = given.name("group")
    member, _ = yield from joined(JOIN, group)
    for groups in ([], [group] * 3, [group] * 100):
        form = {"groups": groups, "includeAuthorizedOperations": True}
        yield from ask("DescribeGroups", given.version, form, to=Coordinator(group))
    yield from left(group, member)


@case("groups/many-deleted", "DeleteGroups", versions="all")
def many_deleted(given: Given) -> Script:
    """No group, and one twice."""
    topic = yield NewTopic()
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, commit_form(group, topic, [offset_row(0, 5)]), to=to)
    for groups in ([], [group, group], [group, group]):
        yield from ask("DeleteGroups", given.version, {"groupsNames": groups}, to=to)


@case("groups/many-leave", "LeaveGroup", versions="all", since=3)
def many_leave(given: Given) -> Script:
    """Nobody leaves, somebody twice, somebody without a name, with reasons of any length."""
    group = given.name("group")
    to = Coordinator(group)
    member, _ = yield from joined(JOIN, group)
    for rows in (
        [],
        [{"memberId": ""}],
        [{"memberId": "", "groupInstanceId": ""}],
        [{"memberId": "nobody", "groupInstanceId": "none", "reason": "x" * 1000}],
        [{"memberId": member, "reason": ""}, {"memberId": member}],
    ):
        yield from ask("LeaveGroup", given.version, {"groupId": group, "members": rows}, to=to)


@case("groups/beat-bounds", "Heartbeat", versions="all")
def beat_bounds(given: Given) -> Script:
    """Generations at both ends, and instance ids that no member has."""
    group = given.name("group")
    member, generation = yield from joined(JOIN, group)
    for number, instance in (
        (_INT_MAX, None),
        (_INT_MIN, None),
        (-1, None),
        (generation, "none"),
        (generation, ""),
    ):
        who = {"memberId": member, "groupInstanceId": instance}
        form = {"groupId": group, "generationId": number, **who}
        yield from ask("Heartbeat", given.version, form, to=Coordinator(group))
    yield from left(group, member)


@case("groups/coordinators-of-many", "FindCoordinator", versions="all")
def coordinators_of_many(given: Given) -> Script:
    """Coordinators of nobody, of one twice, of odd names; kinds at both ends."""
    key = given.name("key")
    for keys in ([], [key, key], [key + odd for odd in _ODD_NAMES], ["x" * 10_000]):
        form = {"key": "".join(keys[:1]), "coordinatorKeys": keys}
        yield from ask("FindCoordinator", given.version, form)
    if given.version:
        for kind in (-1, -128, 127, 3):
            form = {"key": key, "keyType": kind, "coordinatorKeys": [key]}
            yield from ask("FindCoordinator", given.version, form)


@case("consumer-groups/odd-beats", "ConsumerGroupHeartbeat", versions="all")
def odd_beats(given: Given) -> Script:
    """KIP-848: who joins tells odd things: times, names, topics, partitions, assignors."""
    topic = yield from known_topic()
    for number, more in enumerate(_odd_beats(given, topic), 1):
        group = given.name("group", number)
        form = {
            "groupId": group,
            "memberId": _MEMBER,
            "memberEpoch": 0,
            "rebalanceTimeoutMs": 30_000,
            "subscribedTopicNames": [topic.name],
            "topicPartitions": [],
        } | more
        to = Coordinator(group)
        answer = yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to)
        if answer.get("errorCode") == ErrorCode.NONE:
            gone = {"groupId": group, "memberId": answer["memberId"], "memberEpoch": -1}
            yield from ask("ConsumerGroupHeartbeat", given.version, gone, to=to)


def _odd_beats(given: Given, topic: Topic) -> tuple[dict[str, Any], ...]:
    owned = [{"topicId": topic.id, "partitions": [0]}]
    unknown = [{"topicId": UNKNOWN_ID, "partitions": [0]}]
    return (
        {"memberId": ""},
        {"memberId": "x" * 1000},
        {"memberId": "a b/\u00e9"},
        {"rebalanceTimeoutMs": 0},
        {"rebalanceTimeoutMs": -2},
        {"rebalanceTimeoutMs": _INT_MAX},
        {"memberEpoch": -1},
        {"memberEpoch": -2},
        {"memberEpoch": _INT_MAX},
        {"memberEpoch": _INT_MIN},
        {"instanceId": ""},
        {"instanceId": "a b"},
        {"instanceId": "i", "memberEpoch": -2},
        {"rackId": ""},
        {"rackId": "x" * 1000},
        {"serverAssignor": ""},
        {"serverAssignor": "Range"},
        {"topicPartitions": owned},
        {"topicPartitions": unknown},
        {"subscribedTopicNames": []},
        {"subscribedTopicNames": [given.name("none"), ""]},
        {"subscribedTopicNames": [topic.name, topic.name]},
        {"subscribedTopicNames": None, "subscribedTopicRegex": ""},
    )


@case("consumer-groups/many-described", "ConsumerGroupDescribe", versions="all")
def consumers_described(given: Given) -> Script:
    """KIP-848: no group, and one that is not there many times, with what may be done."""
    none = given.name("none")
    for groups in ([], [none] * 3):
        form = {"groupIds": groups, "includeAuthorizedOperations": True}
        request = Request("ConsumerGroupDescribe", given.version, form)
        yield Talk([request], to=Coordinator(none))
