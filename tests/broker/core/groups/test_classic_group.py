"""One classic group: states, leaders, protocols."""

import pytest

from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.stored_records import encode_versioned

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


def reader(member_id: str, *topics: str) -> Member:
    """Return a consumer that says by "range" what it reads, and by "sticky" nothing."""
    said = ConsumerProtocolSubscription(topics=list(topics), user_data=None)
    found = member(member_id)
    found.protocols = [("sticky", b""), ("range", encode_versioned(said, 1))]
    return found


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


def test_what_a_member_says_is_told_by_protocol_and_is_nothing_under_an_unknown_one() -> None:
    said = member("a", "range", "sticky")
    assert [said.metadata(name) for name in ("range", "sticky", "own", None)] == [
        b"a range",
        b"a sticky",
        b"",
        b"",
    ]


def test_consumers_read_what_any_of_them_says_under_the_protocol_that_was_chosen() -> None:
    group = empty_group()
    group.add(reader("a", "orders"), "consumer")
    group.add(reader("b", "bills", "orders"), "consumer")
    assert group.read_subscribed_topics() is None  # None is chosen yet.
    group.protocol_name = "range"
    assert group.read_subscribed_topics() == {"orders", "bills"}
    group.protocol_name = "sticky"
    assert group.read_subscribed_topics() is None


def test_consumers_that_all_left_read_nothing() -> None:
    group = empty_group()
    group.add(reader("a", "orders"), "consumer")
    group.protocol_name = "range"
    group.remove("a")
    assert group.read_subscribed_topics() == frozenset()


def test_a_generation_begins_with_all_members_and_the_protocol_that_they_share() -> None:
    group = rebalancing_group()
    for each in (reader("a", "orders"), reader("b", "bills")):
        each.protocols = each.protocols[1:]
        group.add(each, "consumer")
    group.begin_generation(WALL_MS + 7)
    assert (group.generation, group.protocol_name) == (1, "range")
    assert group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
    assert group.state_since_ms == WALL_MS + 7
    assert list(group.unsynced) == ["a", "b"]
    assert group.subscribed_topics == {"orders", "bills"}


def test_a_generation_without_members_is_that_of_an_empty_group() -> None:
    group = rebalancing_group()
    group.add(reader("a", "orders"), "consumer")
    group.protocol_name = "range"
    group.remove("a")
    group.begin_generation(WALL_MS)
    assert (group.state, group.generation) == (GroupState.EMPTY, 1)
    assert (group.protocol_name, group.protocol_type) == (None, "consumer")
    assert group.subscribed_topics == frozenset()


def test_of_a_static_member_that_goes_nothing_is_left() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.add(member("b", instance_id="kitchen"), "consumer")
    group.unsynced = {"a": None, "b": None}
    group.remove("b")
    assert (list(group.members), group.instances, list(group.unsynced)) == (["a"], {}, ["a"])
    assert group.leader_id == "a"


def test_an_id_that_nobody_joined_with_goes_without_a_member() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.pending["b"] = None
    group.remove("b")
    assert (list(group.members), list(group.pending)) == (["a"], [])
    assert group.supports("consumer", ["range"])


def test_a_static_follower_with_another_id_leaves_the_lead_to_who_has_it() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.add(member("b", instance_id="kitchen"), "consumer")
    group.members["b"].is_new = True
    group.replace_id(group.members["b"], "b2")
    assert (group.leader_id, list(group.members)) == ("a", ["a", "b2"])
    assert not group.members["b2"].is_new


def test_the_first_member_of_a_group_says_its_type_and_any_protocol() -> None:
    group = empty_group()
    assert group.supports("connect", ["default"])
    assert not group.supports("", ["default"])
    assert not group.supports("connect", [])


def test_all_have_joined_when_neither_a_member_nor_an_id_that_was_given_out_is_missing() -> None:
    group = rebalancing_group()
    group.add(member("a"), "consumer")
    assert not group.have_all_joined
    group.join_waiters["a"] = 1
    assert group.have_all_joined
    group.pending["b"] = None
    assert not group.have_all_joined


def test_only_a_group_that_was_empty_has_a_first_rebalance() -> None:
    group = rebalancing_group()
    assert group.is_initial_rebalance
    group.add(member("a"), "consumer")
    group.begin_generation(WALL_MS)
    assert not group.is_initial_rebalance
    group.move_to(GroupState.PREPARING_REBALANCE, WALL_MS)
    assert not group.is_initial_rebalance


def test_who_goes_by_an_instance_that_nobody_has_is_unknown() -> None:
    group = empty_group()
    group.add(member("a"), "consumer")
    group.add(member("b", instance_id="kitchen"), "consumer")
    asked = [("b", "kitchen"), ("b", None), ("a", "attic"), ("c", None), ("a", "kitchen")]
    assert [group.member_error(*each) for each in asked] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    ]


def test_a_member_that_is_loaded_was_told_its_id() -> None:
    assert not member("a").is_new
    assert member("a").assignment == b""
