"""How long reads, appends and syncs of one log dir took, from their queueing on.

It reads no clock. What else a disk is asked for is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from protocol.metrics.histogram import Histogram
from protocol.metrics.rows import Operation

_OPERATIONS: Final[Mapping[str, Operation]] = {
    "append": Operation.APPEND,
    "read": Operation.READ,
    "flush": Operation.SYNC,
    "sync": Operation.SYNC,
}
"""By the name under which a job is queued."""


class DiskLatency:
    """The histograms of one log dir since they were last taken."""

    __slots__ = ("_histograms",)

    def __init__(self) -> None:
        self._histograms: dict[str, Histogram] = {}

    def observe(self, operation: str, began_us: Iterable[int], now_us: int) -> None:
        """Count jobs of one name that began at ``began_us`` and ended together."""
        if operation not in _OPERATIONS:
            return
        histogram = self._histograms.get(operation)
        if histogram is None:
            histogram = self._histograms[operation] = Histogram()
        for at_us in began_us:
            histogram.observe(now_us - at_us)

    def take(self) -> list[tuple[Operation, Histogram]]:
        """Return what was counted, by operation, and begin anew."""
        taken, self._histograms = self._histograms, {}
        merged: dict[Operation, Histogram] = {}
        for name, histogram in taken.items():
            operation = _OPERATIONS[name]
            if operation in merged:
                merged[operation].add(histogram)
            else:
                merged[operation] = histogram
        return [(operation, merged[operation]) for operation in Operation if operation in merged]
