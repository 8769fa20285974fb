"""What the restart rounds make of what producers told and of what the logs hold."""

from __future__ import annotations

import pytest

from tests.restarts.script import Told, read_value, told_of, value
from tests.restarts.verdict import Verdict, judge

PLACE = ("t", 0)
CLEAN = {"failed": 0, "fatal": 0, "lost": 0, "twice": 0, "out_of_order": 0}


def judged(sent: int, log: list[tuple[int, int]], failed: tuple[int, ...] = ()) -> Verdict:
    return judge([Told("ended", PLACE, 0, sent, failed)], [], {PLACE: log})


def test_what_is_there_once_and_in_order_is_clean() -> None:
    verdict = judged(3, [(0, 0), (1, 0), (0, 1), (0, 2)])
    assert verdict == Verdict(acknowledged=3, **CLEAN)
    assert verdict.is_clean


@pytest.mark.parametrize(
    ("log", "wrong"),
    [
        ([(0, 0), (0, 2)], {"lost": 1}),
        ([(0, 0), (0, 1), (0, 1), (0, 2)], {"twice": 1}),
        ([(0, 1), (0, 0), (0, 2)], {"out_of_order": 1}),
    ],
)
def test_what_is_missing_twice_or_disordered_is_told(
    log: list[tuple[int, int]], wrong: dict[str, int]
) -> None:
    verdict = judged(3, log)
    assert verdict == Verdict(acknowledged=3, **(CLEAN | wrong))
    assert not verdict.is_clean


def test_a_record_that_was_given_up_may_be_there_or_not_and_is_told() -> None:
    for log in ([(0, 0), (0, 1)], [(0, 0)]):
        verdict = judged(2, log, failed=(1,))
        assert verdict == Verdict(acknowledged=1, **(CLEAN | {"failed": 1}))


def test_a_producer_that_was_ended_for_good_is_told() -> None:
    verdict = judge([Told("ended", PLACE, 0, 1)], ["Local: Fatal error"], {PLACE: [(0, 0)]})
    assert verdict == Verdict(acknowledged=1, **(CLEAN | {"fatal": 1}))


@pytest.mark.parametrize(
    "told",
    [
        Told("acked", PLACE, 17),
        Told("ended", PLACE, 1, 9, (3, 4)),
        Told("ended", PLACE, 1, 9),
        Told("fatal", text="Broker: out of order"),
    ],
)
def test_a_line_says_what_was_told(told: Told) -> None:
    assert told_of(told.line()) == told


def test_a_line_that_is_none_of_them_is_an_error() -> None:
    with pytest.raises(ValueError, match="a load said"):
        told_of("Exception in thread main")


def test_a_value_tells_its_producer_and_number() -> None:
    assert read_value(value(3, 12345)) == (3, 12345)
