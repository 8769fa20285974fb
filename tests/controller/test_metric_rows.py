"""Rows of the controller have the time of day, and one begin for each reassignment."""

from __future__ import annotations

from controller.core.effects import ReassignmentReport, Report
from controller.metric_rows import MetricRows
from protocol.ids import TopicPartition
from protocol.metrics.rows import (
    FailoverStep,
    ReassignmentProgressRow,
    ReassignmentState,
)

TP = TopicPartition("orders", 0)


class SteppingClock:
    """A second later with each look."""

    def __init__(self) -> None:
        self.at_ms = 0

    def now_ms(self) -> int:
        self.at_ms += 1000
        return self.at_ms


def report(
    state: ReassignmentState, tp: TopicPartition = TP, adding: tuple[int, ...] = (3,)
) -> ReassignmentReport:
    return ReassignmentReport(tp, adding, (1,), 2, 500, state)


def times(rows: MetricRows, *reports: ReassignmentReport) -> list[tuple[int, int]]:
    """Return when each began, and its time."""
    made = [rows.told(each, 7) for each in reports]
    return [
        (row.started_at_ms, row.at_ms) for row in made if isinstance(row, ReassignmentProgressRow)
    ]


def test_a_step_of_a_failover_that_an_event_brings_has_the_time_of_that() -> None:
    rows = MetricRows(SteppingClock())
    steps = (FailoverStep.CONTROLLER_NOTICED, FailoverStep.LEADERS_ELECTED)
    assert [rows.told(Report("f", step, -1, 4, ""), 7).at_ms for step in steps] == [7, 1000]


def test_a_row_has_what_was_reported() -> None:
    row = MetricRows(SteppingClock()).told(report(ReassignmentState.UNDER_WAY), 7)
    assert row == ReassignmentProgressRow(
        at_ms=1000,
        topic="orders",
        partition=0,
        started_at_ms=1000,
        adding=(3,),
        removing=(1,),
        leader=2,
        throttle_bytes_per_s=500,
        state=ReassignmentState.UNDER_WAY,
    )


def test_all_rows_of_a_reassignment_have_its_begin_and_the_next_one_another() -> None:
    rows = MetricRows(SteppingClock())
    under_way = report(ReassignmentState.UNDER_WAY)
    other = report(ReassignmentState.UNDER_WAY, TopicPartition("orders", 1))
    replaced = report(ReassignmentState.REPLACED)
    assert times(rows, under_way, other, under_way, replaced, under_way) == [
        (1000, 1000),
        (2000, 2000),
        (1000, 3000),
        (1000, 4000),
        (5000, 5000),
    ]
