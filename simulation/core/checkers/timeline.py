"""Walks through samples in the order of time. Judges nothing."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol, TypeVar

from protocol.ids import TopicPartition
from simulation.core.samples import PartitionSample


class TimedSample(Protocol):
    """Anything that happened at one time."""

    @property
    def at_us(self) -> int:
        """Microseconds of the loop's time."""
        ...


T = TypeVar("T", bound=TimedSample)
_AT_US = attrgetter("at_us")


def merged(*tracks: Iterable[T]) -> Iterator[T]:
    """Give all samples in the order of time; of one moment, those of earlier tracks first."""
    return heapq.merge(*tracks, key=_AT_US)


def moments(samples: Iterable[T]) -> Iterator[tuple[int, list[T]]]:
    """Give the samples of each moment together."""
    for at_us, group in groupby(samples, key=_AT_US):
        yield at_us, list(group)


def in_force(samples: Sequence[T], begin_us: int, end_us: int) -> Sequence[T]:
    """Return the sample that stood at the begin and those since, to the end; () where none stood.

    ``samples`` are of one thing, in the order of time.
    """
    first = bisect_right(samples, begin_us, key=_AT_US) - 1
    return () if first < 0 else samples[first : bisect_right(samples, end_us, key=_AT_US)]


def last_partitions(samples: Sequence[PartitionSample]) -> dict[TopicPartition, PartitionSample]:
    """Return each partition as the controller had it last; without deleted ones."""
    last = {sample.tp: sample for sample in samples}
    return {tp: sample for tp, sample in last.items() if not sample.is_deleted}


def kept_topics(samples: Sequence[PartitionSample]) -> dict[str, None]:
    """Return the topics whose deletion has not begun: it waits for a reassignment to end.

    That itself waits for an offline replica. Source: TopicDeletionManager.scala.
    """
    last = {sample.tp: sample for sample in samples}
    return {
        tp.topic: None
        for tp, sample in last.items()
        if sample.is_deleted and not sample.is_gone and sample.is_reassigned and sample.offline
    }
