"""Who reads committed records gets none of a transaction before the Isr has its marker.

A leader's last stable offset is held against the transactions of the log as it is in the end: of
one whose marker lies at the high watermark or behind it, or that has none, it shows nothing. A
marker that is on the leader alone may be lost with it, and another one written in its place. A
broker that opens a log knows of no marker in it that is not replicated yet, as Kafka's does not.
Source: UnifiedLog.scala fetchLastStableOffsetMetadata, KIP-98.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from protocol.ids import NO_OFFSET
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import trusted_logs
from simulation.core.samples import HOSTED_ROLES, BatchSample, LogSample, ReplicaSample

NAME: Final = "stable offsets"
_NONE: Final = 2**63 - 1


class _Transaction(NamedTuple):
    """One transaction in a log."""

    first_offset: int
    marker_offset: int = _NONE
    """Without a marker: behind everything."""


def check_stable_offsets(evidence: Evidence) -> list[Violation]:
    """Look at each leader's last stable offset, in the partitions whose logs are whole."""
    deletions = deletions_of(evidence)
    found: list[Violation] = []
    for log in trusted_logs(evidence.samples):
        topic = log.tp.topic
        is_taken = topic in deletions.compacted or deletions.took_topic(topic, 0)
        if not is_taken and log.tp not in evidence.forgiven:
            found += _too_high(evidence.samples.replicas, log)
    return found


def _too_high(replicas: Sequence[ReplicaSample], log: LogSample) -> Iterator[Violation]:
    transactions = sorted(_transactions(log.batches))
    if not transactions:
        return
    firsts = [each.first_offset for each in transactions]
    # Of the transactions up to each: where the last one of their markers lies.
    ends = list(accumulate((each.marker_offset for each in transactions), max))
    opened: dict[int, ReplicaSample] = {}
    committed = 0  # What any leader has said: a follower's high watermark may fall again.
    for sample in (each for each in replicas if each.tp == log.tp):
        if sample.role not in HOSTED_ROLES:
            opened.pop(sample.broker, None)
            continue
        stable = sample.last_stable_offset
        first = opened.setdefault(sample.broker, sample)
        if (first.boot, first.log_dir) != (sample.boot, sample.log_dir):
            first = opened[sample.broker] = sample
        # Nothing is shown where the log begins: what was deleted is of no transaction (925317).
        shown = bisect_left(firsts, stable) if stable > sample.log_start_offset else 0
        if stable != NO_OFFSET:
            committed = max(committed, sample.high_watermark)
        unsure = max(committed, first.log_end_offset)
        if shown and ends[shown - 1] >= unsure:
            begun = next(each for each in transactions if each.marker_offset == ends[shown - 1])
            yield Violation(NAME, sample.at_us, _text(sample, begun))


def _text(sample: ReplicaSample, begun: _Transaction) -> str:
    marker = "no marker" if begun.marker_offset == _NONE else f"its marker at {begun.marker_offset}"
    return (
        f"broker {sample.broker} shows committed records of {sample.tp} up to "
        f"{sample.last_stable_offset} with the high watermark {sample.high_watermark}, and the "
        f"transaction from offset {begun.first_offset} on has {marker}"
    )


def _transactions(batches: Sequence[BatchSample]) -> Iterator[_Transaction]:
    open_: dict[int, int] = {}
    for batch in batches:
        if batch.marker:
            if batch.producer_id in open_:
                yield _Transaction(open_.pop(batch.producer_id), batch.base_offset)
        elif batch.is_transactional:
            open_.setdefault(batch.producer_id, batch.base_offset)
    for first_offset in open_.values():
        yield _Transaction(first_offset)
