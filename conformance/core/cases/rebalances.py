"""Several members of a group of the classic protocol, and several groups at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple

from conformance.core.cases.members import (
    BYTES,
    JOIN,
    SYNC,
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
    Given,
    Late,
    NewTopic,
    Request,
    Script,
    Talk,
    Topic,
    Until,
    ask,
)
from protocol.errors import ErrorCode

_BEAT: Final = 3
_FIND: Final = 4
_COMMIT: Final = 7
_OTHER: Final = "the other member's"
"""The connection of the second member: the first one's answers do not wait for its own."""
_SHORT_MS: Final = 2000
"""Within which a member has to rejoin, and the others have time to be assigned."""
_NAMES_MAX: Final = 1000
"""So many names are tried until one broker coordinates them all."""
_NOT_TOLD: Final = -1
_LOOK_AGAIN_EVERY: Final = 20
"""Names, after which the coordinator of the first group may have changed."""


class _Member(NamedTuple):
    """One member in a generation of a group."""

    group: str
    id: str
    generation: int

    @property
    def to(self) -> Coordinator:
        """The broker that coordinates its group."""
        return Coordinator(self.group)

    def beat(self) -> dict[str, Any]:
        """Return its Heartbeat."""
        return {"groupId": self.group, "generationId": self.generation, "memberId": self.id}

    def sync(self, *others: str) -> dict[str, Any]:
        """Return its SyncGroup that assigns something to it and to others."""
        rows = [{"memberId": each, "assignment": BYTES} for each in (self.id, *others)]
        return sync_form(self.group, self.generation, self.id) | {"assignments": rows}

    def commit(self, topic: Topic) -> dict[str, Any]:
        """Return its OffsetCommit."""
        more = {"memberId": self.id, "generationIdOrMemberEpoch": self.generation}
        return commit_form(self.group, topic, [offset_row(0, 1)], **more)


def _another_joins(first: _Member, version: int, **more: Any) -> Generator[Any, Any, str]:
    """Have a second member join, whose answer comes when the first one rejoins; return its id."""
    form = join_form(first.group, **more)
    named = yield from ask("JoinGroup", version, form, to=first.to)
    id_ = named.get("memberId", "")
    request = Request("JoinGroup", version, form | {"memberId": id_})
    yield Talk([request], to=first.to, connection=_OTHER, is_awaited=False)
    return id_


def _rebalances(member: _Member) -> Until:
    """Wait until a member is told to rejoin."""
    told = Request("Heartbeat", _BEAT, member.beat())
    wanted = ErrorCode.REBALANCE_IN_PROGRESS
    return Until(told, lambda answer: answer["errorCode"] == wanted, to=member.to)


def _ask_all(member: _Member, topic: Topic) -> Script:
    """Ask everything that a member asks but to join."""
    yield from ask("Heartbeat", _BEAT, member.beat(), to=member.to)
    yield from ask("OffsetCommit", _COMMIT, member.commit(topic), to=member.to)
    yield from ask("SyncGroup", SYNC, member.sync(), to=member.to)


@case("groups/two-members", "JoinGroup", versions="all", since=4)
def two_members(given: Given) -> Script:
    """Who has to rejoin is told so, then both join, one assigns; old generations are refused."""
    topic = yield NewTopic()
    group = given.name("group")
    id_, generation = yield from joined(given.version, group)
    first = _Member(group, id_, generation)
    other_id = yield from _another_joins(first, given.version)
    yield _rebalances(first)
    yield from _ask_all(first, topic)
    yield from ask("DescribeGroups", 5, {"groups": [group]}, to=first.to)
    yield from ask("JoinGroup", given.version, join_form(group, id_), to=first.to)
    (answer,) = yield Late(to=first.to, connection=_OTHER)
    new = first._replace(generation=answer.body["generationId"])
    other = new._replace(id=other_id)
    yield from ask("OffsetCommit", _COMMIT, new.commit(topic), to=new.to)
    yield from ask("Heartbeat", _BEAT, new.beat(), to=new.to)
    yield Talk([_synced(other)], to=new.to, connection=_OTHER, is_awaited=False)
    yield from ask("SyncGroup", SYNC, new.sync(other_id), to=new.to)
    yield Late(to=new.to, connection=_OTHER)
    for each in (new, other, first, new._replace(id="nobody")):
        yield from _ask_all(each, topic)
    yield from left(group, other_id)
    yield from _ask_all(new, topic)
    yield from _ask_all(other, topic)
    yield from left(group, id_)


def _synced(member: _Member) -> Request:
    """Return the SyncGroup of a member that does not lead."""
    return Request("SyncGroup", SYNC, member.sync() | {"assignments": []})


@case("groups/one-is-late", "JoinGroup", versions="ends", since=4)
def one_is_late(given: Given) -> Script:
    """A member that does not rejoin in time is none any more, and the group goes on without it."""
    topic = yield NewTopic()
    group = given.name("group")
    short = {"rebalanceTimeoutMs": _SHORT_MS}
    id_, generation = yield from joined(given.version, group, **short)
    first = _Member(group, id_, generation)
    other_id = yield from _another_joins(first, given.version, **short)
    (answer,) = yield Late(to=first.to, connection=_OTHER)
    yield from _ask_all(first, topic)
    other = _Member(group, other_id, answer.body["generationId"])
    yield from _ask_all(other, topic)
    yield from left(group, other_id)


@case("groups/leave-together", "LeaveGroup", versions="all", since=3)
def leave_together(given: Given) -> Script:
    """Several members leave at once, by id and by instance id; who is none is told so."""
    group = given.name("group")
    id_, generation = yield from joined(JOIN, group, groupInstanceId="i1")
    first = _Member(group, id_, generation)
    other_id = yield from _another_joins(first, JOIN)
    yield _rebalances(first)
    rejoined = join_form(group, id_, groupInstanceId="i1")
    yield from ask("JoinGroup", JOIN, rejoined, to=first.to)
    yield Late(to=first.to, connection=_OTHER)
    rows = [
        {"memberId": "nobody"},
        {"memberId": "", "groupInstanceId": "i1"},
        {"memberId": other_id},
        {"memberId": other_id},
        {"memberId": "", "groupInstanceId": "i2"},
    ]
    for members in (rows, []):
        form = {"groupId": group, "members": members}
        yield from ask("LeaveGroup", given.version, form, to=first.to)
    yield from ask("DescribeGroups", 5, {"groups": [group]}, to=first.to)


@case("groups/offsets-of-several", "OffsetFetch", versions="all", since=8)
def offsets_of_several(given: Given) -> Script:
    """Offsets of several groups of one coordinator in one request, one of them all it has."""
    topic = yield NewTopic(partitions=2)
    one, other, none = yield from _of_one_coordinator(given, ("one", "other", "none"))
    for number, group in enumerate((one, other)):
        form = commit_form(group, topic, [offset_row(number, 5 + number)])
        yield from ask("OffsetCommit", _COMMIT, form, to=Coordinator(group))
    forms = (
        offsets_form(one, topic, [0, 1]),
        offsets_form(other, topic, None),
        offsets_form(none, topic, [0]),
    )
    for chosen in (forms, forms[:2], (forms[0], forms[0])):
        rows = [row for form in chosen for row in form["groups"]]
        yield from ask("OffsetFetch", given.version, {"groups": rows}, to=Coordinator(one))


def _of_one_coordinator(given: Given, words: Sequence[str]) -> Generator[Any, Any, list[str]]:
    """Return a name of a group for each word, all coordinated by one broker.

    Raises:
        LookupError: there are none, who coordinates one is not told, or the coordinator of the
            first one is another by now.
    """
    first = given.name(words[0])
    wanted = yield from _coordinator(first)
    found: list[str] = []
    for number in range(_NAMES_MAX):
        name = given.name(words[len(found)], number)
        coordinator = yield from _coordinator(name)
        if coordinator == _NOT_TOLD:
            break
        if coordinator == wanted:
            found.append(name)
            if len(found) == len(words):
                return found
        elif number % _LOOK_AGAIN_EVERY == 0 and (yield from _coordinator(first)) != wanted:
            break
    raise LookupError(f"no {len(words)} groups of one coordinator")


def _coordinator(group: str) -> Generator[Any, Any, int]:
    """Return the id of the broker that coordinates a group."""
    form = {"coordinatorKeys": [group]}
    answer = yield from ask("FindCoordinator", _FIND, form, is_seen=False)
    return answer["coordinators"][0]["nodeId"]
