from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.checkers.placement import check_placement
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_placement(story.evidence)]


def _story() -> Story:
    story = Story()
    story.partition(replicas=(1, 2))
    story.log(1)
    return story


def test_one_log_per_replica_is_right() -> None:
    story = _story()
    story.log(2)

    assert _texts(story) == []


def test_a_future_log_that_is_left_is_a_violation() -> None:
    story = _story()
    story.log(2)
    story.log(2, log_dir="d2", is_future=True)

    assert _texts(story) == ["broker 2 has a future log of orders-0 in d2, and nothing moves"]


def test_a_future_log_waits_where_a_replica_is_lost_with_its_partition() -> None:
    for isr, offline, is_told in (((1,), (1,), False), ((2,), (1,), True), ((2,), (2,), True)):
        story = Story()
        story.partition(replicas=(1, 2), isr=isr, offline=offline)
        story.log(1)
        story.log(2)
        story.log(1, log_dir="d2", is_future=True)

        assert bool(_texts(story)) is is_told


def test_nor_does_a_deletion_begin_that_waits_for_such_a_partition_to_be_reassigned() -> None:
    for is_reassigned in (True, False):
        story = Story()
        story.partition(replicas=(1, 2), isr=(2,), offline=(2,))
        lost = story.samples.partitions[-1]
        waiting = lost._replace(is_deleted=True, is_reassigned=is_reassigned, at_us=lost.at_us + 1)
        story.samples.partitions.append(waiting)
        story.log(2, log_dir="d2", is_future=True)

        assert bool(_texts(story)) is not is_reassigned


def test_two_current_logs_are_one_too_many() -> None:
    story = _story()
    story.log(2, log_dir="d1")
    story.log(2, log_dir="d2")

    assert _texts(story) == ["broker 2 has 2 current logs of orders-0: d1, d2"]


def test_an_online_replica_without_a_log_is_a_violation() -> None:
    assert _texts(_story()) == ["broker 2 has no log of orders-0, of which it is an online replica"]


def test_what_lies_on_failed_disks_does_not_count() -> None:
    story = Story()
    story.partition(replicas=(1, 2), offline=(2,), isr=(1,))
    story.log(1)
    story.log(1, log_dir="d2", is_readable=False)
    story.log(1, log_dir="d2", is_readable=False, is_future=True)
    story.log(2, is_readable=False)

    assert _texts(story) == []


def test_deleted_partitions_need_no_log() -> None:
    story = _story()
    story.log(2)
    story.partition(tp=TopicPartition("gone", 0))
    story.partition(tp=TopicPartition("gone", 0), is_deleted=True)

    assert _texts(story) == []
