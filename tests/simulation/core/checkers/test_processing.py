"""Groups process every record: at least once, and exactly once by transactions."""

from __future__ import annotations

import pytest

from simulation.core.checkers.processing import check_processing
from tests.simulation.core.checkers.build import TP
from tests.simulation.core.checkers.transaction_story import RESULTS, TransactionStory, send


def story_of_records() -> TransactionStory:
    """Records 100, 101 and 102 that were committed, of which a group reads."""
    story = TransactionStory()
    story.samples.healed_us = 1
    story.assign("one", TP, group="g")
    story.ended_log((-1, 100), (-1, 101), (-1, 102))
    return story


def texts(story: TransactionStory) -> list[str]:
    return [violation.text for violation in check_processing(story.evidence)]


def test_a_group_whose_members_together_read_all_is_fine() -> None:
    story = story_of_records()
    story.assign("other", TP, group="g")
    story.poll("one", (0, 100), (1, 101))
    story.poll("other", (1, 101), (2, 102))

    assert texts(story) == []


def test_a_record_that_no_member_was_given_is_told() -> None:
    story = story_of_records()
    story.poll("one", (0, 100), (2, 102))

    assert texts(story) == ["group g was never given record 101 of orders-0 at offset 1"]


@pytest.mark.parametrize(("leader", "passed_over"), [(-1, [0]), (1, [0, 2])])
def test_a_group_that_can_write_nowhere_is_not_asked_for_what_it_has_not_come_to(
    leader: int, passed_over: list[int]
) -> None:
    story = story_of_records()
    story.partition(tp=RESULTS, leader=leader, isr=(1,))
    story.poll("one", (1, 101))
    story.transform([1], send(1, tp=RESULTS))

    assert texts(story) == [
        f"group g was never given record {100 + each} of orders-0 at offset {each}"
        for each in passed_over
    ]


def test_each_record_that_is_transformed_once_is_fine_whoever_tried_before() -> None:
    story = story_of_records()
    story.transform([0, 1, 2], *(send(record, tp=RESULTS) for record in (1, 2, 3)))
    story.transform([2], send(4, tp=RESULTS))
    story.ended_log((7, 1), (7, 2), "commit", (7, 3), "abort", (7, 4), "commit", tp=RESULTS)

    assert texts(story) == []


def test_a_record_that_is_transformed_twice_is_told() -> None:
    story = story_of_records()
    story.transform([0], send(1, tp=RESULTS))
    story.transform([0], send(2, tp=RESULTS))
    story.ended_log((7, 1), "commit", (7, 2), "commit", tp=RESULTS)

    assert texts(story) == ["orders-0 offset 0 was transformed by group g 2 times: [1, 2]"]


def test_a_record_whose_results_were_all_aborted_is_told() -> None:
    story = story_of_records()
    story.transform([0], send(1, tp=RESULTS))
    story.ended_log((7, 1), "abort", tp=RESULTS)

    assert texts(story) == ["orders-0 offset 0 was transformed by group g never"]


def test_a_run_that_did_not_heal_and_results_that_may_be_lost_judge_nothing() -> None:
    unhealed, lost = story_of_records(), story_of_records()
    unhealed.samples.healed_us = None
    unhealed.poll("one", (2, 102))
    lost.transform([0], send(1, tp=RESULTS))

    assert texts(unhealed) == []
    assert texts(lost) == []
