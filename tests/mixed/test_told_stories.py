"""What counts as told as it was recorded, with a spare controller and without broker 1's."""

from __future__ import annotations

from pathlib import Path

from tests.differential.story import Chapter
from tests.differential.told import transcript
from tests.golden.test_transcripts_made import stands
from tests.mixed.__main__ import table
from tests.mixed.told_stories import FAILOVER, LOST, RETURN, Compared, compared

DATA = Path("/data")


def found(name: str, chapter: Chapter, *own_ids: int) -> Compared:
    return compared(name, chapter, transcript(name), own_ids, DATA)


def test_a_spare_may_live_and_join_and_all_else_must_be_as_it_was() -> None:
    chapter = stands("01-start")
    first, *others = chapter.requests[1]
    lives = [{**each, "live": [*each["live"], 4]} for each in others]
    chapter.requests[1] = [first, {**first, "live": [1, 4]}, *lives]
    assert found("01-start", chapter, 2, 3) == Compared("01-start", 6, 0, ())

    chapter.requests[1] = [first, *lives[1:]]
    (difference,) = found("01-start", chapter, 2, 3).differences
    assert difference.startswith("broker 1 was told otherwise")


def test_an_epoch_that_differs_is_found() -> None:
    name = "02-create-topic-rf3"
    chapter = stands(name)
    chapter.requests[2] = [{**each, "controllerEpoch": 2} for each in chapter.requests[2]]
    (difference,) = found(name, chapter, 3).differences
    assert difference.startswith("broker 2 was told otherwise")


def test_an_old_controller_that_lives_on_tells_twice_that_broker_1_left() -> None:
    recorded = transcript(RETURN)
    chapter = stands(RETURN)
    for broker in (2, 3):
        each = recorded.requests[broker]
        by_old = [{**one, "controllerEpoch": 1} for one in each[5:7]]
        chapter.requests[broker] = [*each[:4], *by_old, *each[4:]]
    assert found(RETURN, chapter, 1, 2, 3).differences == ()
    assert len(found(RETURN, chapter, 2, 3).differences) == 2


def test_a_broker_of_jbodlab_without_log_dirs_is_gone_when_the_tool_asks() -> None:
    assert len(found(LOST, stands(LOST), 3).differences) == 1
    assert found(LOST, stands(LOST), 2).differences == ()


def test_without_broker_1_as_controller_the_end_of_the_failover_is_compared() -> None:
    chapter = stands(FAILOVER)
    chapter.requests[2] = [*chapter.requests[2][:1], *chapter.requests[2]]
    assert found(FAILOVER, chapter, 1, 2, 3).differences == ()
    chapter.requests[2] = []
    (difference,) = found(FAILOVER, chapter, 1, 2, 3).differences
    assert difference == "broker 2 was told of other leaders at the end"


def test_figures_are_a_line_for_each_story_and_their_sums() -> None:
    results = [Compared("01-start", 6, 0, ()), Compared("05-move", 9, 12, ("broker 1 said no",))]
    assert table((2, 3), results).splitlines() == [
        "jbodlab's: broker 2, 3",
        "  01-start                                     6      0  as recorded",
        "  05-move                                      9     12  otherwise",
        "      broker 1 said no",
        "  requests, rows of partitions                15     12  1 of 2 as recorded",
    ]


def test_what_broker_1_does_not_answer_any_more_as_it_leaves_is_no_difference() -> None:
    chapter = stands(RETURN)
    first, second, *since = chapter.requests[1]
    chapter.requests[1] = [first, second, *(one for one in since if one["controllerEpoch"] > 1)]
    assert found(RETURN, chapter, 3).differences == ()
    chapter.requests[1] = [first, *chapter.requests[1][2:]]
    assert len(found(RETURN, chapter, 3).differences) == 1
