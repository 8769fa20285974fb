"""Epochs, targets and timers."""

from __future__ import annotations

import pytest

from tests.broker.core.groups.consumer.lab import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Lab,
    image_with,
    rows,
    tell,
    tell_brokers,
)


def epochs(lab: Lab) -> tuple[int, int]:
    return lab.group.epoch, lab.group.assignment_epoch


def test_three_members_share_and_each_leaves_what_it_has_to_the_rest() -> None:
    lab = Lab(image_with(orders=6))
    lab.settle("a", "b", "c")
    assert sorted(index for owned in lab.owned.values() for index in owned["orders"]) == [*range(6)]
    assert [len(owned["orders"]) for owned in lab.owned.values()] == [2, 2, 2]
    before = dict(lab.owned)
    lab.ask("b", -1)
    lab.settle("a", "c")
    for member_id in ("a", "c"):
        assert set(before[member_id]["orders"]) <= set(lab.owned[member_id]["orders"])
        assert len(lab.owned[member_id]["orders"]) == 3


def test_new_partitions_are_assigned_with_the_next_heartbeat() -> None:
    lab = Lab(image_with(orders=1))
    lab.settle("a")
    tell(lab.image, "orders", 3)
    assert lab.beat("a") == {"orders": [0, 1, 2]}
    assert epochs(lab) == (3, 3)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@pytest.mark.parametrize("others", [["orders"], ["orders", "bills"]], ids=["alike", "apart"])
def test_partitions_that_a_topic_has_no_more_are_assigned_to_nobody(
    assignor: str, others: list[str]
) -> None:
    """Its coordinator's image, or the controller's journal, is older (seed 741187)."""
    lab = Lab(image_with(orders=6, bills=1))
    wants = {"server_assignor": assignor}
    lab.beat("a", subscribed_topic_names=["orders"], **wants)
    lab.beat("b", subscribed_topic_names=others, **wants)
    lab.settle("a", "b")
    tell(lab.image, "orders", 6, leader=-2)
    tell(lab.image, "orders", 2)
    lab.settle("a", "b")
    held = [index for member_id in ("a", "b") for index in lab.owned[member_id].get("orders", [])]
    assert sorted(held) == [0, 1]


def test_a_topic_that_comes_later_is_assigned_when_it_is_there() -> None:
    lab = Lab(image_with())
    assert lab.beat("a") == {}
    tell(lab.image, "orders", 1)
    assert lab.beat("a") == {"orders": [0]}


def test_a_deleted_topic_is_taken_away() -> None:
    lab = Lab(image_with(orders=1, bills=1))
    lab.beat("a", subscribed_topic_names=["orders", "bills"])
    tell(lab.image, "orders", 1, leader=-2)
    assert lab.beat("a") == {"bills": [0]}


def test_metadata_that_change_nothing_for_a_group_leave_its_epoch() -> None:
    lab = Lab(image_with(orders=1))
    lab.settle("a")
    before = epochs(lab)
    tell(lab.image, "bills", 3)
    tell_brokers(lab.image, {2: ""})
    lab.settle("a")
    assert epochs(lab) == before


def test_between_two_assignments_goes_some_time() -> None:
    lab = Lab(image_with(orders=2), group_consumer_assignment_interval_ms=1_000)
    lab.beat("a")
    lab.later(999)
    assert lab.beat("b") == {}
    assert epochs(lab) == (3, 2)
    assert lab.group.state.value == "Assigning"
    lab.later(1)
    lab.settle("a", "b")
    assert epochs(lab) == (3, 3)
    assert [lab.owned[member_id]["orders"] for member_id in "ab"] == [[0], [1]]


def test_nobody_waits_for_the_time_of_a_coordinator_whose_clock_was_ahead() -> None:
    """Seed 1042396: no member got partitions before the clock here had come so far."""
    lab = Lab(image_with(orders=2), group_consumer_assignment_interval_ms=1_000)
    lab.clock_ahead_ms = 3_600_000
    lab.settle("a")
    lab.clock_ahead_ms = 0
    lab.restart()
    lab.settle("b", "a", "b")
    assert [lab.owned[member_id]["orders"] for member_id in "ab"] == [[0], [1]]


def test_who_is_silent_for_its_session_is_removed() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a", "b")
    lab.later(SESSION_MS - 1)
    lab.beat("a")
    lab.later(1)
    assert list(lab.group.members) == ["a"]
    lab.settle("a")
    assert lab.owned["a"] == {"orders": [0, 1]}


def test_sessions_begin_anew_with_another_coordinator() -> None:
    lab = Lab()
    lab.beat("a")
    lab.later(SESSION_MS - 1)
    lab.restart()
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == ["a"]
    lab.later(1)
    assert lab.group.is_empty


def test_who_does_not_give_back_in_time_is_removed() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.beat("b")
    lab.ask("a", 2)
    for _ in range(REBALANCE_MS // 1_000):
        assert list(lab.group.members) == ["a", "b"]
        lab.ask("a", 2)
        lab.ask("b", 3)
        lab.later(1_000)
    assert list(lab.group.members) == ["b"]


def test_who_gave_back_has_no_deadline_any_more() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a", "b")
    for _ in range(2 * REBALANCE_MS // 10_000):
        lab.settle("a", "b", rounds=1)
        lab.later(10_000)
    assert list(lab.group.members) == ["a", "b"]


def test_the_deadline_for_giving_back_goes_on_with_another_coordinator() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.beat("b")
    lab.ask("a", 2)
    lab.restart()
    for _ in range(REBALANCE_MS // 1_000):
        lab.ask("a", 2)
        lab.ask("b", 3)
        lab.later(1_000)
    assert list(lab.group.members) == ["b"]


def test_the_assignor_of_the_group_changes_with_what_most_ask_for() -> None:
    lab = Lab(image_with(orders=2, bills=2), group_consumer_assignors=("uniform", "range"))
    names = ["bills", "orders"]
    for member_id in ("a", "b"):
        lab.beat(member_id, subscribed_topic_names=names, server_assignor="range")
    lab.settle("a", "b")
    assert lab.owned == {"a": {"bills": [0], "orders": [0]}, "b": {"bills": [1], "orders": [1]}}


def test_the_last_one_who_leaves_leaves_an_empty_group_in_a_new_epoch() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    assert (lab.group.state.value, epochs(lab)) == ("Empty", (3, 2))
    assert lab.members.get(GROUP) is lab.group


def numbers(lab: Lab, since: int) -> list[int]:
    return [number for number, _, _ in lab.written(since)]


def test_only_targets_that_change_are_written() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a", "b")
    since = len(lab.records)
    lab.beat("c")
    targets = [key.member_id for number, key, _ in lab.written(since) if number == 7]
    assert targets == ["c"]


def test_the_first_assignment_of_a_group_that_was_a_classic_one_is_not_waited_for() -> None:
    lab = Lab(image_with(orders=2), group_consumer_assignment_interval_ms=1_000)
    lab.stable_classic({"orders": [0, 1]})
    lab.beat("a")
    assert epochs(lab) == (2, 2)


def test_a_second_assignment_without_an_interval_is_not_waited_for() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.beat("b")
    assert epochs(lab) == (3, 3)


def test_a_regular_expression_is_forgotten_with_the_last_member_that_uses_it() -> None:
    lab = Lab(image_with(orders=2))
    for member_id in ("a", "b"):
        lab.beat(member_id, subscribed_topic_regex="ord.*")
    lab.beat("c")
    since = len(lab.records)
    lab.ask("a", -1)
    assert 16 not in numbers(lab, since)
    assert list(lab.group.regexes) == ["ord.*"]
    since = len(lab.records)
    lab.ask("b", -1)
    assert numbers(lab, since) == [8, 7, 5, 16, 3]
    assert lab.group.regexes == {}


def test_who_leaves_begins_one_epoch_for_the_rest_and_has_no_timer_any_more() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a", "b")
    epoch, due_ms = lab.group.epoch, lab.now_ms + SESSION_MS
    lab.later(1)
    lab.beat("b")
    lab.ask("a", -1)
    assert lab.group.epoch == epoch + 1
    assert lab.members.next_due_ms() == due_ms + 1


def test_what_releases_before_4_1_stored_is_removed_once_with_the_next_look() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.group.has_partition_metadata_record = True
    since = len(lab.records)
    lab.beat("a")
    assert numbers(lab, since) == []  # The metadata are those that were looked at.
    tell(lab.image, "bills", 1)
    lab.beat("a")
    lab.beat("a")
    assert numbers(lab, since) == [4]


def test_who_is_refused_for_want_of_room_has_the_limit_that_it_had() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a")
    lab.beat("b")
    lab.ask("a", 2)
    limit_ms = lab.now_ms + REBALANCE_MS
    lab.later(1_000)
    lab.batch_bytes_max = 80
    lab.refused("a", 2, topic_partitions=rows({"orders": [0]}))
    lab.batch_bytes_max = 1_000_000
    while lab.now_ms < limit_ms:
        assert list(lab.group.members) == ["a", "b"]
        for member_id, epoch in (("a", 2), ("b", 3)):
            lab.ask(member_id, epoch)
        lab.later(1_000)
    assert list(lab.group.members) == ["b"]


def test_who_stays_where_it_is_writes_nothing() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a")
    lab.beat("b")
    lab.ask("a", 2)
    since = len(lab.records)
    lab.ask("a", 2)
    assert numbers(lab, since) == []
