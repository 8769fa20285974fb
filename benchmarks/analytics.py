"""Reports of made-up dumps: ``python -m benchmarks.analytics [--rows N ...]`` prints one table.

Each report runs in processes of its own, as ``jbodlab report`` does; DuckDB answers the same
questions (``duckdb_tables``) with one thread, of which facts, answers and pictures have no part:
with ``--plain`` the report leaves them out, too. Processor time is that of all processes together;
the slope between two sizes leaves the start of Spark out.
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
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What one dump cost."""

    rows: int
    wall_s: float
    cpu_s: float
    peak_mib: float
    """The largest memory that one process of the report had resident: Java, where Spark runs."""
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
    # The first one ever keeps Java's classes for all others.
    costs = [_cost(size, options) for size in (min(rows), *sorted(rows))][1:]
    table = Table(title="analytics", title_justify="left")
    names = ("rows", "report s", "processor s", "MiB", "DuckDB s", "us a row", "DuckDB us", "times")
    for name in names:
        table.add_column(name, justify="right")
    for before, cost in zip([None, *costs], costs, strict=False):
        table.add_row(*_cells(before, cost))
    Console(width=100).print(table)


def _cells(before: Cost | None, cost: Cost) -> list[str]:
    cells = [
        f"{cost.rows:,}",
        f"{cost.wall_s:.1f}",
        f"{cost.cpu_s:.1f}",
        f"{cost.peak_mib:.0f}",
        f"{cost.duckdb_cpu_s:.2f}",
    ]
    if before is None:
        return [*cells, "-", "-", "-"]
    rows = cost.rows - before.rows
    ours = (cost.cpu_s - before.cpu_s) / rows
    theirs = (cost.duckdb_cpu_s - before.duckdb_cpu_s) / rows
    return [*cells, f"{ours * 1e6:.1f}", f"{theirs * 1e6:.2f}", f"{ours / theirs:.1f}"]


def _cost(rows: int, options: tuple[str, ...]) -> Cost:
    with tempfile.TemporaryDirectory(prefix="jbodlab-analytics-") as folder:
        dump = Path(folder, "dump")
        written = write_made_up_dump(dump, rows)
        wall_s, used = _report(dump, Path(folder, "out"), options)
        cpu_s = sum(each.cpu_s for each in used)
        peak_mib = max(each.peak_kib for each in used) / 1024
        began = time.process_time()
        tables_of(dump)
        return Cost(written, wall_s, cpu_s, peak_mib, time.process_time() - began)


def _report(dump: Path, out: Path, more: tuple[str, ...]) -> tuple[float, list[Usage]]:
    """Return the wall clock's seconds of one report and what each of its processes used."""
    options = ["--dump", str(dump), "--out", str(out), "--json", *more]
    command = [sys.executable, "-m", analytics.__name__, *options]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    used: dict[int, Usage] = {}
    while process.poll() is None:
        used |= used_by(process.pid)
        time.sleep(_LOOK_EVERY_S)
    if process.returncode != 0:
        raise click.ClickException(f"the report ended with {process.returncode}")
    return time.monotonic() - began, list(used.values())


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
