"""Groups of the classic protocol: coordinators, one member, generations, committed offsets."""

from __future__ import annotations

from typing import Any

from conformance.core.cases.building import unknown_topic
from conformance.core.cases.members import (
    BYTES,
    JOIN,
    commit_form,
    join_form,
    joined,
    left,
    offset_row,
    offsets_form,
    sync_form,
)
from conformance.core.catalogue import case
from conformance.core.script import (
    Coordinator,
    Form,
    Given,
    NewTopic,
    Request,
    Script,
    Talk,
    ask,
)
from protocol.errors import ErrorCode


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
    member, _ = yield from joined(given.version, group)
    yield from left(group, member)


@case("groups/join-refused", "JoinGroup", versions="all")
def join_refused(given: Given) -> Script:
    """No group, unknown members, timeouts out of bounds, no protocol, another protocol."""
    group = given.name("group")
    to = Coordinator(group)
    refused: tuple[dict[str, Any], ...] = (
        join_form(""),
        join_form(group, "nobody"),
        join_form(group) | {"sessionTimeoutMs": 1},
        join_form(group) | {"sessionTimeoutMs": 2**31 - 1},
        join_form(group) | {"protocols": []},
        join_form(group) | {"protocolType": ""},
    )
    for form in refused:
        yield from ask("JoinGroup", given.version, form, to=to)
    member, _ = yield from joined(JOIN, group)
    other = join_form(group) | {"protocols": [{"name": "other", "metadata": BYTES}]}
    yield from ask("JoinGroup", given.version, other, to=to)
    yield from ask("JoinGroup", given.version, join_form(group) | {"protocolType": "x"}, to=to)
    yield from left(group, member)


@case("groups/static-members", "JoinGroup", versions="all", since=5)
def static_members(given: Given) -> Script:
    """A member with an instance id comes back in its own place; the old one is fenced."""
    group = given.name("group")
    to = Coordinator(group)
    old, generation = yield from joined(given.version, group, groupInstanceId="i1")
    yield from ask("JoinGroup", given.version, join_form(group, groupInstanceId="i1"), to=to)
    form = {"groupId": group, "generationId": generation, "memberId": old, "groupInstanceId": "i1"}
    yield from ask("Heartbeat", 3, form, to=to)
    rows = [{"memberId": "", "groupInstanceId": "i1"}]
    yield from ask("LeaveGroup", 3, {"groupId": group, "members": rows}, to=to)


@case("typical/SyncGroup", "SyncGroup", versions="all")
def sync(given: Given) -> Script:
    """The assignment is given again in its generation; others are refused."""
    group = given.name("group")
    to = Coordinator(group)
    member, generation = yield from joined(JOIN, group)
    for id_, number in ((member, generation), (member, generation + 1), ("nobody", generation)):
        yield from ask("SyncGroup", given.version, sync_form(group, number, id_), to=to)
    none = given.name("none")
    yield from ask("SyncGroup", given.version, sync_form(none, 1, member), to=Coordinator(none))
    yield from ask("SyncGroup", given.version, sync_form("", 1, member), to=to)
    yield from left(group, member)


@case("groups/sync-protocol", "SyncGroup", versions="all", since=5)
def sync_protocol(given: Given) -> Script:
    """A member that names another protocol than its group's, or none."""
    group = given.name("group")
    member, generation = yield from joined(JOIN, group)
    for key in ("protocolType", "protocolName"):
        for value in ("other", None):
            form = sync_form(group, generation, member) | {key: value}
            yield from ask("SyncGroup", given.version, form, to=Coordinator(group))
    yield from left(group, member)


@case("typical/Heartbeat", "Heartbeat", versions="all")
def heartbeat(given: Given) -> Script:
    """A member beats; another generation, another member and another group are refused."""
    group = given.name("group")
    to = Coordinator(group)
    member, generation = yield from joined(JOIN, group)
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
    yield from left(group, member)


@case("typical/LeaveGroup", "LeaveGroup", versions="all")
def leave(given: Given) -> Script:
    """A member leaves once; nobody leaves twice."""
    group = given.name("group")
    member, _ = yield from joined(JOIN, group)
    for id_ in ("nobody", member, member):
        form = {"groupId": group, "memberId": id_, "members": [{"memberId": id_}]}
        yield from ask("LeaveGroup", given.version, form, to=Coordinator(group))


@case("typical/DescribeGroups", "DescribeGroups", versions="all")
def describe(given: Given) -> Script:
    """A group with a member, without one, and one that is not there."""
    group = given.name("group")
    member, _ = yield from joined(JOIN, group)
    yield from ask("DescribeGroups", given.version, {"groups": [group]}, to=Coordinator(group))
    yield from left(group, member)
    yield from ask("DescribeGroups", given.version, {"groups": [group]}, to=Coordinator(group))
    none = given.name("none")
    yield from ask("DescribeGroups", given.version, {"groups": [none]}, to=Coordinator(none))


@case("typical/ListGroups", "ListGroups", versions="all")
def list_groups(given: Given) -> Script:
    """Groups with their states and types; filters that find none, and unknown ones."""
    group = given.name("group")
    member, _ = yield from joined(JOIN, group)
    filters: list[dict[str, Any]] = [{}]
    if given.version >= 4:
        filters += [{"statesFilter": [each]} for each in ("Stable", "stable", "Empty", "x")]
    if given.version >= 5:
        filters += [{"typesFilter": [each]} for each in ("classic", "consumer", "Classic", "x")]
    for form in filters:
        yield from ask("ListGroups", given.version, form, to=Coordinator(group))
    yield from left(group, member)


@case("typical/DeleteGroups", "DeleteGroups", versions="all")
def delete(given: Given) -> Script:
    """A group with members is not deleted, an empty one is, then it is not there."""
    group = given.name("group")
    to = Coordinator(group)
    member, _ = yield from joined(JOIN, group)
    yield from ask("DeleteGroups", given.version, {"groupsNames": [group]}, to=to)
    yield from left(group, member)
    for names in ([group], [group]):
        yield from ask("DeleteGroups", given.version, {"groupsNames": names}, to=to)


@case("typical/OffsetCommit", "OffsetCommit", versions="all", since=1)
def commit(given: Given) -> Script:
    """Offsets of a group without members; partitions, sizes and groups that are refused."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    none = unknown_topic(given)
    forms = (
        commit_form(group, topic, [offset_row(0, 5), offset_row(1, 0, ""), offset_row(1, 7, None)]),
        commit_form(group, topic, [offset_row(0, -1)]),
        commit_form(group, topic, [offset_row(9, 1)]),
        commit_form(group, none, [offset_row(0, 1)]),
        commit_form(group, topic, [offset_row(0, 1, "x" * 5000)]),
        commit_form(group, topic, [offset_row(0, 2**63 - 1)]),
        commit_form(
            group, topic, [offset_row(0, 3)], memberId="nobody", generationIdOrMemberEpoch=3
        ),
        commit_form(group, topic, []),
    )
    for form in forms:
        yield from ask("OffsetCommit", given.version, form, to=to)
    yield from ask("OffsetFetch", 5, offsets_form(group, topic, [0, 1]), to=to)


@case("groups/commit-by-members", "OffsetCommit", versions="all", since=1)
def commit_by_members(given: Given) -> Script:
    """A member commits in its generation; who is none, or late, does not."""
    topic = yield NewTopic()
    group = given.name("group")
    member, generation = yield from joined(JOIN, group)
    for id_, number in (
        (member, generation),
        (member, generation + 1),
        (member, -1),
        ("nobody", generation),
        ("", -1),
    ):
        more = {"memberId": id_, "generationIdOrMemberEpoch": number}
        form = commit_form(group, topic, [offset_row(0, 1)], **more)
        yield from ask("OffsetCommit", given.version, form, to=Coordinator(group))
    yield from left(group, member)


@case("typical/OffsetFetch", "OffsetFetch", versions="all", since=1)
def fetch_offsets(given: Given) -> Script:
    """Committed offsets, partitions without one, all of a group, and a group that is not there."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, commit_form(group, topic, [offset_row(0, 5)]), to=to)
    for partitions in ([0, 1, 7], [], None) if given.version >= 2 else ([0, 1, 7], []):
        yield from ask("OffsetFetch", given.version, offsets_form(group, topic, partitions), to=to)
    none = given.name("none")
    form = offsets_form(none, topic, [0])
    yield from ask("OffsetFetch", given.version, form, to=Coordinator(none))
    if given.version >= 7:
        form = offsets_form(group, topic, [0]) | {"requireStable": True}
        yield from ask("OffsetFetch", given.version, form, to=to)


@case("typical/OffsetDelete", "OffsetDelete", versions="all")
def delete_offsets(given: Given) -> Script:
    """Offsets are deleted, and those of partitions that are not there are not."""
    topic = yield NewTopic(partitions=2)
    group = given.name("group")
    to = Coordinator(group)
    yield from ask("OffsetCommit", 5, commit_form(group, topic, [offset_row(0, 5)]), to=to)
    for name, partition in ((topic.name, 0), (topic.name, 1), (topic.name, 9), ("none", 0)):
        rows = [{"name": name, "partitions": [{"partitionIndex": partition}]}]
        yield from ask("OffsetDelete", given.version, {"groupId": group, "topics": rows}, to=to)
    form: Form = {"groupId": given.name("nobody"), "topics": []}
    yield from ask("OffsetDelete", given.version, form, to=Coordinator(given.name("nobody")))


@case("groups/not-coordinator", "Heartbeat", versions="all", brokers=3)
def not_coordinator(given: Given) -> Script:
    """All brokers but one do not coordinate a group, and say so."""
    form = {"groupId": given.name("group"), "generationId": 1, "memberId": "nobody"}
    found: dict[int, int] = {}
    for to in range(1, 1 + len(given.brokers)):
        beat = Request("Heartbeat", given.version, form)
        (answer,) = yield Talk([beat], to=to, is_seen=False, may_go_wrong=True)
        code = answer.body.get("errorCode", -1)
        found[code] = found.get(code, 0) + 1
    others = len(given.brokers) - 1
    wanted = {ErrorCode.NOT_COORDINATOR: others, ErrorCode.UNKNOWN_MEMBER_ID: 1}
    assert found == wanted, f"all but one NOT_COORDINATOR, one UNKNOWN_MEMBER_ID, not {found}"
