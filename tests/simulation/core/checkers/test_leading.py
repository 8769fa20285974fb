from __future__ import annotations

from simulation.core.checkers.leading import Leading
from simulation.core.samples import Role
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _offsets(story: Story, begin: float, end: float, broker: int = 1) -> list[int]:
    leading = Leading(story.samples)
    seen = leading.during(TP, broker, int(begin * SECOND_US), int(end * SECOND_US))
    return [sample.high_watermark for sample in seen]


def _story() -> Story:
    story = Story().at(1)
    story.replica(1, Role.LEADER, high_watermark=1)
    story.at(2).replica(1, Role.LEADER, high_watermark=2)
    story.at(3).replica(1, Role.LEADER, high_watermark=3)
    return story


def test_what_held_before_and_what_came_in_between_and_a_look_later_is_told() -> None:
    assert _offsets(_story(), 1.5, 2.5) == [1, 2]
    assert _offsets(_story(), 2, 2.97) == [2, 3]
    assert _offsets(_story(), 9, 9) == [3]


def test_of_a_time_before_it_was_seen_and_of_others_nothing_is_known() -> None:
    assert _offsets(_story(), 0.5, 2.5) == []
    assert _offsets(_story(), 1.5, 2.5, broker=2) == []


def test_who_did_not_lead_all_the_time_in_one_process_and_epoch_tells_nothing() -> None:
    for change in ({"role": Role.FOLLOWER}, {"boot": 2}, {"leader_epoch": 9}, {"topic_id": b"x"}):
        story = _story()
        story.samples.replicas[1] = story.samples.replicas[1]._replace(**change)
        assert _offsets(story, 1.5, 2.5) == []
