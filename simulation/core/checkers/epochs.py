"""What a broker knows of a log's leader epochs is what the log says: where each of them begins.

Followers that come back and readers whose log was cut are sent to an offset by it.
Source: LeaderEpochFileCache.scala, KIP-101, KIP-279, KIP-320.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from protocol.ids import NO_EPOCH
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import is_damaged
from simulation.core.samples import EpochBegin, LogSample

NAME: Final = "leader epochs"


def check_epochs(evidence: Evidence) -> list[Violation]:
    """Look at every log of a broker that was asked for its leader epochs, at the end."""
    samples = evidence.samples
    return [
        Violation(NAME, samples.ended_us, f"broker {log.broker}, {log.tp}: {text}")
        for log in samples.logs
        if log.epochs is not None and log.is_readable and not log.is_future
        if not is_damaged(samples, log)
        for text in (*_disorder(log, log.epochs), *_differences(log, log.epochs))
    ]


def _disorder(log: LogSample, epochs: Sequence[EpochBegin]) -> Iterator[str]:
    for before, after in pairwise(epochs):
        if not (before.epoch < after.epoch and before.offset < after.offset):
            yield f"{_told(before)} comes before {_told(after)}"
    if epochs and epochs[0].offset < log.log_start_offset:
        yield f"{_told(epochs[0])}, and the log from offset {log.log_start_offset} on"


def _differences(log: LogSample, epochs: Sequence[EpochBegin]) -> Iterator[str]:
    """Give the first batch that was written under another epoch than is known of its offset."""
    offsets = [one.offset for one in epochs]
    for batch in log.batches:
        offset = max(batch.base_offset, log.log_start_offset)
        number = bisect_right(offsets, offset) - 1
        known = epochs[number].epoch if number >= 0 else NO_EPOCH
        if batch.leader_epoch != known:
            yield (
                f"the batch at offset {batch.base_offset} has leader epoch {batch.leader_epoch}, "
                f"and the one known there is {known}"
            )
            return


def _told(one: EpochBegin) -> str:
    return f"leader epoch {one.epoch} begins at offset {one.offset}"
