"""Groups of both protocols: coordinators, members, generations, committed offsets."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import Any, Final

from jbodlab.conformance.core.cases.building import unknown_topic
from jbodlab.conformance.core.catalogue import case
from jbodlab.conformance.core.script import (
    Coordinator,
    Form,
    Given,
    NewTopic,
    Script,
    Topic,
    ask,
)
from protocol.errors import ErrorCode

_BYTES: Final = base64.b64encode(b"\0\1").decode()
_JOIN = 5
"""A version of JoinGroup, SyncGroup v3, that every release from 2.3 on has."""
_SYNC = 3
_SESSION_MS: Final = 30_000


def _join(group: str, member: str = "", **more: Any) -> dict[str, Any]:
    form = {
        "groupId": group,
        "sessionTimeoutMs": _SESSION_MS,
        "rebalanceTimeoutMs": _SESSION_MS,
        "memberId": member,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": _BYTES}],
    }
    return form | more


def _sync(group: str, generation: int, member: str) -> dict[str, Any]:
    return {
        "groupId": group,
        "generationId": generation,
        "memberId": member,
        "protocolType": "consumer",
        "protocolName": "range",
        "assignments": [{"memberId": member, "assignment": _BYTES}],
    }


def _joined(version: int, group: str, **more: Any) -> Generator[Any, Any, tuple[str, int]]:
    """Have one member join and be assigned; return its id and generation."""
    to = Coordinator(group)
    answer: Form = yield from ask("JoinGroup", version, _join(group, **more), to=to)
    member = answer.get("memberId", "")
    if answer.get("errorCode") == ErrorCode.MEMBER_ID_REQUIRED:
        form = _join(group, member, **more)
        answer = yield from ask("JoinGroup", version, form, to=to)
    generation = answer.get("generationId", -1)
    yield from ask("SyncGroup", _SYNC, _sync(group, generation, member), to=to)
    return member, generation


def _leave(group: str, member: str) -> Script:
    form = {"groupId": group, "memberId": member, "members": [{"memberId": member}]}
    return ask("LeaveGroup", 3, form, to=Coordinator(group))


@case("typical/FindCoordinator", "FindCoordinator", versions="all")
def find(given: Given) -> Script:
    """Coordinators of groups and transactions, and of a type that does not exist."""
    key = given.name("key")
    for type_ in (0, 1, 2, 99) if given.version else (0,):
        form = {"key": key, "keyType": type_, "coordinatorKeys": [key, ""]}
        yield from ask("FindCoordinator", given.version, form)


@case("typical/JoinGroup", "JoinGroup", versions="all")
def join(given: Given) -> Script:
    """A member joins a group that was empty, and leads it."""
    group = given.name("group")
    member, _ = yield from _joined(given.version, group)
    yield from _leave(group, member)


@case("groups/join-refused", "JoinGroup", versions="all")
def join_refused(given: Given) -> Script:
    """No group, unknown members, timeouts out of bounds, no protocol, another protocol."""
    group = given.name("group")
    to = Coordinator(group)
    refused: tuple[dict[str, Any], ...] = (
        _join(""),
        _join(group, "nobody"),
        _join(group) | {"sessionTimeoutMs": 1},
        _join(group) | {"sessionTimeoutMs": 2**31 - 1},
        _join(group) | {"protocols": []},
        _join(group) | {"protocolType": ""},
    )
    for form in refused:
        yield from ask("JoinGroup", given.version, form, to=to)
    member, _ = yield from _joined(_JOIN, group)
    other = _join(group) | {"protocols": [{"name": "other", "metadata": _BYTES}]}
    yield from ask("JoinGroup", given.version, other, to=to)
    yield from ask("JoinGroup", given.version, _join(group) | {"protocolType": "x"}, to=to)
    yield from _leave(group, member)


@case("groups/static-members", "JoinGroup", versions="all", since=5)
def static_members(given: Given) -> Script:
    """A member with an instance id comes back in its own place; the old one is fenced."""
    group = given.name("group")
    to = Coordinator(group)
    old, generation = yield from _joined(given.version, group, groupInstanceId="i1")
    yield from ask("JoinGroup", given.version, _join(group, groupInstanceId="i1"), to=to)
    form = {"groupId": group, "generationId": generation, "memberId": old, "groupInstanceId": "i1"}
    yield from ask("Heartbeat", 3, form, to=to)
    rows = [{"memberId": "", "groupInstanceId": "i1"}]
    yield from ask("LeaveGroup", 3, {"groupId": group, "members": rows}, to=to)


@case("typical/SyncGroup", "SyncGroup", versions="all")
def sync(given: Given) -> Script:
    """The assignment is given again in its generation; others are refused."""
    group = given.name("group")
    to = Coordinator(group)
    member, generation = yield from _joined(_JOIN, group)
    for id_, number in ((member, generation), (member, generation + 1), ("nobody", generation)):
        yield from ask("SyncGroup", given.version, _sync(group, number, id_), to=to)
    none = given.name("none")
    yield from ask("SyncGroup", given.version, _sync(none, 1, member), to=Coordinator(none))
    yield from ask("SyncGroup", given.version, _sync("", 1, member), to=to)
    yield from _leave(group, member)


@case("groups/sync-protocol", "SyncGroup", versions="all", since=5)
def sync_protocol(given: Given) -> Script:
    """A member that names another protocol than its group's, or none."""
    group = given.name("group")
    member, generation = yield from _joined(_JOIN, group)
    for key in ("protocolType", "protocolName"):
        for value in ("other", None):
            form = _sync(group, generation, member) | {key: value}
            yield from ask("SyncGroup", given.version, form, to=Coordinator(group))
    yield from _leave(group, member)


@case("typical/Heartbeat", "Heartbeat", versions="all")
def heartbeat(given: Given) -> Script:
    """A member beats; another generation, another member and another group are refused."""
    group = given.name("group")
    to = Coordinator(group)
    member, generation = yield from _joined(_JOIN, group)
    for name, number, id_ in (
        (group, generation, member),
        (group, generation - 1, member),
        (group, generation + 1, member),
        (group, generation, "nobody"),
        ("", generation, member),
    ):
        form = {"groupId": name, "generationId": number, "memberId": id_}
        yield from ask("Heartbeat", given.version, form, to=to)
    none = given.name("none")
    form = {"groupId": none, "generationId": 1, "memberId": member}
    yield from ask("Heartbeat", given.version, form, to=Coordinator(none))
    yield from _leave(group, member)


@case("typical/LeaveGroup", "LeaveGroup", versions="all")
def leave(given: Given) -> Script:
    """A member leaves once; nobody leaves twice."""
    group = given.name("group")
    member, _ = yield from _joined(_JOIN, group)
    for id_ in ("nobody", member, member):
        form = {"groupId": group, "memberId": id_, "members": [{"memberId": id_}]}
        yield from ask("LeaveGroup", given.version, form, to=Coordinator(group))


@case("typical/DescribeGroups", "DescribeGroups", versions="all")
def describe(given: Given) -> Script:
    """A group with a member, without one, and one that is not there."""
    group = given.name("group")
    member, _ = yield from _joined(_JOIN, group)
    yield from ask("DescribeGroups", given.version, {"groups": [group]}, to=Coordinator(group))
    yield from _leave(group, member)
    yield from ask("DescribeGroups", given.version, {"groups": [group]}, to=Coordinator(group))
    none = given.name("none")
    yield from ask("DescribeGroups", given.version, {"groups": [none]}, to=Coordinator(none))


@case("typical/ListGroups", "ListGroups", versions="all")
def list_groups(given: Given) -> Script:
    """Groups with their states and types; filters that find none, and unknown ones."""
    group = given.name("group")
    member, _ = yield from _joined(_JOIN, group)
    filters: list[dict[str, Any]] = [{}]
    if given.version >= 4:
        filters += [{"statesFilter": [each]} for each in ("Stable", "stable", "Empty", "x")]
    if given.version >= 5:
        filters += [{"typesFilter": [each]} for each in ("classic", "consumer", "Classic", "x")]
    for form in filters:
        yield from ask("ListGroups", given.version, form, to=Coordinator(group))
    yield from _leave(group, member)


@case("typical/DeleteGroups", "DeleteGroups", versions="all")
def delete(given: Given) -> Script:
    """A group with members is not deleted, an empty one is, then it is not there."""
    group = given.name("group")
    to = Coordinator(group)
    member, _ = yield from _joined(_JOIN, group)
    yield from ask("DeleteGroups", given.version, {"groupsNames": [group]}, to=to)
    yield from _leave(group, member)
    for names in ([group], [group]):
        yield from ask("DeleteGroups", given.version, {"groupsNames": names}, to=to)


def _commit(group: str, topic: Topic, rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    form = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": ""}
    topics = [{"name": topic.name, "topicId": topic.id, "partitions": rows}]
    return form | {"retentionTimeMs": -1, "topics": topics} | more


def _row(partition: int, offset: int, metadata: str | None = "m") -> dict[str, Any]:
    row = {"partitionIndex": partition, "committedOffset": offset, "committedLeaderEpoch": 0}
    return row | {"committedMetadata": metadata, "commitTimestamp": -1}


def _fetched(group: str, topic: Topic, partitions: list[int] | None) -> dict[str, Any]:
    row = {"name": topic.name, "partitionIndexes": partitions}
    topics = None if partitions is None else [row]
    with_ids = None if partitions is None else [row | {"topicId": topic.id}]
    groups = [{"groupId": group, "topics": with_ids}]
    return {"groupId": group, "topics": topics, "groups": groups}


@case("typical/OffsetCommit", "OffsetCommit", versions="all", since=1)
def commit(given: Given) -> Script:
    """Offsets of a group without members; partitions, sizes and groups that are refused."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    none = unknown_topic(given)
    forms = (
        _commit(group, topic, [_row(0, 5), _row(1, 0, ""), _row(1, 7, None)]),
        _commit(group, topic, [_row(0, -1)]),
        _commit(group, topic, [_row(9, 1)]),
        _commit(group, none, [_row(0, 1)]),
        _commit(group, topic, [_row(0, 1, "x" * 5000)]),
        _commit(group, topic, [_row(0, 2**63 - 1)]),
        _commit(group, topic, [_row(0, 3)], memberId="nobody", generationIdOrMemberEpoch=3),
        _commit(group, topic, []),
    )
    for form in forms:
        yield from ask("OffsetCommit", given.version, form, to=to)
    yield from ask("OffsetFetch", 5, _fetched(group, topic, [0, 1]), to=to)


@case("groups/commit-by-members", "OffsetCommit", versions="all", since=1)
def commit_by_members(given: Given) -> Script:
    """A member commits in its generation; who is none, or late, does not."""
    topic = yield NewTopic()
    group = given.name("group")
    member, generation = yield from _joined(_JOIN, group)
    for id_, number in (
        (member, generation),
        (member, generation + 1),
        (member, -1),
        ("nobody", generation),
        ("", -1),
    ):
        more = {"memberId": id_, "generationIdOrMemberEpoch": number}
        form = _commit(group, topic, [_row(0, 1)], **more)
        yield from ask("OffsetCommit", given.version, form, to=Coordinator(group))
    yield from _leave(group, member)


@case("typical/OffsetFetch", "OffsetFetch", versions="all", since=1)
def fetch_offsets(given: Given) -> Script:
    """Committed offsets, partitions without one, all of a group, and a group that is not there."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, _commit(group, topic, [_row(0, 5)]), to=to)
    for partitions in ([0, 1, 7], [], None) if given.version >= 2 else ([0, 1, 7], []):
        yield from ask("OffsetFetch", given.version, _fetched(group, topic, partitions), to=to)
    none = given.name("none")
    form = _fetched(none, topic, [0])
    yield from ask("OffsetFetch", given.version, form, to=Coordinator(none))
    if given.version >= 7:
        form = _fetched(group, topic, [0]) | {"requireStable": True}
        yield from ask("OffsetFetch", given.version, form, to=to)


@case("typical/OffsetDelete", "OffsetDelete", versions="all")
def delete_offsets(given: Given) -> Script:
    """Offsets are deleted, and those of partitions that are not there are not."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, _commit(group, topic, [_row(0, 5)]), to=to)
    for name, partition in ((topic.name, 0), (topic.name, 1), (topic.name, 9), ("none", 0)):
        rows = [{"name": name, "partitions": [{"partitionIndex": partition}]}]
        yield from ask("OffsetDelete", given.version, {"groupId": group, "topics": rows}, to=to)
    form: Form = {"groupId": given.name("nobody"), "topics": []}
    yield from ask("OffsetDelete", given.version, form, to=Coordinator(given.name("nobody")))


@case("groups/not-coordinator", "Heartbeat", versions="all", brokers=3)
def not_coordinator(given: Given) -> Script:
    """Of three brokers two do not coordinate a group, and say so."""
    form = {"groupId": given.name("group"), "generationId": 1, "memberId": "nobody"}
    found: dict[int, int] = {}
    for to in (1, 2, 3):
        answer = yield from ask("Heartbeat", given.version, form, to=to, is_seen=False)
        code = answer.get("errorCode", -1)
        found[code] = found.get(code, 0) + 1
    wanted = {ErrorCode.NOT_COORDINATOR: 2, ErrorCode.UNKNOWN_MEMBER_ID: 1}
    assert found == wanted, f"two of NOT_COORDINATOR, one UNKNOWN_MEMBER_ID, not {found}"


def _beat(group: str, topic: Topic | None, member: str, epoch: int, **more: Any) -> dict[str, Any]:
    form: dict[str, Any] = {"groupId": group, "memberId": member, "memberEpoch": epoch}
    if epoch == 0 and topic is not None:
        form |= {
            "rebalanceTimeoutMs": _SESSION_MS,
            "subscribedTopicNames": [topic.name],
            "topicPartitions": [],
        }
    return form | more


@case("consumer-groups/life", "ConsumerGroupHeartbeat", versions="all")
def consumer_life(given: Given) -> Script:
    """KIP-848: a member joins, is assigned, beats, is described and leaves."""
    topic = yield NewTopic(partitions=2)
    yield NewTopic()  # Who knows of the second one has done all that the first one asks for.
    group, member = given.name("group"), "AAAAAAAAAAAAAAAAAAAAAQ"
    to = Coordinator(group)
    joined = yield from ask(
        "ConsumerGroupHeartbeat", given.version, _beat(group, topic, member, 0), to=to
    )
    id_, epoch = joined.get("memberId") or member, joined.get("memberEpoch", 1)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, epoch), to=to)
    yield from ask("ConsumerGroupDescribe", 0, {"groupIds": [group]}, to=to)
    for wrong in (epoch + 1, epoch + 7):
        form = _beat(group, None, id_, wrong)
        yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, -1), to=to)
    yield from ask("ConsumerGroupHeartbeat", given.version, _beat(group, None, id_, -1), to=to)


@case("consumer-groups/refused", "ConsumerGroupHeartbeat", versions="all")
def consumer_refused(given: Given) -> Script:
    """KIP-848: heartbeats that lack what a member has to say, or ask for what is not there."""
    topic = yield NewTopic()
    group, member = given.name("group"), "AAAAAAAAAAAAAAAAAAAAAQ"
    to = Coordinator(group)
    whole = _beat(group, topic, member, 0)
    for form in (
        whole | {"groupId": ""},
        whole | {"rebalanceTimeoutMs": -1},
        whole | {"subscribedTopicNames": None},
        whole | {"topicPartitions": None},
        whole | {"serverAssignor": "nobody"},
        whole | {"instanceId": ""},
        whole | {"rackId": ""},
        _beat(group, None, member, 5),
        _beat(group, None, member, -3),
    ):
        yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to)


@case("typical/ConsumerGroupDescribe", "ConsumerGroupDescribe", versions="all")
def consumer_describe(given: Given) -> Script:
    """KIP-848: a group that is not there, and one of the older protocol."""
    group = given.name("group")
    member, _ = yield from _joined(_JOIN, group)
    for name in (group, given.name("none"), ""):
        to = Coordinator(name or group)
        yield from ask("ConsumerGroupDescribe", given.version, {"groupIds": [name]}, to=to)
    yield from _leave(group, member)
