"""One classic group: states, leaders, protocols."""

import pytest

from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from protocol.errors import ErrorCode

WALL_MS = 1_700_000_000_000


def empty_group() -> ClassicGroup:
    return ClassicGroup("readers", state=GroupState.EMPTY, state_since_ms=WALL_MS)


def rebalancing_group() -> ClassicGroup:
    group = empty_group()
    group.move_to(GroupState.PREPARING_REBALANCE, WALL_MS)
    return group


def member(member_id: str, *names: str, instance_id: str | None = None) -> Member:
    return Member(
        member_id=member_id,
        instance_id=instance_id,
        client_id="client",
        client_host="/127.0.0.1",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocols=[(name, f"{member_id} {name}".encode()) for name in names or ("range",)],
    )


def test_a_move_that_no_group_makes_is_a_broken_rule() -> None:
    group = empty_group()
    with pytest.raises(AssertionError, match="readers"):
        group.move_to(GroupState.STABLE, WALL_MS)


def test_a_move_is_remembered_with_its_time() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.move_to(GroupState.PREPARING_REBALANCE, WALL_MS + 5)
    assert group.previous_state is GroupState.EMPTY
    assert group.state_since_ms == WALL_MS + 5
    assert group.is_initial_rebalance


def test_the_first_member_leads_and_after_it_the_one_that_came_next() -> None:
    group = empty_group()
    for each in "abc":
        group.add(member(each), "consumer")
    assert group.leader_id == "a"
    group.remove("a")
    assert group.leader_id == "b"
    group.remove("c")
    group.remove("b")
    assert group.leader_id is None


def test_a_leader_that_did_not_join_again_is_replaced_by_the_first_that_did() -> None:
    group = empty_group()
    for each in "abc":
        group.add(member(each), "consumer")
    assert not group.elect_joined_leader()
    group.join_waiters = {"c": 1, "b": 2}
    assert group.elect_joined_leader()
    assert group.leader_id == "c"


def test_only_protocols_that_all_members_know_are_chosen_from() -> None:
    group = rebalancing_group()
    group.add(member("a", "own", "range", "sticky"), "consumer")
    group.add(member("b", "range", "sticky"), "consumer")
    group.add(member("c", "sticky", "range"), "consumer")
    assert group.selected_protocol() == "range"
    assert group.supports("consumer", ["sticky"])
    assert not group.supports("consumer", ["own"])
    assert not group.supports("connect", ["sticky"])


def test_a_protocol_that_a_member_names_twice_counts_once() -> None:
    group = rebalancing_group()
    group.add(member("a", "range", "range"), "consumer")
    group.add(member("b", "sticky", "range"), "consumer")
    assert group.selected_protocol() == "range"
    assert not group.supports("consumer", ["sticky"])


def test_what_a_member_says_anew_counts_in_place_of_what_it_said() -> None:
    group = rebalancing_group()
    group.add(member("a", "range", "sticky"), "consumer")
    group.change(group.members["a"], protocols=[("sticky", b"")])
    assert not group.supports("consumer", ["range"])
    group.remove("a")
    assert group.supports("consumer", ["any"])


def test_the_longest_rebalance_timeout_counts() -> None:
    group = empty_group()
    assert group.rebalance_timeout_ms == 0
    patient = member("b")
    patient.rebalance_timeout_ms = 90_000
    group.add(member("a"), "consumer")
    group.add(patient, "consumer")
    assert group.rebalance_timeout_ms == 90_000


def test_a_static_member_with_another_id_still_leads_and_is_found_by_its_instance() -> None:
    group = empty_group()
    group.add(member("a", instance_id="kitchen"), "consumer")
    group.add(member("b"), "consumer")
    group.replace_id(group.members["a"], "a2")
    assert group.leader_id == "a2"
    assert group.instances == {"kitchen": "a2"}
    assert group.selected_protocol() == "range"


def test_members_that_are_not_consumers_have_no_topics() -> None:
    group = empty_group()
    group.add(member("a"), "connect")
    group.protocol_name = "range"
    assert group.read_subscribed_topics() is None
    assert not group.is_consumer


def test_a_member_of_another_generation_is_told_so_and_a_stranger_that_it_is_unknown() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.add(member("b", instance_id="kitchen"), "consumer")
    group.generation = 5
    asked = [("a", None, 5), ("a", None, 4), ("b", "kitchen", 6), ("c", None, 4), ("c", None, 5)]
    assert [group.generation_error(*each) for each in asked] == [
        ErrorCode.NONE,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert group.generation_error("a", "kitchen", 4) is ErrorCode.FENCED_INSTANCE_ID
