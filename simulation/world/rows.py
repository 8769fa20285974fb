"""Metric rows of a simulated cluster: kept in memory, or not at all.

They are written to files after the run, by the writer that real processes use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from protocol.metric_rows import MetricRow
from protocol.metric_writer import MetricWriter


@dataclass(slots=True)
class KeptRows:
    """The rows of one process. Implements ``RowWriter``."""

    node: int
    started_ms: int
    rows: list[MetricRow] = field(default_factory=list[MetricRow])

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """See ``RowWriter.write``."""
        self.rows += rows

    async def close(self) -> None:
        """See ``RowWriter.close``."""


class NoRows:
    """Drops all rows. Implements ``RowWriter``."""

    def __init__(self, dump_dir: str, node: int, started_ms: int) -> None:
        """Take what every writer is made with."""

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """See ``RowWriter.write``."""

    async def close(self) -> None:
        """See ``RowWriter.close``."""


async def write_rows(kept: Iterable[KeptRows], dump_dir: str) -> None:
    """Write all rows to files as brokers and controller do. Call it on a real loop."""
    for one in kept:
        writer = MetricWriter(dump_dir, one.node, one.started_ms)
        await writer.write(one.rows)
        await writer.close()
