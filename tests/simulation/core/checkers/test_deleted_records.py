"""Records that were deleted never come back."""

from __future__ import annotations

from simulation.core.checkers.deleted_records import check_deleted_records
from simulation.core.history import Function, Order, Poll, Read
from simulation.core.samples import Damage, FaultSample, NodeSample, Role, SampleSource
from tests.simulation.core.checkers.build import TP, Story


def _texts(story: Story) -> list[str]:
    story.samples.sources = tuple(SampleSource)
    return [violation.text for violation in check_deleted_records(story.evidence)]


def _leads(
    story: Story, start: int, *, broker: int = 1, epoch: int = 3, topic_id: bytes = b""
) -> None:
    story.replica(broker, Role.LEADER, epoch=epoch, end=10, high_watermark=10)
    last = story.samples.replicas[-1]
    story.samples.replicas[-1] = last._replace(log_start_offset=start, topic_id=topic_id)


def _deleted(before: int = 5) -> Story:
    """Records before an offset are deleted at 2 s."""
    story = Story().at(1)
    _leads(story, 0)
    _leads(story.at(1.9), before)
    story.at(2).order(Function.DELETE_RECORDS, Order("orders", 0, broker=1, offset=before))
    return story


def _reads(story: Story, offset: int, epoch: int) -> None:
    poll = Poll(2, (Read(TP, 0, epoch, ((offset, 7),)),))
    story.history.begin("reader", Function.POLL, poll).ok(poll)


def test_leaders_that_begin_there_or_later_are_fine() -> None:
    story = _deleted()
    _leads(story.at(3), 5, broker=2, epoch=4)
    _leads(story.at(4), 9, broker=1, epoch=5)
    _reads(story, 5, 4)

    assert _texts(story) == []


def test_a_new_leader_that_begins_before_brings_them_back() -> None:
    story = _deleted()
    _leads(story.at(3), 4, broker=2, epoch=4)

    assert _texts(story) == [
        "orders-0 begins at 4 on its leader 2 at epoch 4, and the records before 5 were deleted, "
        "answered at 2.000000 s"
    ]


def test_a_new_leader_that_joined_the_isr_a_moment_before_may_bring_them_back() -> None:
    story = _deleted()
    story.partition(isr=(1,), epoch=3)
    _leads(story.at(2.5), 4, broker=3, epoch=3)
    story.at(3).partition(isr=(1, 2), epoch=3)
    story.at(3.2).partition(isr=(1, 2), leader=2, epoch=4)
    _leads(story, 0, broker=2, epoch=4)
    _reads(story.at(4), 0, 4)

    assert _texts(story) == [
        "orders-0 begins at 4 on its leader 3 at epoch 3, and the records before 5 were deleted, "
        "answered at 2.000000 s"
    ]


def test_a_leader_of_before_that_was_cut_off_may_not_know() -> None:
    story = _deleted()
    _leads(story.at(3), 0, broker=2, epoch=2)
    _reads(story, 0, 2)
    _reads(story, 0, -1)

    assert _texts(story) == []


def test_a_read_of_a_deleted_record_brings_it_back() -> None:
    story = _deleted()
    _reads(story.at(3), 4, 3)
    _reads(story.at(4), 3, 3)

    assert _texts(story) == [
        "orders-0 offset 4 was read from broker 2 at leader epoch 3, and the records before 5 "
        "were deleted, answered at 2.000000 s"
    ]


def test_a_start_that_falls_while_the_same_process_leads_is_found_without_an_order() -> None:
    story = Story().at(1)
    _leads(story, 5)
    _leads(story.at(2), 4)

    assert _texts(story) == [
        "orders-0 begins at 4 on broker 1, and began at 5 within leader epoch 3"
    ]


def test_another_leader_may_not_have_heard_of_retention_yet() -> None:
    story = Story().at(1)
    _leads(story, 5)
    _leads(story.at(2), 0, broker=2, epoch=4)

    assert _texts(story) == []


def test_what_an_unclean_election_loses_or_a_damaged_disk_or_another_topic_is_not_judged() -> None:
    story = _deleted()
    _leads(story.at(3), 0, broker=2, epoch=4)
    story.at(2.5).partition(leader=1, isr=(1,))
    story.at(2.9).partition(leader=2, isr=(2,))
    assert _texts(story) == []

    story.samples.partitions.clear()
    assert len(_texts(story)) == 1
    story.samples.damages.append(Damage(1, 2, "d1", "lost"))
    assert _texts(story) == []

    story.samples.damages.clear()
    story.samples.replicas[-1] = story.samples.replicas[-1]._replace(topic_id=b"new")
    assert _texts(story) == []


def test_an_order_of_which_nobody_knows_promises_nothing() -> None:
    story = Story().at(1)
    _leads(story, 0)
    order = Order("orders", 0, offset=5)
    story.history.begin("admin", Function.DELETE_RECORDS, order).unknown("REQUEST_TIMED_OUT")
    _leads(story.at(3), 0, broker=2, epoch=4)

    assert _texts(story) == []


def _followed(start: int, *, epoch: int = 3, offline: tuple[int, ...] = ()) -> Story:
    """Records before offset 5 are deleted at 12 s, and broker 2 follows with a log from there."""
    story = Story().at(1)
    story.partition(leader=1, epoch=epoch, offline=offline)
    _leads(story, 0)
    story.replica(2, epoch=3, end=10, start=0)
    _leads(story.at(11.8), 5)
    story.at(11.9).replica(2, epoch=3, end=10, start=start)
    story.at(12).order(Function.DELETE_RECORDS, Order("orders", 0, broker=1, offset=5))
    return story


def test_every_live_follower_has_taken_a_deletion_when_it_is_answered() -> None:
    assert _texts(_followed(5)) == []
    assert _texts(_followed(4)) == [
        "orders-0 begins at 4 on broker 2, which is alive, and the records before 5 were deleted, "
        "answered at 12.000000 s"
    ]


def test_a_follower_that_is_dead_or_leads_by_now_is_not_waited_for() -> None:
    assert _texts(_followed(4, offline=(2,))) == []
    assert _texts(_followed(4, epoch=2)) == []


def test_one_that_stands_still_and_has_not_heard_of_its_leader_is_waited_for() -> None:
    story = _followed(4, epoch=4)
    story.samples.nodes += [
        NodeSample(0, "broker-2", is_up=True, boot=1),
        NodeSample(9_000_000, "broker-2", is_up=False, boot=1),
    ]
    assert len(_texts(story)) == 1

    story.samples.nodes.append(NodeSample(11_500_000, "broker-2", is_up=True, boot=2))
    assert _texts(story) == []


def test_a_leader_may_take_a_follower_for_dead_where_something_stood_between() -> None:
    story = _followed(4)
    story.samples.faults.append(FaultSample(10_500_000, 10_600_000, "controller", what="pause"))

    assert _texts(story) == []


def test_what_was_decided_a_moment_before_a_deletion_its_leader_may_not_know() -> None:
    story = _followed(4)
    story.at(11.95).partition(leader=1, epoch=3, isr=(1,))
    assert _texts(story) == []

    story = _followed(4)
    story.samples.damages.append(Damage(1, 2, "d1", "lost"))
    assert _texts(story) == []
