"""What the driver of a report holds, by rows: ``python -m benchmarks.analytics_driver``.

A worker of a standalone cluster on loopback runs all tasks in a Java of its own, so that the
driver's two processes hold what a driver holds: its Java plans, and Python keeps the rows that are
shown. While the report runs, the driver's Java collects all garbage each 2 s and writes down what
that left: the largest of those is what it needs, whatever it takes. The largest table that a join
sent to all executors went through it, too. Each report has a driver and a worker of its own; the
smallest dump of several comes twice: the difference of those two is noise.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from analytics.job import Wanted, run_job
from analytics.session import find_java, start_session
from benchmarks.made_up_dump import write_made_up_dump
from benchmarks.spark_cluster import spark_cluster, spark_environment
from benchmarks.spark_status import sent_to_all, stages_of

SIZES: Final = (100_000, 1_000_000, 10_000_000)
_LOOK_EVERY_S: Final = 2.0
_LEFT: Final = re.compile(r"Pause Full .*->(\d+)M\(")
"""What Java's log says of a collection of all garbage."""


class Held(NamedTuple):
    """What one report's driver held; MiB."""

    wall_s: float
    heap_largest: float
    """Of Java, right after the collection of all garbage that left most."""
    heap_last: float
    """The same when the report was made."""
    sent_largest: float
    """The largest table that a join sent to all executors, as the driver made it."""
    java_peak: float
    """Resident, garbage included."""
    python_begun: float
    """Resident when Spark was there."""
    python_peak: float
    results: float
    """Of all tasks, as they came over the wire."""
    tasks: int


@click.command()
@click.option("--rows", type=int, multiple=True, default=SIZES, show_default=True)
@click.option("--parts", default=4, show_default=True, help="Tasks of a shuffle.")
@click.option("--plain", "is_plain", is_flag=True, help="Without facts, answers and pictures.")
@click.option("--runs", default=2, show_default=True, help="In each dump; rows are of them all.")
def main(rows: tuple[int, ...], *, parts: int, is_plain: bool, runs: int) -> None:
    """Measure what the driver holds, of dumps of so many rows."""
    find_java()
    os.environ.update(spark_environment())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--conf spark.sql.shuffle.partitions={parts} pyspark-shell"
    table = Table(title="the driver of a report, MiB", title_justify="left")
    names = (
        "rows",
        "report s",
        "heap MiB",
        "at end",
        "sent to all",
        "Java RSS",
        "Python",
        "Python RSS",
        "results",
    )
    for name in (*names, "tasks"):
        table.add_column(name, justify="right")
    for size in (min(rows), *sorted(rows)) if len(rows) > 1 else rows:
        table.add_row(*_measured(size, runs, is_plain=is_plain))
    Console(width=120).print(table)


def _measured(rows: int, runs: int, *, is_plain: bool) -> list[str]:
    """Return the cells of a line of the table."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-driver-") as folder:
        written = write_made_up_dump(Path(folder, "dump"), rows, runs=runs)
        spawned = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawned) as driver:
            held = driver.submit(_held, Path(folder), is_plain=is_plain).result()
    wall_s, *sizes, tasks = held
    return [f"{written:,}", f"{wall_s:.0f}", *(f"{size:.1f}" for size in sizes), str(tasks)]


def _held(folder: Path, *, is_plain: bool) -> Held:
    """Make a report in this process; return what its Java and its Python held."""
    log = folder / "collections"
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-java-options -Xlog:gc:file={log} {os.environ['PYSPARK_SUBMIT_ARGS']}"
    )
    with spark_cluster(folder / "executors", workers=1) as cluster:
        spark = start_session(cluster.url)
        try:
            begun, began = _python_mib("VmRSS"), time.monotonic()
            with _collecting(spark):
                wanted = Wanted(is_plain=is_plain)
                run_job(spark, str(folder / "dump"), str(folder / "out"), wanted)
                wall_s = time.monotonic() - began
            heaps = [float(left) for left in _LEFT.findall(log.read_text())]
            results_bytes, tasks = _results(spark)
            java = _mib("VmHWM", _gateway(spark).proc.pid)
            python = begun, _python_mib("VmHWM")
            sent = max(sent_to_all(spark), default=0) / 2**20
            sizes = max(heaps), heaps[-1], sent, java, *python, results_bytes / 2**20
            return Held(wall_s, *sizes, tasks)
        finally:
            spark.stop()


@contextmanager
def _collecting(spark: SparkSession) -> Generator[None]:
    """Have the driver's Java collect all its garbage again and again in a block, and at its end."""
    is_over = Event()

    def collect() -> None:
        system = getattr(_java(spark), "java.lang.System")
        while not is_over.wait(_LOOK_EVERY_S):
            system.gc()
        system.gc()

    collector = Thread(target=collect)
    collector.start()
    try:
        yield
    finally:
        is_over.set()
        collector.join()


# Any: Java's objects.
def _results(spark: SparkSession) -> tuple[int, int]:
    """Return the bytes of the results of all tasks, and how many tasks there were."""
    each = stages_of(spark)
    return sum(stage.resultSize() for stage in each), sum(stage.numTasks() for stage in each)


def _java(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._jvm  # noqa: SLF001


def _gateway(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext
    return context._gateway  # noqa: SLF001


def _python_mib(name: str) -> float:
    return _mib(name, os.getpid())


def _mib(name: str, pid: int) -> float:
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
