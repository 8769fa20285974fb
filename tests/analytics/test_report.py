import io
from collections.abc import Callable
from typing import Any

from rich.console import Console

from analytics import columns as c
from analytics.report import PRINTED_MAX, Report, print_findings, print_report

RUN: dict[str, Any] = {"cluster_id": "jbod-lab", "run_id": "run-1", "seed": -1}
OTHER: dict[str, Any] = {**RUN, "run_id": "run-2", "seed": 7}
LOG_DIR: dict[str, Any] = {
    **RUN,
    "broker_id": 1,
    "log_dir": "/data/b1/d1",
    "last_seen_ms": 1_700_000_000_123,
    "state": "online",
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
COUNTS = {"broker_count": 3, "row_count": 60}
FAILOVER: dict[str, Any] = {
    **RUN,
    "failure_id": "f1",
    "failed_at_ms": 1_700_000_000_123,
    "node": "broker-1",
    "detail": "/data/b1/d1: eio",
    "offline_count": 3,
    "moved_count": 2,
    "elected_after_ms": 12,
    "ended_after_ms": 100,
    "last_step": "leaders_elected",
    "is_finished": True,
    "waiting_for": None,
    "clock_skew_ms": 0,
}
STEP: dict[str, Any] = {
    **RUN,
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


_MOVE = {**RUN, "broker_id": 1, "topic": "t", "partition": 0}
WHOLE: dict[str, list[dict[str, Any]]] = {
    "runs": [{**RUN, **COUNTS, "first_ms": 0, "last_ms": 1_700_000_000_000}],
    "failover_durations": [
        {
            **RUN,
            "cause": "eio",
            "size_class": "100-999",
            "failure_count": 2,
            "unfinished_count": 0,
            "p50_ms": 7,
            "p90_ms": 8,
            "p99_ms": 9,
            "max_ms": 9,
        }
    ],
    "outages": [
        {
            **RUN,
            "topic": "t",
            "partition": 0,
            "seen_by": "brokers",
            "began_ms": 5000,
            "ended_ms": None,
            "duration_ms": 4,
            "leader_before": 1,
            "leader_after": None,
            "cause": "/d1: eio",
        }
    ],
    "throttle_costs": [
        {
            **_MOVE,
            "target_log_dir": "/d2",
            "throttle_bytes_per_s": 9,
            "bytes_per_s": 8.0,
            "unthrottled_bytes_per_s": None,
            "waited_ms": 1500,
            "produce_p99_before_us": 9,
            "produce_p99_us": None,
        }
    ],
    "reassignments": [
        {
            **RUN,
            "topic": "t",
            "partition": 0,
            "adding": [3, 4],
            "removing": [],
            "leader": 1,
            "state": "under_way",
            "is_finished": False,
            "copied_bytes": 2048,
            "duration_ms": 5,
            "bytes_per_s": None,
            "throttle_share": None,
            "produce_p99_before_us": 9,
            "produce_p99_us": None,
        }
    ],
    "slow_log_dirs": [
        {
            **RUN,
            "broker_id": 1,
            "log_dir": "/d1",
            "operation": "append",
            "bucket_count": 9,
            "slow_bucket_count": 3,
            "mean_us": 5.0,
            "siblings_us": 1.0,
            "z_score_max": 9.5,
            "first_slow_ms": 1000,
            "failed_at_ms": 13_600,
            "warning_ms": 12_600,
        }
    ],
    "imbalance": [
        {
            **RUN,
            "bucket": "2023-11-14T22:13:20.000Z",
            "log_dir_count": 3,
            "used_bytes_gini": 0.1,
            "used_bytes_largest_by_mean": 1.5,
            "append_bytes_per_s_gini": None,
            "append_bytes_per_s_largest_by_mean": None,
            "fullest": "1: /data/d2",
        }
    ],
    "plan_scores": [
        {
            **RUN,
            "measure": "bytes",
            "gini_now": 0.4,
            "gini_then": 0.0,
            "largest_by_mean_now": 2.0,
            "largest_by_mean_then": 1.0,
            "moved_replica_count": 3,
            "moved_bytes": 3072,
        }
    ],
    "comparisons": [
        {
            **RUN,
            "measure": "client produce p99 us",
            "base_run_id": "run-0",
            "base_count": 9,
            "count": 9,
            "base_mean": 100.0,
            "mean": 150.0,
            "difference": 50.0,
            "ci_low": 40.0,
            "ci_high": 60.0,
            "p_value": 0.001,
        }
    ],
}


def printed(report: Report, print_it: Callable[[Report, Console], None] = print_report) -> str:
    console = Console(file=io.StringIO(), width=160)
    print_it(report, console)
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
    offline = {**LOG_DIR, "state": "offline", "total_bytes": -1, "fill": None}
    [line] = [line for line in printed(report(log_dirs=[offline])).splitlines() if "/b1/" in line]
    assert "offline" in line
    assert line.count(" - ") + line.count(" -│") == 3


def test_a_failover_says_what_was_lost_and_how_long_it_took() -> None:
    text = printed(report(failovers=[FAILOVER], failover_steps=[STEP]))
    assert "Failover of broker-1 at 2023-11-14 22:13:20.123" in text
    assert "3 replicas offline, 2 leaders moved after 12 ms" in " ".join(text.split())
    assert "leaders elected" in text


def test_one_replica_and_one_leader_have_no_plural() -> None:
    failover = {**FAILOVER, "offline_count": 1, "moved_count": 1}
    text = printed(report(failovers=[failover], failover_steps=[STEP]))
    assert "1 replica offline, 1 leader moved after 12 ms" in " ".join(text.split())


def test_a_failover_without_election_says_so() -> None:
    unseen = {"moved_count": None, "elected_after_ms": None, "is_finished": False}
    failover = {**FAILOVER, **unseen, "waiting_for": "leaders_elected", "clock_skew_ms": 40}
    lost = {**STEP, "since_failure_ms": None, "since_previous_ms": None}
    text = " ".join(printed(report(failovers=[failover], failover_steps=[lost])).split())
    assert "no election seen · UNFINISHED: no leaders elected was seen" in text
    assert "clocks disagree by 40 ms" in text
    assert "not seen" in text


def test_a_log_dir_of_a_dead_broker_says_when_it_was_seen() -> None:
    assert "stale, seen 22:13:20" in printed(report(log_dirs=[{**LOG_DIR, "state": "stale"}]))


def test_runs_are_told_apart_with_their_seed() -> None:
    runs = [{**RUN, "first_ms": 0}, {**OTHER, "first_ms": 1_700_000_000_000}]
    runs = [{**run, "last_ms": 1_700_000_009_000, **COUNTS} for run in runs]
    text = printed(report(runs=runs, log_dirs=[LOG_DIR, {**LOG_DIR, **OTHER}]))
    assert text.index("run run-1") < text.index("run run-2, seed 7, from 2023-11-14")
    assert "9,000" in next(line for line in text.splitlines() if "run-2" in line)
    assert text.count("/data/b1/d1") == 2


def test_latencies_of_log_dirs_are_shown_and_those_of_apis_are_in_the_table() -> None:
    latency = {
        **RUN,
        "scope": "log_dir",
        "broker_id": 1,
        "name": "/d1",
        "operation": "sync",
        "sample_count": 1234,
        "mean_us": 3.0,
        "p50_us": 2,
        "p99_us": 9,
        "max_us": 11,
    }
    api = {**latency, "scope": "api", "name": "Produce"}
    text = printed(report(log_dirs=[LOG_DIR], latencies=[latency, api]))
    assert "1,234" in text
    assert "Produce" not in text


def test_only_the_busiest_partitions_are_shown() -> None:
    partitions = [
        {
            **RUN,
            "topic": "t",
            "partition": number,
            "write_bytes_per_s": 2048.0,
            "leader": 1,
            "isr_count": 3,
            "unavailable_ms": 0,
            "under_min_isr_ms": 1500,
        }
        for number in range(11)
    ]
    text = printed(report(partitions=partitions))
    assert "Busiest partitions" in text
    assert "2.0 KiB/s" in text
    assert "1,500 ms" in text
    assert "t-9" in text
    assert "t-10" not in text
    assert "and 1 row more: see the folder of tables" in text


def test_a_table_without_rows_is_not_printed() -> None:
    text = printed(report())
    assert text.strip() == "7 rows read from dump, 0 lines set aside; tables in out"


def test_lines_set_aside_are_counted() -> None:
    check = {"check": "lines set aside", "table": "replica", "detail": "wrong type: lag"}
    text = printed(report(checks=[{**check, "row_count": 3}], duplicate_counts={"replica": 4}))
    assert "4 more of them there twice, 3 lines set aside" in text
    assert "wrong type: lag" in text


def test_what_is_too_long_for_a_report_is_counted() -> None:
    for print_it in (print_report, print_findings):
        text = printed(report(left_out={"partitions": 1200}), print_it)
        assert "too long for a report: 1200 rows of partitions left out, all are in out" in text


def test_partitions_of_a_plan_that_no_run_knows_are_among_the_lines_that_matter() -> None:
    check = {"check": c.UNKNOWN_PLANNED, "table": "partitions", "detail": "t-1, t-2"}
    text = printed(report(checks=[{**check, "row_count": 5}]), print_findings)
    assert "No run knows these partitions of the plan: t-1, t-2 and 3 more." in text


def test_every_table_is_printed_with_its_numbers() -> None:
    text = printed(report(**WHOLE))
    for title, cell in (
        ("Runs", "1,700,000,000,000"),
        ("Failovers by cause, to the election", "100-999"),
        ("Unavailable partitions", "00:00:05.000"),
        ("What throttles cost", "1,500 ms"),
        ("Reassignments between brokers", "under way, unfinished"),
        ("Log dirs among their siblings", "12,600 ms"),
        ("Imbalance of log dirs", "1: /data/d2"),
        ("The plan", "3.0 KiB"),
        ("Against another run", "client produce p99 us"),
    ):
        table = text[text.index(title) :].split("\n\n")[0]
        assert cell in table, title


def test_of_a_long_table_it_is_said_how_many_rows_are_not_printed() -> None:
    text = printed(report(outages=WHOLE["outages"] * (PRINTED_MAX + 2)))
    assert text.count("eio") == PRINTED_MAX
    assert "and 2 rows more: see the folder of tables" in text
