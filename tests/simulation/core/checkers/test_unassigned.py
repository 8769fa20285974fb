from __future__ import annotations

from simulation.core.checkers.unassigned import check_unassigned, still_hosted
from simulation.core.samples import FaultSample, NodeSample, Role
from tests.simulation.core.checkers.build import SECOND_US, Story


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
