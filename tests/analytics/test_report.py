import io
from typing import Any

from rich.console import Console

from analytics.report import Report, print_report

LOG_DIR: dict[str, Any] = {
    "broker_id": 1,
    "log_dir": "/data/b1/d1",
    "at_ms": 1,
    "online": True,
    "used_bytes": 3 * 1024 * 1024,
    "total_bytes": 1024**3,
    "usable_bytes": 5,
    "replica_count": 1200,
    "future_count": 0,
    "fill": 0.5,
    "leader_count": 3,
    "lag_max": 0,
    "queue_depth_max": 1,
    "append_bytes_per_s": None,
}
FAILOVER: dict[str, Any] = {
    "failure_id": "f1",
    "failed_at_ms": 1_700_000_000_123,
    "node": "broker-1",
    "detail": "/data/b1/d1: eio",
    "offline_count": 3,
    "moved_count": 2,
    "elected_after_ms": 12,
    "ended_after_ms": 100,
    "last_step": "leaders_elected",
}
STEP: dict[str, Any] = {
    "failure_id": "f1",
    "step_order": 4,
    "step": "leaders_elected",
    "node": "controller",
    "at_ms": 1,
    "since_failure_ms": 12,
    "since_previous_ms": 2,
    "partition_count": 2,
    "detail": "",
}


def printed(report: Report) -> str:
    console = Console(file=io.StringIO(), width=160)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def report(**tables: Any) -> Report:
    return Report(dump="dump", out="out", row_counts={"log_dir": 5, "replica": 2}, **tables)


def test_a_log_dir_is_one_line_with_units() -> None:
    text = printed(report(log_dirs=[LOG_DIR]))
    [line] = [line for line in text.splitlines() if "/data/b1/d1" in line]
    for cell in ("online", "3.0 MiB", "1.0 GiB", "50.0%", "1,200"):
        assert cell in line


def test_what_is_unknown_is_a_dash() -> None:
    offline = {**LOG_DIR, "online": False, "total_bytes": -1, "fill": None}
    [line] = [line for line in printed(report(log_dirs=[offline])).splitlines() if "/b1/" in line]
    assert "offline" in line
    assert line.count(" - ") + line.count(" -│") == 3


def test_a_failover_says_what_was_lost_and_how_long_it_took() -> None:
    text = printed(report(failovers=[FAILOVER], failover_steps=[STEP]))
    assert "Failover of broker-1 at 2023-11-14 22:13:20.123" in text
    assert "3 replicas offline, 2 leaders moved after 12 ms" in " ".join(text.split())
    assert "leaders elected" in text


def test_a_failover_without_election_says_so() -> None:
    failover = {**FAILOVER, "moved_count": None, "elected_after_ms": None}
    assert "no leader moved" in printed(report(failovers=[failover], failover_steps=[STEP]))


def test_only_the_busiest_partitions_are_shown() -> None:
    partitions = [
        {"topic": "t", "partition": number, "write_bytes_per_s": 2048.0} for number in range(11)
    ]
    text = printed(report(partitions=partitions))
    assert "Busiest partitions" in text
    assert "2.0 KiB/s" in text
    assert "t-9" in text
    assert "t-10" not in text


def test_a_table_without_rows_is_not_printed() -> None:
    text = printed(report())
    assert text.strip() == "7 rows read from dump, 0 lines set aside; tables in out"


def test_lines_set_aside_are_counted() -> None:
    malformed = [{"table": "replica", "reason": "wrong type: lag", "malformed_count": 3}]
    text = printed(report(malformed=malformed))
    assert "3 lines set aside" in text
    assert "wrong type: lag" in text
