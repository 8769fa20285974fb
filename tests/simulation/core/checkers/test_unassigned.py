from __future__ import annotations

from simulation.core.checkers.unassigned import check_unassigned, still_hosted
from simulation.core.history import Function, Order
from simulation.core.samples import Damage, FaultSample, NodeSample, Role, SampleSource
from tests.simulation.core.checkers.build import SECOND_US, SIBLING, TP, Story


def _story() -> Story:
    """Broker 1 loses its replica at 5 s, and its log lies there at 20 s."""
    story = Story().at(1)
    story.partition()
    story.replica(1)
    story.at(5).partition(replicas=(2,), isr=(2,), leader=2)
    story.log(1)
    return story.at(20)


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_unassigned(story.evidence)]


def test_a_log_that_is_assigned_no_more() -> None:
    assert _texts(_story()) == [
        "broker 1 has a log of orders-0 in d1, and that is assigned to it no more for 5 s"
    ]


def test_the_log_of_a_deleted_topic() -> None:
    story = _story()
    story.at(6).partition(is_deleted=True)
    assert len(_texts(story.at(20))) == 1


def test_the_log_of_a_topic_whose_deletion_waits_for_a_reassignment() -> None:
    story = _story()
    story.at(6).partition(is_deleted=True)
    story.at(6).partition(tp=SIBLING, is_deleted=True, is_reassigned=True, offline=(2,))
    assert _texts(story.at(20)) == []
    assert list(still_hosted(story.samples)) == []


def test_a_disk_that_undoes_renames_may_bring_a_log_back() -> None:
    for what, broker, may in (("lost_entry", 1, True), ("lost_entry", 2, False), ("eio", 1, False)):
        story = _story()
        story.samples.damages.append(Damage(SECOND_US, broker, "d1", what))
        assert (_texts(story) == []) is may


def test_logs_of_replicas_that_are_or_were_there_just_now() -> None:
    story = _story()
    assert _texts(story.at(9)) == []
    story.at(19).partition()
    assert _texts(story.at(20)) == []
    other = _story()
    other.samples.logs.clear()
    other.log(2)
    assert _texts(other) == []


def test_who_was_not_told_may_keep_it() -> None:
    cut = _story()
    cut.samples.faults.append(FaultSample(0, 16 * SECOND_US, "", what="cut"))
    assert _texts(cut) == []
    late = _story()
    late.samples.nodes.append(NodeSample(16 * SECOND_US, "broker-1", is_up=False))
    assert _texts(late) == []
    edited = _story()
    edited.samples.journal_edits_us.append(SECOND_US)
    assert _texts(edited) == []


def test_healing_waits_for_what_is_in_use() -> None:
    story = _story()
    assert list(still_hosted(story.samples)) == [
        "broker 1 still has a replica of orders-0, which is assigned to it no more"
    ]
    story.replica(1, Role.GONE)
    assert list(still_hosted(story.samples)) == []


def test_healing_does_not_wait_for_what_is_offline_or_assigned() -> None:
    story = _story()
    story.replica(1, Role.OFFLINE)
    story.replica(2, Role.LEADER)
    assert list(still_hosted(story.samples)) == []


def _deleted(*, role: Role = Role.OFFLINE, topic_id: bytes = b"", broker: int = 2) -> Story:
    """A replica's log dir fails, and a second later its topic is gone."""
    story = Story().at(1)
    story.samples.sources = tuple(SampleSource)
    story.partition()
    story.replica(broker, role, log_dir="d2", topic_id=topic_id)
    story.at(2).partition(is_gone=True)
    return story.at(3)


def test_a_topic_is_gone_only_when_no_replica_of_it_is_on_a_failed_log_dir() -> None:
    assert _texts(_deleted()) == [
        "the controller has orders-0 deleted, and broker 2 has its replica on a failed log dir, d2"
    ]


def test_replicas_that_are_gone_or_of_another_topic_or_not_assigned_hold_up_nothing() -> None:
    assert _texts(_deleted(role=Role.GONE)) == []
    assert _texts(_deleted(topic_id=b"another")) == []
    assert _texts(_deleted(broker=3)) == []
    being_deleted = _deleted()
    being_deleted.samples.partitions[-1] = being_deleted.samples.partitions[-1]._replace(
        is_gone=False
    )
    assert _texts(being_deleted) == []
    late = _deleted()
    late.at(2.03).replica(2, Role.GONE)
    assert _texts(late) == []


def test_a_replica_that_a_reassignment_may_have_taken_away_holds_up_nothing() -> None:
    """topic-made-anew-meets-its-old-data: nobody saw the controller between it and the deletion."""
    story = _deleted()
    story.order(Function.REASSIGN, Order(TP.topic))
    assert _texts(story) == []


def test_real_processes_are_not_seen_in_one_moment() -> None:
    story = _deleted()
    story.samples.sources = (SampleSource.DECISIONS, SampleSource.REPLICAS)

    assert _texts(story) == []


def _left_behind(*, is_gone: bool = True) -> Story:
    """A topic is deleted at 2 s, and a log of it is found in the end, at 3 s."""
    story = Story()
    story.partition()
    story.at(2).partition(is_deleted=True, is_gone=is_gone)
    story.log(1)
    return story.at(3)


def test_no_log_of_a_topic_that_is_gone_is_left_however_soon_the_story_ends() -> None:
    assert _texts(_left_behind()) == [
        "broker 1 has a log of orders-0 in d1, and the controller took it for gone at 2.000000 s"
    ]


def test_logs_of_topics_that_are_there_again_or_to_be_deleted_may_be_left() -> None:
    again = _left_behind()
    again.partition()
    assert _texts(again) == []
    assert _texts(_left_behind(is_gone=False)) == []


def test_a_log_that_a_reassignment_may_have_taken_away_may_be_left() -> None:
    story = _left_behind()
    story.order(Function.REASSIGN, Order(TP.topic))
    assert _texts(story) == []
