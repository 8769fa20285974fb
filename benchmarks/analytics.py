"""Reports of made-up dumps: ``python -m benchmarks.analytics [--rows N ...]`` prints one table.

Each report runs in processes of its own, as ``jbodlab report`` does; DuckDB answers the same
questions (``duckdb_tables``) with one thread, of which facts, answers and pictures have no part:
with ``--plain`` the report leaves them out, too. Processor time is that of all processes together;
the slope between two sizes leaves the start of Spark out. The first row is Spark's own start: it
starts as it is delivered, sums three rows, writes one file and stops, before any of ours.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

import analytics
from benchmarks.duckdb_tables import tables_of
from benchmarks.made_up_dump import write_made_up_dump

SIZES: Final = (4_000, 100_000, 1_000_000)
_LOOK_EVERY_S: Final = 0.05
_SPARK_ALONE: Final = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").getOrCreate()
rows = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], ["key", "number"])
rows.groupBy("key").sum("number").write.parquet(sys.argv[1])
spark.stop()
"""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Ran(NamedTuple):
    """What one run of Spark took, with all its processes."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    """The largest memory that one process had resident: Java, where Spark runs."""

    @property
    def cells(self) -> tuple[str, str, str]:
        """Return them for the table."""
        return f"{self.wall_s:.1f}", f"{self.cpu_s:.1f}", f"{self.peak_mib:.0f}"


class Cost(NamedTuple):
    """What one dump cost."""

    rows: int
    report: Ran
    duckdb_cpu_s: float


class Usage(NamedTuple):
    """What one process used so far."""

    cpu_s: float
    peak_kib: int


@click.command()
@click.option("--rows", type=int, multiple=True, default=SIZES, show_default=True)
@click.option("--plain", "is_plain", is_flag=True, help="Without facts, answers and pictures.")
def main(rows: tuple[int, ...], *, is_plain: bool) -> None:
    """Measure reports of dumps of so many rows, the smallest first."""
    options = ("--plain",) if is_plain else ()
    alone = _spark_alone()
    # The first one ever keeps Java's classes for all others.
    costs = [_cost(size, options) for size in (min(rows), *sorted(rows))][1:]
    table = Table(title="analytics", title_justify="left")
    names = ("rows", "report s", "processor s", "MiB", "DuckDB s", "us a row", "DuckDB us", "times")
    for name in names:
        table.add_column(name, justify="right")
    table.add_row("Spark alone", *alone.cells, *("-",) * 4)
    for before, cost in zip([None, *costs], costs, strict=False):
        table.add_row(*_cells(before, cost))
    Console(width=100).print(table)


def _cells(before: Cost | None, cost: Cost) -> list[str]:
    cells = [f"{cost.rows:,}", *cost.report.cells, f"{cost.duckdb_cpu_s:.2f}"]
    if before is None:
        return [*cells, "-", "-", "-"]
    rows = cost.rows - before.rows
    ours = (cost.report.cpu_s - before.report.cpu_s) / rows
    theirs = (cost.duckdb_cpu_s - before.duckdb_cpu_s) / rows
    return [*cells, f"{ours * 1e6:.1f}", f"{theirs * 1e6:.2f}", f"{ours / theirs:.1f}"]


def _cost(rows: int, options: tuple[str, ...]) -> Cost:
    with tempfile.TemporaryDirectory(prefix="jbodlab-analytics-") as folder:
        dump = Path(folder, "dump")
        written = write_made_up_dump(dump, rows)
        where = ("--dump", str(dump), "--out", str(Path(folder, "out")))
        report = _run(("-m", analytics.__name__, *where, "--json", *options))
        began = time.process_time()
        tables_of(dump)
        return Cost(written, report, time.process_time() - began)


def _spark_alone() -> Ran:
    with tempfile.TemporaryDirectory(prefix="jbodlab-analytics-") as folder:
        return _run(("-c", _SPARK_ALONE, str(Path(folder, "sums"))))


def _run(arguments: tuple[str, ...]) -> Ran:
    """Run Python; ClickException, with all that it said, if that ends otherwise than well."""
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=said
        )
        used: dict[int, Usage] = {}
        while process.poll() is None:
            used |= used_by(process.pid)
            time.sleep(_LOOK_EVERY_S)
        wall_s = time.monotonic() - began
        if process.returncode != 0:
            said.seek(0)
            text = said.read().decode(errors="replace")
            raise click.ClickException(f"Spark ended with {process.returncode}: {text}")
    cpu_s = sum(each.cpu_s for each in used.values())
    return Ran(wall_s, cpu_s, max(each.peak_kib for each in used.values()) / 1024)


def used_by(pid: int) -> dict[int, Usage]:
    """Return what a process and all below it that live used; by process."""
    process = Path(f"/proc/{pid}")
    try:
        stat = (process / "stat").read_text().rpartition(")")[2].split()
        peak = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
        tasks = list((process / "task").iterdir())
    except OSError:  # It has ended.
        return {}
    children: list[str] = []
    for task in tasks:
        with suppress(OSError):  # This thread has ended.
            children += (task / "children").read_text().split()
    cpu_s = (int(stat[11]) + int(stat[12])) / _TICKS_PER_S
    used = {pid: Usage(cpu_s, int(peak[1]) if peak else 0)}
    for child in children:
        used |= used_by(int(child))
    return used


if __name__ == "__main__":
    main()
