"""Produces at an even pace and tells how long records waited for their acknowledgement.

The times end where Python is told of the answer, in a thread that does nothing but wait for it. It
decides nothing about what else the broker does.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from confluent_kafka import Message, Producer

_TICK_S: Final = 0.005


class Latencies(NamedTuple):
    """Of the records that were acknowledged in one stretch of time."""

    record_count: int
    p50_ms: float
    p99_ms: float
    max_ms: float


class PacedLoad:
    """Produces round robin to the partitions of a topic, in a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, *, partitions: int, per_second: int) -> None:
        config: dict[str, Any] = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0}
        self._producer = Producer(config)
        self._topic, self._partitions, self._per_second = topic, partitions, per_second
        self._taken_s: list[float] = []
        self._failed: list[object] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="paced-load")

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """Wait for what is under way.

        Raises:
            RuntimeError: a record was not acknowledged.
        """
        self._ending.set()
        self._thread.join()
        left = self._producer.flush(30)
        if left or self._failed:
            raise RuntimeError(f"{left} records not acknowledged, failed: {self._failed[:1]}")

    def during(self, work: Callable[[], object]) -> list[float]:
        """Do ``work``; return the seconds that each record acknowledged meanwhile waited."""
        first = len(self._taken_s)
        work()
        return self._taken_s[first:]

    def _run(self) -> None:
        value, sent, began_s = bytes(1024), 0, time.monotonic()
        while not self._ending.is_set():
            self._producer.poll(_TICK_S)  # Returns as soon as there was an answer.
            due = int((time.monotonic() - began_s) * self._per_second)
            while sent < due:
                self._producer.produce(
                    self._topic,
                    value,
                    partition=sent % self._partitions,
                    on_delivery=self._delivered,
                )
                sent += 1

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self._failed.append(error)
        else:
            self._taken_s.append(message.latency() or 0.0)


def latencies_of(taken_s: Sequence[float]) -> Latencies:
    """Return what seconds, one for each acknowledged record, come to."""
    ordered = sorted(taken_s)
    assert ordered, "nothing was acknowledged meanwhile"
    return Latencies(
        len(ordered),
        1000 * _percentile(ordered, 0.5),
        1000 * _percentile(ordered, 0.99),
        1000 * ordered[-1],
    )


def _percentile(ordered: list[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@contextmanager
def paced(bootstrap: str, topic: str, *, partitions: int, per_second: int) -> Generator[PacedLoad]:
    """Produce for the length of a block."""
    load = PacedLoad(bootstrap, topic, partitions=partitions, per_second=per_second)
    load.begin()
    try:
        yield load
    finally:
        load.end()
