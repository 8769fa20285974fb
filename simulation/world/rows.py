"""Metric rows of a simulated cluster: kept in memory, or not at all.

They are written to files after the run, by the writer that real processes use.
"""

from __future__ import annotations

from collections.abc import Iterable

from protocol.metrics.rows import MetricRow, RowOrigin
from protocol.metrics.writer import MetricWriter
from simulation.world.clock import EPOCH_MS


class KeptRows:
    """The rows of one process. Implements ``RowWriter``."""

    def __init__(self, node: int, started_ms: int) -> None:
        self.node = node
        self.started_ms = started_ms
        self.rows: list[MetricRow] = []

    async def write(self, rows: Iterable[MetricRow]) -> None:
        self.rows += rows

    async def close(self) -> None:
        """Do nothing: the rows stay."""


class RowKeeper:
    """Keeps the rows of a whole cluster: give its ``new_writer`` to ``SimCluster``."""

    def __init__(self) -> None:
        self.kept: list[KeptRows] = []
        """By process, in the order of their starts."""

    def new_writer(self, dump_dir: str, node: int, started_ms: int) -> KeptRows:
        """Return the writer of a process, a ``NewRowWriter``."""
        del dump_dir  # Nothing is written while the world runs.
        self.kept.append(KeptRows(node, started_ms))
        return self.kept[-1]

    def keep(self, node: int, rows: Iterable[MetricRow]) -> None:
        """Keep rows that no process of the cluster wrote."""
        kept = self.new_writer("", node, EPOCH_MS)
        kept.rows += rows

    async def write(self, dump_dir: str, origin: RowOrigin) -> None:
        """Write all rows to files, for Spark, as real processes do. Call it on a real loop."""
        for one in self.kept:
            writer = MetricWriter(dump_dir, one.node, one.started_ms, origin)
            await writer.write(one.rows)
            await writer.close()


class NoRows:
    """Drops all rows. Implements ``RowWriter``."""

    def __init__(self, dump_dir: str, node: int, started_ms: int) -> None:
        """Take what every writer is made with."""

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """Drop them."""

    async def close(self) -> None:
        """Do nothing: there is no file."""
