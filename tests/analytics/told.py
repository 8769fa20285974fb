"""Result tables of one made-up run: a disk slows, fails, and replicas move."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

RUN: dict[str, Any] = {"cluster_id": "jbod-lab", "run_id": "run-2", "seed": -1}
BEGIN_MS = 1_700_000_000_000
NAMES: Final = ("/data/d1", "/data/d2", "/data/d3")
BUCKETS = [f"2023-11-14T22:13:{second}.000Z" for second in (20, 22, 24)]


def of_run(**columns: Any) -> dict[str, Any]:
    return {**RUN, **columns}


def log_dir(name: str, state: str, used_bytes: int) -> dict[str, Any]:
    return of_run(
        broker_id=1,
        log_dir=name,
        state=state,
        used_bytes=used_bytes,
        total_bytes=4096,
        fill=used_bytes / 4096,
        last_seen_ms=BEGIN_MS,
    )


def latency(scope: str, name: str, operation: str, p99_us: int) -> dict[str, Any]:
    return of_run(
        scope=scope,
        broker_id=-1 if scope == "client" else 1,
        name=name,
        operation=operation,
        sample_count=10,
        p50_us=100,
        p99_us=p99_us,
        max_us=p99_us + 1,
    )


def step(order: int, name: str, since_ms: int | None, took_ms: int | None) -> dict[str, Any]:
    return of_run(
        failure_id="f1",
        step_order=order,
        step=name,
        node="controller",
        since_failure_ms=since_ms,
        since_previous_ms=took_ms,
    )


Tables: TypeAlias = dict[str, list[dict[str, Any]]]


def tables() -> Tables:
    """Return all tables that sentences and pictures read."""
    return _disks() | _latencies() | _failures() | _slow() | _moves() | _compared()


def _disks() -> Tables:
    return {
        "runs": [of_run(first_ms=BEGIN_MS, last_ms=BEGIN_MS + 6000, broker_count=1)],
        "log_dirs": [
            log_dir("/data/d1", "offline", 0),
            log_dir("/data/d2", "online", 2048),
            log_dir("/data/d3", "online", 1024),
        ],
        "log_dir_facts": [
            of_run(
                broker_id=1,
                log_dir=name,
                bucket=bucket,
                bucket_ms=2000,
                online_share=0.5 if name == "/data/d1" and bucket == BUCKETS[2] else 1.0,
                used_bytes=1024,
                fill=0.25,
            )
            for name in NAMES
            for bucket in BUCKETS
        ],
    }


def _latencies() -> Tables:
    latencies = [
        latency("api", "Produce", "request", 9000),
        latency("client", "orders", "produce", 372_000),
        latency("log_dir", "/data/d1", "append", 5000),
    ]
    return {
        "latency_facts": [
            {**row, "bucket": bucket, "bucket_ms": 2000} for row in latencies for bucket in BUCKETS
        ],
        "latencies": latencies,
    }


def _failures() -> Tables:
    return {
        "failovers": [
            of_run(
                failure_id="f1",
                failed_at_ms=BEGIN_MS + 5000,
                node="broker-1",
                detail="/data/d1: append: eio",
                cause="eio",
                elected_after_ms=100,
                recovered_after_ms=372,
                ended_after_ms=372,
                is_finished=False,
                waiting_for="brokers_told",
            )
        ],
        "failover_steps": [
            step(0, "log_dir_failed", 0, None),
            step(2, "controller_noticed", 12, 12),
            step(3, "replicas_offline", 8, -4),
            step(5, "brokers_told", None, None),
            step(6, "client_recovered", 372, 364),
        ],
        "outages": [
            of_run(
                topic="orders",
                partition=0,
                seen_by="brokers",
                began_ms=BEGIN_MS + 5000,
                ended_ms=None,
                duration_ms=1000,
                cause="log dir /data/d1: eio",
            )
        ],
    }


def _slow() -> Tables:
    return {
        "slowness": [
            of_run(
                broker_id=1,
                log_dir=name,
                operation="append",
                bucket=bucket,
                bucket_ms=2000,
                z_score=9.0 if name == "/data/d1" else 0.1,
            )
            for name in NAMES
            for bucket in BUCKETS
        ],
        "slow_log_dirs": [
            of_run(
                broker_id=1,
                log_dir="/data/d1",
                operation="append",
                mean_us=5700.0,
                siblings_us=1000.0,
                z_score_max=9.0,
                slow_bucket_count=6,
                bucket_count=13,
                warning_ms=12_600,
            )
        ],
        "imbalance": [
            of_run(used_bytes_gini=gini, used_bytes_largest_by_mean=1.5, fullest="1: /data/d2")
            for gini in (0.04, 0.1)
        ],
    }


def _moves() -> Tables:
    return {
        "moves": [
            of_run(
                topic="orders",
                partition=1,
                target_log_dir="/data/d3",
                state="done",
                started_at_ms=BEGIN_MS,
                last_seen_ms=BEGIN_MS + 3000,
                copied_bytes=6_000_000,
                bytes_per_s=2_000_000.0,
                throttle_bytes_per_s=2_500_000,
            )
        ],
        "throttle_costs": [
            of_run(
                broker_id=1,
                topic="orders",
                partition=1,
                target_log_dir="/data/d3",
                throttle_bytes_per_s=2_500_000,
                bytes_per_s=2_000_000.0,
                duration_ms=3000,
                waited_ms=1500,
                produce_p99_before_us=9000,
                produce_p99_us=18_000,
            )
        ],
        "reassignments": [
            reassignment("completed", 2000),
            {**reassignment("under_way", 4000), "partition": 1, "throttle_bytes_per_s": None},
        ],
    }


def reassignment(state: str, duration_ms: int) -> dict[str, Any]:
    return of_run(
        topic="orders",
        partition=0,
        started_at_ms=BEGIN_MS,
        state=state,
        is_finished=state != "under_way",
        last_seen_ms=BEGIN_MS + duration_ms,
        duration_ms=duration_ms,
        adding=[3, 4],
        removing=[],
        leader=1,
        copied_bytes=2_000_000,
        bytes_per_s=1_000_000.0,
        throttle_bytes_per_s=1_048_576,
        throttle_share=0.95,
        produce_p99_before_us=9000,
        produce_p99_us=18_000,
    )


def _compared() -> Tables:
    return {
        "plan_scores": [
            of_run(
                measure="bytes",
                gini_now=0.4,
                gini_then=0.0,
                largest_by_mean_now=2.0,
                largest_by_mean_then=1.0,
                moved_replica_count=3,
                moved_bytes=3072,
            )
        ],
        "comparisons": [
            of_run(
                base_run_id="run-1",
                measure="client produce p99 us",
                base_mean=100.0,
                mean=150.0,
                base_count=9,
                count=9,
                difference=50.0,
                ci_low=40.0,
                ci_high=60.0,
                p_value=0.001,
            )
        ],
        "checks": [{"check": "clocks disagree", "table": "t", "detail": "<b>", "row_count": 1}],
    }
