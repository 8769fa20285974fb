"""Metric rows of a made-up cluster, any number of them, the same for one seed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from protocol.metrics.histogram import Histogram
from protocol.metrics.latency import Timed, latency_row
from protocol.metrics.rows import (
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
from protocol.metrics.writer import MetricWriter

BROKERS = (1, 2, 3)
NO_BROKER = 0
"""Who writes the rows of the controller and of clients."""
ROWS_AT_ONCE = 10_000
PARTITIONS = 12
EPOCH_MS = 1_750_000_000_000
NO_BROKER_ID = -1
"""What latencies of clients say instead of a broker."""
SLOW = (3, 2)
"""The broker and its log dir that is slow before it fails for the first time."""
SLOW_ROUNDS = range(30, 50)
LAST_SEEN = 3
"""The broker of the last run that writes nothing in its last rounds, if the run is long."""
ROWS_PER_ROUND = len(BROKERS) * (3 + PARTITIONS + 2 * 3 + 3) + PARTITIONS


def write_made_up_dump(folder: Path, rows_min: int, seed: int = 1, runs: int = 2) -> int:
    """Write at least ``rows_min`` rows of ``runs`` runs below ``folder``; return how many."""
    # Rows that are lost now and then are fewer than those of failovers, moves and latencies.
    rounds = -(-rows_min // (ROWS_PER_ROUND * runs))
    written = 0
    for number in range(runs):
        origin = RowOrigin(cluster_id="made-up", run_id=f"run-{number}", seed=number)
        rows = _rows(Random(seed * 1000 + number), rounds, EPOCH_MS + number * 86_400_000)
        written += asyncio.run(_write(folder, rows, origin))
    return written


async def _write(folder: Path, rows: Iterator[MetricRow], origin: RowOrigin) -> int:
    """Write the rows of one run as its nodes do, of a whole table in one file; count them."""
    writers = {
        node: MetricWriter(str(folder), node, origin.seed, origin, rotate_bytes=sys.maxsize)
        for node in (NO_BROKER, *BROKERS)
    }
    written = 0
    while some := list(islice(rows, ROWS_AT_ONCE)):
        for node, writer in writers.items():
            await writer.write(
                [row for row in some if max(getattr(row, "broker_id", 0), NO_BROKER) == node]
            )
        written += len(some)
    for writer in writers.values():
        await writer.close()
    return written


def _rows(chance: Random, rounds: int, begin_ms: int) -> Iterator[MetricRow]:
    size = [0] * PARTITIONS
    appended = {(broker, d): 0 for broker in BROKERS for d in range(3)}
    for number in range(rounds):
        at_ms = begin_ms + number * 1000
        for partition in range(PARTITIONS):
            size[partition] += chance.randrange(50_000)
        for broker in BROKERS:
            if not _is_silent(broker, number, rounds):
                yield from _samples(chance, number, at_ms + broker * 7, broker, size, appended)
        yield from _client_rows(chance, at_ms, number)
        seen = Timed(NO_BROKER_ID, LatencyScope.CLIENT, "orders", Operation.PRODUCE)
        yield _latency(chance, seen, at_ms + 1000)
        if number % 97 == 50:
            yield from _failover(chance, at_ms, number, BROKERS[number % 3])
        if number % 31 < 3:
            yield _move(number, at_ms)
        yield from _reassignment(number, at_ms)


def _is_silent(broker: int, number: int, rounds: int) -> bool:
    """Tell whether a broker writes nothing: for four seconds now and then, or at the end."""
    is_over = broker == LAST_SEEN and number >= rounds - 5 and rounds > 100
    return is_over or (broker == 2 and number % 150 > 145)


def _samples(
    chance: Random,
    number: int,
    at_ms: int,
    broker: int,
    size: list[int],
    appended: dict[tuple[int, int], int],
) -> Iterator[MetricRow]:
    for log_dir in range(3):
        # A counter begins again now and then, and a broker restarts.
        grown = chance.randrange(100_000)
        before = 0 if chance.random() < 0.01 else appended[broker, log_dir]
        appended[broker, log_dir] = before + grown
        yield _log_dir(chance, number, at_ms, (broker, log_dir), appended[broker, log_dir])
        for operation in (Operation.READ, Operation.APPEND):
            timed = Timed(broker, LatencyScope.LOG_DIR, f"/data/d{log_dir}", operation)
            is_slow = (broker, log_dir) == SLOW and number in SLOW_ROUNDS
            yield _latency(chance, timed, at_ms, times=30 if is_slow else 1)
    produced = Timed(broker, LatencyScope.API, "Produce", Operation.REQUEST)
    yield _latency(chance, produced, at_ms)
    for partition in range(PARTITIONS):
        yield _replica(chance, number, at_ms, (broker, partition), size[partition])
    for api in ("Produce", "Fetch", "Metadata"):
        yield _request(chance, at_ms, broker, api)


def _log_dir(
    chance: Random, number: int, at_ms: int, where: tuple[int, int], appended: int
) -> LogDirRow:
    broker, log_dir = where
    return LogDirRow(
        at_ms=at_ms,
        interval_ms=1000,
        broker_id=broker,
        broker_epoch=number // 200,
        log_dir=f"/data/d{log_dir}",
        directory_id=f"id{broker}{log_dir}",
        online=chance.random() > 0.05,
        used_bytes=number * 30_000 + log_dir,
        total_bytes=-1 if chance.random() < 0.01 else 1 << 40,
        usable_bytes=1 << 39,
        replica_count=4,
        future_count=0,
        queue_depth_count=chance.randrange(20),
        append_count_total=number * 10,
        append_bytes_total=appended,
    )


def _replica(
    chance: Random, number: int, at_ms: int, where: tuple[int, int], size: int
) -> ReplicaRow:
    broker, partition = where
    is_led_here = broker == BROKERS[(partition + number // 40) % 3]
    return ReplicaRow(
        at_ms=at_ms,
        interval_ms=1000,
        broker_id=broker,
        topic="orders",
        partition=partition,
        log_dir=f"/data/d{partition % 3}",
        is_leader=is_led_here and chance.random() > 0.02,
        is_future=False,
        leader_epoch=number // 40,
        log_start_offset=0,
        log_end_offset=number,
        high_watermark=number,
        isr_count=3 if is_led_here else -1,
        is_under_min_isr=is_led_here and chance.random() < 0.03,
        size_bytes=max(size - chance.randrange(2_000_000) * (number % 50 == 0), 0),
        lag=chance.randrange(10),
    )


def _request(chance: Random, at_ms: int, broker: int, api: str) -> RequestRow:
    return RequestRow(
        at_ms=at_ms,
        interval_ms=1000,
        broker_id=broker,
        api=api,
        request_count=chance.randrange(1, 500),
        error_count=chance.randrange(3),
        p50_us=chance.randrange(100, 500),
        p99_us=chance.randrange(500, 5000),
        max_us=chance.randrange(5000, 9000),
        received_bytes=chance.randrange(100_000),
        sent_bytes=chance.randrange(100_000),
    )


def _latency(chance: Random, timed: Timed, at_ms: int, times: int = 1) -> LatencyRow:
    histogram = Histogram()
    for _ in range(chance.randrange(1, 12)):
        histogram.observe(int(times * chance.lognormvariate(6, 1.5)))
    return latency_row(timed, histogram, at_ms=at_ms, interval_ms=1000)


def _client_rows(chance: Random, at_ms: int, number: int) -> Iterator[MetricRow]:
    for partition in range(PARTITIONS):
        silence = chance.randrange(900 if number % 97 == 50 else 400)
        yield ClientRow(
            at_ms=at_ms + 1000,
            interval_ms=1000,
            client="load",
            topic="orders",
            partition=partition,
            acknowledged_count=chance.randrange(100),
            failed_count=0,
            silence_ms=silence,
            silence_ended_at_ms=at_ms + chance.randrange(1000),
        )


_COUNTED = (
    FailoverStep.LOG_DIR_FAILED,
    FailoverStep.REPLICAS_OFFLINE,
    FailoverStep.LEADERS_ELECTED,
)


def _failover(chance: Random, at_ms: int, number: int, broker: int) -> Iterator[MetricRow]:
    steps = list(FailoverStep)[: chance.choice((3, 6, 6, 6))]
    if number % 7 == 0:
        del steps[0]  # The broker's own row is lost.
    for index, step in enumerate(steps):
        yield FailoverEventRow(
            at_ms=at_ms
            + 11
            + index * chance.randrange(1, 30)
            - (index == 2) * chance.randrange(40),
            node=f"broker-{broker}" if index < 2 else "controller",
            failure_id=f"{broker}-x-{number}",
            step=step,
            topic_count=-1,
            partition_count=chance.randrange(1, 30) if step in _COUNTED else -1,
            detail=f"/data/d{number % 3}: append: {chance.choice(('eio', 'enospc'))}"
            if step is FailoverStep.LOG_DIR_FAILED
            else "",
        )


def _move(number: int, at_ms: int) -> MoveProgressRow:
    step, is_throttled = number % 31, number // 31 % 2
    return MoveProgressRow(
        at_ms=at_ms,
        broker_id=1,
        topic="orders",
        partition=number // 31 % PARTITIONS,
        source_log_dir="/data/d0",
        target_log_dir="/data/d1",
        started_at_ms=at_ms - step * 1000,
        copied_bytes=step * (400_000 if is_throttled else 1_000_000 + number),
        total_bytes=2_000_000,
        throttle_bytes_per_s=500_000 if is_throttled else -1,
        state=(MoveState.COPYING, MoveState.SWAPPING, MoveState.DONE)[step],
    )


class Told(NamedTuple):
    """A row of a reassignment, in rounds after the first one."""

    at: int
    began: int
    state: ReassignmentState
    other: int = 0
    """1: of the one that replaced it."""


_UNDER_WAY, _COMPLETED, _CANCELLED, _REPLACED = ReassignmentState
_REASSIGNED = (
    (Told(0, 0, _UNDER_WAY), Told(1, 0, _UNDER_WAY), Told(3, 0, _COMPLETED)),
    (
        *(Told(0, 0, _UNDER_WAY), Told(2, 0, _REPLACED)),
        *(Told(2, 2, _UNDER_WAY, other=1), Told(5, 2, _COMPLETED, other=1)),
    ),
    # Another controller goes on.
    (Told(0, 0, _UNDER_WAY), Told(3, 3, _UNDER_WAY), Told(4, 3, _CANCELLED)),
    # Nobody tells of its end.
    (Told(0, 0, _UNDER_WAY), Told(2, 0, _UNDER_WAY)),
    # It adds nobody.
    (Told(0, 0, _UNDER_WAY), Told(0, 0, _COMPLETED)),
)
"""What happens by turns."""
_TURN_ROUNDS = 8


def _reassignment(number: int, at_ms: int) -> Iterator[ReassignmentProgressRow]:
    turn, after = divmod(number, _TURN_ROUNDS)
    kind = turn % len(_REASSIGNED)
    for told in _REASSIGNED[kind]:
        if told.at == after:
            # The same partition in its next turn goes to another broker.
            first = turn + turn // PARTITIONS + told.other
            added, removed, leader = (BROKERS[(first + place) % 3] for place in range(3))
            yield ReassignmentProgressRow(
                at_ms=at_ms + 300,
                topic="orders",
                partition=turn % PARTITIONS,
                started_at_ms=at_ms + 300 - 1000 * (told.at - told.began),
                adding=() if kind == len(_REASSIGNED) - 1 else (added,),
                removing=(removed,),
                leader=leader,
                throttle_bytes_per_s=20_000 if turn % 2 else -1,
                state=told.state,
            )


def write_made_up_plan(file: Path) -> None:
    """Write a plan for the made-up cluster: log dirs named and not, replicas new and dropped."""
    partitions = [
        {"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": ["/data/d2", "any"]},
        {"topic": "orders", "partition": 1, "replicas": [3, 1, 2]},
        {"topic": "orders", "partition": 2, "replicas": [2, 4], "log_dirs": ["/data/d0", "any"]},
    ]
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))
