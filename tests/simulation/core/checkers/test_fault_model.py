from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.checkers.fault_model import (
    EVER,
    NOT_DURABLE,
    forgiven_of,
    is_damaged,
)
from simulation.core.samples import Damage, LogSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _story() -> Story:
    story = Story()
    for broker in (1, 2):
        story.replica(broker, log_dir=f"d{broker}")
    story.partition(isr=(1, 2))
    return story


def _damage(story: Story, broker: int, *, log_dir: str = "", is_lasting: bool = False) -> None:
    story.samples.damages.append(
        Damage(story.now_us, broker, log_dir or f"d{broker}", "power cut", is_lasting)
    )


def test_nothing_is_forgiven_while_one_member_of_the_isr_keeps_its_data() -> None:
    story = _story()
    _damage(story.at(1), 1)

    assert forgiven_of(story.samples).until_us == {}


def test_all_before_the_last_member_loses_data_is_forgiven() -> None:
    story = _story()
    _damage(story.at(1), 1)
    _damage(story.at(2), 2)

    assert forgiven_of(story.samples).until_us == {TP: 2 * SECOND_US}


def test_a_member_that_came_back_into_the_isr_is_whole_again() -> None:
    story = _story()
    _damage(story.at(1), 1)
    story.at(2).partition(isr=(2,), leader=2, epoch=1)
    story.at(3).partition(isr=(2, 1), leader=2, epoch=1)
    _damage(story.at(4), 2)

    assert forgiven_of(story.samples).until_us == {}


def test_the_last_epoch_in_which_all_of_an_isr_may_have_lost_what_they_had() -> None:
    story = _story()
    _damage(story.at(1), 2)
    assert forgiven_of(story.samples).epochs == {}
    for epoch in (3, 4):
        story.at(epoch).partition(isr=(2,), leader=2, epoch=epoch)
        assert forgiven_of(story.samples).epochs == {TP: epoch}
    story.at(5).partition(isr=(2, 1), leader=2, epoch=5)
    assert forgiven_of(story.samples).epochs == {TP: 4}, "broker 1 fetched what there is"
    story.at(6).partition(isr=(1, 2), topic_id=b"another")
    assert forgiven_of(story.samples).epochs == {}


@pytest.mark.parametrize("runs_again", [True, False])
def test_a_member_is_whole_by_what_it_fetched_after_it_lost_power(*, runs_again: bool) -> None:
    """Seed 986061: what it had fetched before was decided on when it was down already."""
    story = _story()
    story.at(1).partition(isr=(2,), leader=2, epoch=1)
    story.samples.damages.append(Damage(story.at(2).now_us, 1, "d1", NOT_DURABLE))
    if runs_again:
        story.at(3).replica(1, log_dir="d1")
    story.at(4).partition(isr=(2, 1), leader=2, epoch=1)
    story.at(5).partition(isr=(1,), leader=1, epoch=2)

    assert forgiven_of(story.samples).until_us == ({} if runs_again else {TP: 5 * SECOND_US})


def test_an_isr_that_shrinks_to_a_damaged_member_forgives() -> None:
    story = _story()
    _damage(story.at(1), 1)
    story.at(2).partition(isr=(1,), epoch=1)

    assert forgiven_of(story.samples).until_us == {TP: 2 * SECOND_US}


@pytest.mark.parametrize(("changes", "is_forgiven"), [(1, False), (2, True)])
def test_a_damaged_member_that_may_have_led_alone_between_two_looks_forgives(
    changes: int, is_forgiven: bool
) -> None:
    story = _story()
    samples = story.samples.partitions
    samples[0] = samples[0]._replace(partition_epoch=7)
    _damage(story.at(1), 1)
    story.at(2).partition(isr=(1, 2), epoch=1)
    samples[1] = samples[1]._replace(partition_epoch=7 + changes)

    assert forgiven_of(story.samples).until_us == ({TP: 2 * SECOND_US} if is_forgiven else {})


def test_changed_bytes_are_not_healed_by_coming_back() -> None:
    story = _story()
    story.at(1).partition(isr=(2,), leader=2, epoch=1)
    _damage(story.at(2), 1, is_lasting=True)
    story.at(3).partition(isr=(2, 1), leader=2, epoch=1)
    _damage(story.at(4), 2)

    assert forgiven_of(story.samples).until_us == {TP: 4 * SECOND_US}


def _strike(story: Story, broker: int, tp: TopicPartition, *, log_dir: str = "") -> None:
    story.samples.damages.append(
        Damage(story.now_us, broker, log_dir or f"d{broker}", "misdirected", True, tp)
    )


def _empty(story: Story, broker: int) -> None:
    story.samples.damages.append(
        Damage(story.now_us, broker, f"d{broker}", "is a new one", is_emptied=True)
    )


def test_a_partition_led_from_changed_bytes_has_no_promise_left() -> None:
    story = _story()
    _strike(story.at(1), 1, TP)
    story.at(2).partition(isr=(1, 2), leader=2, epoch=1)

    assert forgiven_of(story.samples).until_us == {TP: EVER}


def test_a_damaged_follower_forgives_nothing_until_it_leads() -> None:
    story = _story()
    _strike(story.at(1), 2, TP)
    assert forgiven_of(story.samples).until_us == {}

    story.at(2).partition(isr=(1, 2), leader=2, epoch=1)
    assert forgiven_of(story.samples).until_us == {TP: EVER}


def test_a_write_that_went_elsewhere_concerns_no_partition_that_it_did_not_hit() -> None:
    story = _story()
    _strike(story.at(1), 1, TopicPartition("others", 0))

    assert forgiven_of(story.samples).until_us == {}


def test_an_empty_disk_in_the_place_of_a_damaged_one_ends_the_damage() -> None:
    story = _story()
    _strike(story.at(1), 2, TP)
    _empty(story.at(2), 2)
    story.at(3).partition(isr=(1,), epoch=1)
    story.at(4).partition(isr=(1, 2), epoch=1)
    story.at(5).partition(isr=(1, 2), leader=2, epoch=2)

    assert forgiven_of(story.samples).until_us == {}


def test_damage_to_another_log_dir_is_none_to_the_partition() -> None:
    story = _story()
    _damage(story.at(1), 1, log_dir="d9")
    _damage(story.at(2), 2, log_dir="d9")

    assert forgiven_of(story.samples).until_us == {}


def test_damage_follows_a_replica_to_the_log_dir_where_it_was_moved() -> None:
    story = _story()
    story.at(1).replica(1, log_dir="d9")
    _damage(story.at(2), 1, log_dir="d9")
    _damage(story.at(3), 2)

    assert forgiven_of(story.samples).until_us == {TP: 3 * SECOND_US}


def test_a_leader_from_outside_of_the_isr_forgives_all_before() -> None:
    story = _story()
    story.at(1).partition(isr=(1,), leader=-1, epoch=1)
    story.at(2).partition(isr=(2,), leader=2, epoch=2)

    assert forgiven_of(story.samples).until_us == {TP: 2 * SECOND_US}


def test_an_unclean_election_right_after_the_isr_shrank_forgives_once() -> None:
    """Both are between two looks: the Isr that was seen before still had the new leader."""
    story = _story()
    story.at(1).partition(isr=(2,), leader=2, epoch=1, is_recovering=True)
    story.at(2).partition(isr=(2,), leader=2, epoch=2, is_recovering=True)

    assert forgiven_of(story.samples).until_us == {TP: SECOND_US}


@pytest.mark.parametrize(("changes", "forgiven"), [(2, {}), (3, {TP: SECOND_US})])
def test_a_leader_may_have_recovered_before_anybody_looked(
    changes: int, forgiven: dict[TopicPartition, int]
) -> None:
    """The Isr shrank, somebody else led, and had recovered: three changes between two looks."""
    story = _story()
    story.samples.partitions[-1] = story.samples.partitions[-1]._replace(partition_epoch=4)
    story.at(1).partition(isr=(2,), leader=2, epoch=1)
    last = story.samples.partitions[-1]
    story.samples.partitions[-1] = last._replace(partition_epoch=4 + changes)

    assert forgiven_of(story.samples).until_us == forgiven


def test_a_leader_from_the_isr_that_does_not_recover_forgives_nothing() -> None:
    story = _story()
    story.at(1).partition(isr=(2,), leader=2, epoch=1)

    assert forgiven_of(story.samples).until_us == {}


def test_a_log_is_damaged_where_it_was_hit_until_the_disk_is_another() -> None:
    story = _story()
    _damage(story, 1, is_lasting=True)
    _strike(story, 2, TP)
    other = TopicPartition("others", 0)

    def damaged(broker: int, log_dir: str, tp: TopicPartition) -> bool:
        return is_damaged(story.samples, LogSample(broker, log_dir, tp, is_future=False))

    assert damaged(1, "d1", TP)
    assert damaged(1, "d1", other)
    assert not damaged(1, "d2", TP)
    assert damaged(2, "d2", TP)
    assert not damaged(2, "d2", other)
    _empty(story, 2)
    assert not damaged(2, "d2", TP)
