"""Builders of metric rows and frames for tests: only what matters to a test has to be said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from analytics.schema import TABLE_SCHEMAS
from protocol.metrics.rows import (
    TABLE_OF_ROW,
    TABLE_VERSION,
    ClientRow,
    FailoverEventRow,
    FailoverStep,
    LatencyRow,
    LatencyScope,
    LogDirRow,
    MetricRow,
    MoveProgressRow,
    MoveState,
    Operation,
    ReassignmentProgressRow,
    ReassignmentState,
    ReplicaRow,
    RequestRow,
    RowOrigin,
)
from protocol.metrics.writer import line_begins

ORIGIN = RowOrigin(cluster_id="jbod-lab", run_id="run-1")
LOG_DIR = LogDirRow(
    at_ms=1000,
    interval_ms=1000,
    broker_id=1,
    broker_epoch=5,
    log_dir="/d1",
    directory_id="A" * 22,
    online=True,
    used_bytes=25,
    total_bytes=100,
    usable_bytes=70,
    replica_count=2,
    future_count=0,
    queue_depth_count=0,
    append_count_total=0,
    append_bytes_total=0,
)
REPLICA = ReplicaRow(
    at_ms=1000,
    interval_ms=1000,
    broker_id=1,
    topic="orders",
    partition=0,
    log_dir="/d1",
    is_leader=True,
    is_future=False,
    leader_epoch=3,
    log_start_offset=0,
    log_end_offset=10,
    high_watermark=10,
    isr_count=3,
    is_under_min_isr=False,
    size_bytes=100,
    lag=0,
)
EVENT = FailoverEventRow(
    at_ms=1000,
    node="broker-1",
    failure_id="f1",
    step=FailoverStep.LOG_DIR_FAILED,
    topic_count=-1,
    partition_count=-1,
    detail="",
)
MOVE = MoveProgressRow(
    at_ms=1000,
    broker_id=1,
    topic="orders",
    partition=0,
    source_log_dir="/d1",
    target_log_dir="/d2",
    started_at_ms=1000,
    copied_bytes=0,
    total_bytes=500,
    throttle_bytes_per_s=-1,
    state=MoveState.COPYING,
)
REASSIGNMENT = ReassignmentProgressRow(
    at_ms=1000,
    topic="orders",
    partition=0,
    started_at_ms=1000,
    adding=(3,),
    removing=(2,),
    leader=1,
    throttle_bytes_per_s=-1,
    state=ReassignmentState.UNDER_WAY,
)
REQUEST = RequestRow(
    at_ms=1000,
    interval_ms=1000,
    broker_id=1,
    api="Produce",
    request_count=10,
    error_count=0,
    p50_us=100,
    p99_us=900,
    max_us=1000,
    received_bytes=1000,
    sent_bytes=100,
)
LATENCY = LatencyRow(
    at_ms=1000,
    interval_ms=1000,
    broker_id=1,
    scope=LatencyScope.LOG_DIR,
    name="/d1",
    operation=Operation.SYNC,
    sample_count=3,
    sum_us=1006,
    max_us=1000,
    bucket_us=(3, 1023),
    bucket_counts=(2, 1),
)
CLIENT = ClientRow(
    at_ms=1000,
    interval_ms=1000,
    client="load",
    topic="orders",
    partition=0,
    acknowledged_count=10,
    failed_count=0,
    silence_ms=0,
    silence_ended_at_ms=-1,
)
SAMPLES: tuple[MetricRow, ...] = (
    *(LOG_DIR, REPLICA, EVENT, MOVE, REASSIGNMENT, REQUEST, LATENCY, CLIENT),
)


def frame_of(
    spark: SparkSession, table: str, rows: Sequence[MetricRow], origin: RowOrigin = ORIGIN
) -> DataFrame:
    """Return ``rows`` as Spark would have read them, all of one run."""
    values = [tuple(plain(row, origin).values()) for row in rows]
    return made(spark, values, TABLE_SCHEMAS[table])


def made(
    spark: SparkSession, values: Sequence[tuple[Any, ...]], columns: StructType | str
) -> DataFrame:
    """Return a frame of ``values``."""
    # PySpark's overloads name a type that the checker cannot know.
    return spark.createDataFrame(values, columns)  # pyright: ignore[reportUnknownMemberType]


def plain(row: MetricRow, origin: RowOrigin = ORIGIN) -> dict[str, Any]:
    """Return what JSON has of a row."""
    return msgspec.json.decode(line_of(row, origin))


def line_of(row: MetricRow, origin: RowOrigin = ORIGIN) -> bytes:
    """Return the line that a node writes."""
    return line_begins(origin) + msgspec.json.encode(row)[1:]


def picked(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Return some columns of all rows, in their order."""
    return [tuple(row) for row in frame.select(*columns).collect()]


def write_dump(
    folder: Path, rows: Sequence[MetricRow], node: int = 1, origin: RowOrigin = ORIGIN
) -> None:
    """Write rows as a node does, with lines at the end of each table's one file."""
    for row in rows:
        write_line(folder, TABLE_OF_ROW[type(row)], line_of(row, origin).decode(), node)


def write_line(
    folder: Path, table: str, line: str, node: int = 1, version: int = TABLE_VERSION
) -> None:
    """Append one line, good or not, to a table's file of one node."""
    path = folder / table / f"v{version}" / f"broker={node}" / "1000-0.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(line + "\n")


changed = dataclasses.replace
