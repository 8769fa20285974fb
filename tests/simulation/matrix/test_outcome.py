"""Rows count what starts came to."""

from __future__ import annotations

from simulation.matrix.outcome import Crash, CrashPoint, CrashResult, Outcome, Row

MOMENT = CrashPoint(7, Crash.KILL, "/b1/d1", "rename orders-0")


def test_what_is_well_is_only_counted() -> None:
    row = Row("move", "broker-1", Crash.KILL)
    row.add(MOMENT, CrashResult(Outcome.RECOVERED))
    assert row.outcomes == {Outcome.RECOVERED: 1}
    assert row.findings == []
    assert not row.is_bad


def test_a_complaint_says_where_the_crash_came() -> None:
    row = Row("move", "broker-1", Crash.KILL)
    row.add(MOMENT, CrashResult(Outcome.LOST, "5 is missing"))
    assert row.findings == [
        "move, broker-1, kill -9 at operation 7, rename orders-0 in /b1/d1: lost, 5 is missing"
    ]
    assert row.is_bad


def test_offline_is_a_failure() -> None:
    row = Row("move", "broker-1", Crash.KILL)
    row.add(MOMENT, CrashResult(Outcome.OFFLINE, "no leader"))
    assert len(row.findings) == 1
    assert row.is_bad
