"""The same report by one worker and by two: ``python -m benchmarks.analytics_cluster``.

A standalone cluster runs on loopback, each worker with one core; the driver and the workers share
this machine. Java of a worker counts one processor, too, or its collections of garbage would take
two. The first reports of each cluster warm Java up, the later ones count. Each worker's Java
compiles all code for itself: as quickly as it can that is over with the first report, as well as it
can (``--workers-java ""``) it takes a share of the processor for more than ten. Two workers cannot
be quicker than half of what they and the driver take of the processor, nor than what is left when
less than two tasks run.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from pyspark.sql import SparkSession

from analytics.job import Wanted, run_job
from analytics.session import find_java, start_session
from benchmarks.analytics import used_by
from benchmarks.made_up_dump import write_made_up_dump
from benchmarks.spark_cluster import spark_cluster, spark_environment
from benchmarks.spark_status import at_once, last_stage, task_times

WORKERS: Final = (1, 2)


class Took(NamedTuple):
    """What one report took."""

    wall_s: float
    tasks_s: float
    """How long all tasks ran, by the clock: beside each other."""
    workers_cpu_s: float
    """Of the workers' Java: it runs tasks and compiles."""
    driver_cpu_s: float
    """Of the driver's Java: it plans, compiles and lists files."""
    idle_s: float
    """While no task ran."""
    one_task_s: float
    """While one task ran."""
    task_count: int


@click.command()
@click.option("--rows", default=200_000, show_default=True, help="Of the made-up dump.")
@click.option("--warm-up", default=3, show_default=True, help="Reports that do not count.")
@click.option("--rounds", default=2, show_default=True, help="Reports that count.")
@click.option("--parts", default=4, show_default=True, help="Tasks of a shuffle.")
@click.option(
    "--workers-java",
    default="-XX:TieredStopAtLevel=1",
    show_default=True,
    help="Options of the workers' Java, beside that it has one processor.",
)
def main(*, rows: int, warm_up: int, rounds: int, parts: int, workers_java: str) -> None:
    """Measure reports without answers and pictures (--plain) by one worker and by two."""
    find_java()
    os.environ.update(spark_environment())
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--conf spark.sql.shuffle.partitions={parts} "
        '--conf "spark.executor.extraJavaOptions='
        f'-XX:ActiveProcessorCount=1 {workers_java}" pyspark-shell'
    )
    with tempfile.TemporaryDirectory(prefix="jbodlab-cluster-") as folder:
        written = write_made_up_dump(Path(folder, "dump"), rows)
        took = partial(_took, Path(folder), warm_up=warm_up, rounds=rounds)
        walls_s = [_shown_s(written, workers, took(workers)) for workers in WORKERS]
    click.echo(f"two are {walls_s[0] / walls_s[1]:.2f} times as fast as one")


def _shown_s(written: int, workers: int, took: Took) -> float:
    """Say what the quickest report by so many workers took; return its seconds."""
    click.echo(
        f"{written:,} rows, {workers} worker(s) of one core: {took.wall_s:.1f} s, "
        f"in which {took.task_count} tasks ran for {took.tasks_s:.1f} s, "
        f"none for {took.idle_s:.1f} s, one alone for {took.one_task_s:.1f} s; "
        f"processor: workers {took.workers_cpu_s:.1f} s, driver {took.driver_cpu_s:.1f} s"
    )
    return took.wall_s


def _took(folder: Path, workers: int, *, warm_up: int, rounds: int) -> Took:
    """Make the reports that warm Java up and ``rounds`` more; return what the quickest took."""
    with spark_cluster(folder / "executors", workers) as cluster:
        spark = start_session(cluster.url)
        try:
            return min([_report(spark, folder) for _ in range(warm_up + rounds)][warm_up:])
        finally:
            spark.stop()


def _report(spark: SparkSession, folder: Path) -> Took:
    stage, before, began = last_stage(spark), _processor(spark), time.monotonic()
    run_job(spark, str(folder / "dump"), str(folder / "out"), Wanted(is_plain=True))
    wall_s = time.monotonic() - began
    workers_cpu_s, driver_cpu_s = (
        now - then for now, then in zip(_processor(spark), before, strict=True)
    )
    times = task_times(spark, after=stage)
    ran_s = {count: ms / 1000 for count, ms in at_once(times).items() if count}
    tasks_s = sum(count * seconds for count, seconds in ran_s.items())
    idle_s = wall_s - sum(ran_s.values())
    of_tasks = idle_s, ran_s.get(1, 0.0), len(times)
    return Took(wall_s, tasks_s, workers_cpu_s, driver_cpu_s, *of_tasks)


def _processor(spark: SparkSession) -> tuple[float, float]:
    """Return the seconds of workers and of the driver on the processor so far."""
    context: Any = spark.sparkContext
    driver: int = context._gateway.proc.pid  # noqa: SLF001
    used = used_by(os.getpid())
    rest = [each.cpu_s for pid, each in used.items() if pid not in {os.getpid(), driver}]
    return sum(rest), used[driver].cpu_s


if __name__ == "__main__":
    main()
