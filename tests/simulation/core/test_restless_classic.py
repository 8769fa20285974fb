"""Members of the classic protocol that do all that they may, and what they must not."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from broker.core.groups.subscription import assignment_of, encoded_assignment, subscription_of
from protocol.errors import ErrorCode
from protocol.messages.group_offsets import OffsetCommitRequest
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from simulation.core.restless_classic import SESSION_TIMEOUTS_MS, ClassicSide
from simulation.core.restless_members import Asking, KnownTopic, Place

PLACE = Place("g", "one", None, ("a", "b"))
KNOWN = {"a": KnownTopic(b"a" * 16, 3)}


class Steady:
    """Draws the largest number each time: nothing unusual."""

    def randrange(self, stop: int, /) -> int:
        return stop - 1


def joined(
    asking: Asking, *, leader: str = "", code: ErrorCode = ErrorCode.NONE, generation: int = 4
) -> None:
    metadata = asking.message.protocols[0].metadata
    asking.answered(
        JoinGroupResponse(
            error_code=code,
            generation_id=generation,
            protocol_name="range",
            leader=leader,
            skip_assignment=False,
            member_id="id",
            members=[
                JoinGroupResponseMember(member_id=each, metadata=metadata)
                for each in ((leader, "other") if leader else ())
            ],
        )
    )


def synced(asking: Asking, code: ErrorCode = ErrorCode.NONE) -> None:
    assignment = encoded_assignment({"a": [1]}, 1)
    asking.answered(SyncGroupResponse(error_code=code, assignment=assignment))


def settled() -> ClassicSide:
    side = ClassicSide(PLACE, ["a"])
    joined(side.next(Steady(), KNOWN))
    synced(side.next(Steady(), KNOWN))
    return side


def test_it_joins_with_the_id_that_it_is_told() -> None:
    side = ClassicSide(PLACE, ["a"])
    first = side.next(Steady(), KNOWN)
    assert isinstance(first.message, JoinGroupRequest)
    joined(first, code=ErrorCode.MEMBER_ID_REQUIRED)
    assert side.next(Steady(), KNOWN).message.member_id == "id"


def test_the_leader_gives_each_partition_to_one_member() -> None:
    side = ClassicSide(PLACE, ["a", "b"])
    joined(side.next(Steady(), KNOWN), leader="id")
    request = side.next(Steady(), KNOWN).message
    assert isinstance(request, SyncGroupRequest)
    assert request.generation_id == 4
    given = {
        row.member_id: [
            (part.topic, list(part.partitions))
            for part in assignment_of(row.assignment).assigned_partitions
        ]
        for row in request.assignments
    }
    assert given == {"id": [("a", [0, 2])], "other": [("a", [1])]}


def test_who_is_called_joins_again_with_what_it_has() -> None:
    side = settled()
    asking = side.next(Steady(), KNOWN)
    assert isinstance(asking.message, HeartbeatRequest)
    asking.answered(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    request = side.next(Steady(), KNOWN).message
    owned = subscription_of(request.protocols[0].metadata).owned_partitions
    assert [(row.topic, list(row.partitions)) for row in owned] == [("a", [1])]


def test_who_is_refused_for_good_or_left_is_out() -> None:
    side = settled()
    side.next(Steady(), KNOWN).answered(HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR))
    assert not side.is_out
    side.next(Steady(), KNOWN).answered(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    assert side.is_out
    left = settled()
    left.leave(Steady()).answered(LeaveGroupResponse(error_code=0, members=[]))
    assert left.is_out


def test_a_member_does_a_little_of_everything() -> None:
    side, chance = settled(), Random(5)
    kinds = Counter(type(side.next(chance, KNOWN).message).__name__ for _ in range(200))
    assert kinds.keys() == {
        "HeartbeatRequest",
        "JoinGroupRequest",
        "LeaveGroupRequest",
        "OffsetCommitRequest",
    }


class Drawing:
    """Draws these numbers, one after the other."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = [*numbers]

    def randrange(self, stop: int, /) -> int:
        number = self.numbers.pop(0)
        assert number < stop
        return number


@pytest.mark.parametrize(
    ("drawn", "version", "protocol"),
    [(2, 5, "range"), (3, 5, "sticky"), (4, 4, None), (6, 5, "range")],
)
def test_at_times_it_asks_for_its_assignment_as_others_do(
    drawn: int, version: int, protocol: str | None
) -> None:
    side = ClassicSide(PLACE, ["a"])
    joined(side.next(Steady(), KNOWN))
    asking = side.next(Drawing(drawn), KNOWN)

    assert (asking.version, asking.message.protocol_name) == (version, protocol)
    is_refused = protocol == "sticky"
    synced(asking, ErrorCode.INCONSISTENT_GROUP_PROTOCOL if is_refused else ErrorCode.NONE)
    assert (side.is_awaited, side.is_out) == (is_refused, False)


@pytest.mark.parametrize(("instance_id", "version"), [(None, 4), ("i", 9)])
def test_at_times_it_joins_as_an_older_client_that_has_no_instance_id(
    instance_id: str | None, version: int
) -> None:
    side = ClassicSide(PLACE._replace(instance_id=instance_id), ["a"])

    assert side.next(Drawing(0), KNOWN).version == version
    assert side.next(Drawing(1), KNOWN).version == 9


def test_it_comes_when_its_protocol_does() -> None:
    waves = ("consumer", "both", "classic")
    assert [settled().speaks(wave) for wave in waves] == [False, True, True]


def test_it_is_awaited_from_its_join_until_it_asks_for_its_assignment() -> None:
    side = ClassicSide(PLACE, ["a"], 400)
    asking = side.next(Steady(), KNOWN)
    assert asking.message.rebalance_timeout_ms == 400
    assert not side.is_awaited
    joined(asking)
    assert side.is_awaited
    synced(side.next(Steady(), KNOWN))
    assert not side.is_awaited


def test_some_commits_are_those_of_an_older_client_that_has_no_instance_id() -> None:
    for instance_id, versions in ((None, {1, 4, 8}), ("i", {8})):
        side = ClassicSide(PLACE._replace(instance_id=instance_id), ["a"])
        joined(side.next(Steady(), KNOWN))
        synced(side.next(Steady(), KNOWN))
        chance = Random(1)
        drawn = [side.next(chance, KNOWN) for _ in range(200)]
        commits = [each for each in drawn if isinstance(each.message, OffsetCommitRequest)]
        assert {each.version for each in commits} == versions
        for each in commits:
            assert (each.message.retention_time_ms > 0) is (each.version == 4)
            row = each.message.topics[0].partitions[0]
            assert (row.commit_timestamp > 0) is (each.version == 1)


def test_who_had_no_answer_asks_again_as_before() -> None:
    side, chance = settled(), Random(7)
    asked: set[bytes] = set()
    for _ in range(100):
        message = side.next(chance, KNOWN).message
        if isinstance(message, JoinGroupRequest):
            said = bytes(message.protocols[0].metadata)
            is_again = said in asked
            asked.add(said)
            if is_again:
                break
    else:
        raise AssertionError("it never asks again")
    assert message.member_id == "id"


def test_a_static_member_leaves_or_comes_back_without_its_id() -> None:
    for instance_id, names in ((None, {"LeaveGroupRequest"}), ("i", {"LeaveGroupRequest", ""})):
        found: set[str] = set()
        for seed in range(300):
            side = ClassicSide(PLACE._replace(instance_id=instance_id), ["a"])
            joined(side.next(Steady(), KNOWN))
            synced(side.next(Steady(), KNOWN))
            message = side.next(Random(seed), KNOWN).message
            if isinstance(message, LeaveGroupRequest):
                found.add("LeaveGroupRequest")
            elif not message.member_id:
                assert message.group_instance_id == "i"
                found.add("")
        assert found == names


def test_a_static_member_may_end_before_it_is_assigned_anything() -> None:
    for instance_id, kinds in ((None, {"SyncGroupRequest"}), ("i", {"SyncGroupRequest", ""})):
        found: set[str] = set()
        for seed in range(60):
            side = ClassicSide(PLACE._replace(instance_id=instance_id), ["a"])
            joined(side.next(Steady(), KNOWN))
            message = side.next(Random(seed), KNOWN).message
            if isinstance(message, SyncGroupRequest):
                found.add("SyncGroupRequest")
            elif isinstance(message, JoinGroupRequest) and not message.member_id:
                assert not side.is_awaited
                found.add("")
        assert found == kinds


def test_sessions_are_of_different_lengths() -> None:
    sessions = {
        ClassicSide(PLACE, ["a"]).next(Random(seed), KNOWN).message.session_timeout_ms
        for seed in range(20)
    }
    assert sessions == set(SESSION_TIMEOUTS_MS)


def test_it_is_removed_as_who_it_is() -> None:
    who = settled().identity
    assert (who.member_id, who.group_instance_id) == ("id", None)


def test_a_leader_names_those_that_get_nothing_in_some_generations() -> None:
    for generation, named in ((4, ["id"]), (5, ["id", "other"])):
        side = ClassicSide(PLACE, ["a"])
        joined(side.next(Steady(), KNOWN), leader="id", generation=generation)
        request = side.next(Steady(), {"a": KnownTopic(b"a" * 16, 1)}).message
        assert [row.member_id for row in request.assignments] == named


def test_who_is_not_answered_asks_the_same_again() -> None:
    side = ClassicSide(PLACE, ["a"])
    first = side.next(Steady(), KNOWN)
    assert side.again(Steady(), first) is first
    joined(first)
    sync = side.next(Steady(), KNOWN)
    assert side.again(Steady(), sync) is sync


def test_a_static_member_that_waits_may_come_back_without_its_id() -> None:
    side = ClassicSide(Place("g", "one", "instance", ("a",)), ["a"])
    joined(side.next(Steady(), KNOWN))
    sync = side.next(Steady(), KNOWN)
    found = [side.again(Random(seed), sync).message for seed in range(20)]
    back = [each for each in found if isinstance(each, JoinGroupRequest)]
    assert 0 < len(back) < len(found)
    assert {(each.member_id, each.group_instance_id) for each in back} == {("", "instance")}
