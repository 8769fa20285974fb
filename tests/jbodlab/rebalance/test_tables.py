from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from jbodlab.rebalance.core.plan import RebalancePlan, make_plan
from jbodlab.rebalance.core.plan_request import PlanRequest
from jbodlab.rebalance.core.situation import Situation
from jbodlab.rebalance.tables import bar, duration_text, plan_content, plan_shown
from tests.jbodlab.rebalance.situations import MIB, at, in_one_dir, log_dirs, partition

PILED = Situation(log_dirs=log_dirs(1), partitions=in_one_dir([3 * MIB, MIB, MIB, MIB], at(1, 1)))


def shown(plan: RebalancePlan, throttle: int | None = None) -> str:
    console = Console(file=io.StringIO(), width=180)
    console.print(plan_shown(plan, throttle))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_plan_shows_bars_and_what_it_costs() -> None:
    text = shown(make_plan(PILED, PlanRequest()), MIB)
    first, second = (line for line in text.splitlines() if "/b1/d" in line)
    assert "██████████████ 6.0 MiB" in first
    assert first.count("3.0 MiB") == 1
    assert "0 B" in second
    assert "3.0 MiB" in second
    assert "2.00 times its fair share among the log dirs of its broker now, 1.00 times then" in text
    assert "1 replica moves, 3.0 MiB (0 B between brokers)" in text
    assert "less than 3.0 MiB" in text
    assert "at 1.0 MiB/s per broker that takes 3.0 s at least" in text
    assert "written" not in text


def test_log_dirs_are_named_as_the_reader_names_them() -> None:
    console = Console(file=io.StringIO(), width=180)
    plan = make_plan(PILED, PlanRequest())
    console.print(plan_shown(plan, None, lambda path: path.removeprefix("/b1/")))
    assert isinstance(console.file, io.StringIO)
    assert "│ d1 " in console.file.getvalue()


def test_bars_take_the_room_there_is_and_no_line_is_longer() -> None:
    plan = make_plan(PILED, PlanRequest())
    bars: list[int] = []
    for width in (80, 100, 130):
        console = Console(file=io.StringIO(), width=width)
        console.print(plan_shown(plan, None, "data{}".format, width))
        assert isinstance(console.file, io.StringIO)
        text = console.file.getvalue()
        assert "data/b1/d1" in text
        assert "…" not in text
        assert "6.0 MiB" in text
        bars.append(max(len(word) for word in text.split() if set(word) <= {"█", "│"}))
    assert bars == [1, 5, 14]


def test_write_rates_are_shown_where_they_are_known() -> None:
    busy = tuple(replace(each, write_rate=512.0) for each in PILED.partitions)
    assert "2.0 KiB/s" in shown(make_plan(replace(PILED, partitions=busy), PlanRequest()))


def test_a_drain_says_what_stays_and_that_more_may_come() -> None:
    request = PlanRequest(drained_brokers=frozenset({1}))
    plan = make_plan(replace(PILED, partitions=(partition(0, [at(1, 1)], 5),)), request)
    text = shown(plan)
    assert "t-0 stays in /b1/d1 of broker 1: no log dir may take it" in text
    assert "/b1/d1, /b1/d2: not cordoned" in text
    assert "online, drained" in text


def test_of_much_that_stays_some_is_named_and_the_rest_counted() -> None:
    stuck = tuple(partition(number, [at(1, 1)]) for number in range(13))
    request = PlanRequest(drained_brokers=frozenset({1}))
    text = shown(make_plan(replace(PILED, partitions=stuck), request))
    assert text.count("stays in") == 10
    assert "and 3 more; --json names them all" in text


def test_what_is_on_its_way_already_is_counted() -> None:
    moving = partition(0, [at(1, 1)], is_changing=True)
    assert "left alone and shown where they will be: 1" in shown(
        make_plan(replace(PILED, partitions=(moving,)), PlanRequest())
    )
    assert "on their way" not in shown(make_plan(PILED, PlanRequest()))


def test_json_says_the_same() -> None:
    content = plan_content(make_plan(PILED, PlanRequest()), MIB)
    assert content["moved_bytes"] == content["least_bytes"] == 3 * MIB
    assert content["seconds_at_least"] == 3.0
    assert [(each["used_now"], each["used_then"]) for each in content["log_dirs"]] == [
        (6 * MIB, 3 * MIB),
        (0, 3 * MIB),
    ]
    assert content["partitions"] == [
        {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/b1/d2"]}
    ]
    assert plan_content(make_plan(PILED, PlanRequest()), None)["seconds_at_least"] is None


@pytest.mark.parametrize(
    ("value", "text"), [(0, "    "), (1, "▌   "), (4, "██  "), (8, "████"), (0.2, "▏   ")]
)
def test_bars_are_as_long_as_their_part(value: float, text: str) -> None:
    assert bar(value, 8, 4) == text
    assert bar(0, 0, 4) == "    "


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (119, "119.0 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations_are_in_the_unit_of_a_person(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
