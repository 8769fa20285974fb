"""The same report by one worker and by two: ``python -m benchmarks.analytics_cluster``.

A standalone cluster runs on loopback, each worker with one core; the driver and the workers share
this machine. The first report of each cluster warms Java up, the later ones count.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click

from analytics.job import Wanted, run_job
from analytics.session import find_java, start_session
from benchmarks.made_up_dump import write_made_up_dump
from benchmarks.spark_cluster import spark_cluster, spark_environment

WORKERS: Final = (1, 2)


@click.command()
@click.option("--rows", default=200_000, show_default=True, help="Of the made-up dump.")
@click.option("--rounds", default=2, show_default=True, help="Reports after the first.")
@click.option("--parts", default=4, show_default=True, help="Tasks of a shuffle.")
def main(*, rows: int, rounds: int, parts: int) -> None:
    """Measure reports without answers and pictures (--plain) by one worker and by two."""
    find_java()
    os.environ.update(spark_environment())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--conf spark.sql.shuffle.partitions={parts} pyspark-shell"
    with tempfile.TemporaryDirectory(prefix="jbodlab-cluster-") as folder:
        written = write_made_up_dump(Path(folder, "dump"), rows)
        took_s = {workers: _took_s(Path(folder), workers, rounds) for workers in WORKERS}
    for workers, (wall_s, tasks_s) in took_s.items():
        click.echo(
            f"{written:,} rows, {workers} worker(s) of one core: {wall_s:.1f} s, "
            f"in which tasks ran for {tasks_s:.1f} s"
        )
    click.echo(f"two are {took_s[1][0] / took_s[2][0]:.2f} times as fast as one")


def _took_s(folder: Path, workers: int, rounds: int) -> tuple[float, float]:
    """Return the seconds of the quickest report, by the clock and of all of its tasks."""
    with spark_cluster(folder / "executors", workers) as cluster:
        spark = start_session(cluster.url)
        context: Any = spark.sparkContext
        store: Any = context._jsc.sc().statusStore()  # noqa: SLF001
        found: list[tuple[float, float]] = []
        try:
            before_s = 0.0
            for _ in range(rounds + 1):
                began = time.monotonic()
                run_job(spark, str(folder / "dump"), str(folder / "out"), Wanted(is_plain=True))
                wall_s = time.monotonic() - began
                tasks_s = _tasks_s(store)
                found.append((wall_s, tasks_s - before_s))
                before_s = tasks_s
        finally:
            spark.stop()
    return min(found[1:])


def _tasks_s(store: Any) -> float:
    """Return how long all tasks have run so far."""
    executors: Any = store.executorList(False)  # noqa: FBT003 - Java
    count: int = executors.size()
    durations_ms: list[int] = [executors.apply(place).totalDuration() for place in range(count)]
    return sum(durations_ms) / 1000


if __name__ == "__main__":
    main()
