"""``python -m benchmarks.python_api``: what a test suite pays for ``jbodlab.Cluster``, in ms.

Prints the median of each step over ``--rounds``; a reset follows a test that made a topic, and one
that failed a disk under it, too.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager

import click

import jbodlab


class Steps:
    """How long steps took, by name."""

    def __init__(self) -> None:
        self.times_ms: dict[str, list[float]] = {}

    @contextmanager
    def timed(self, name: str) -> Generator[None]:
        """Note how long a block takes."""
        began = time.perf_counter()
        yield
        self.times_ms.setdefault(name, []).append((time.perf_counter() - began) * 1000)


def _fail_a_disk(cluster: jbodlab.Cluster) -> None:
    log_dir = cluster.log_dir_of("orders")
    log_dir.fail()
    cluster.wait_for_leader("orders", other_than=log_dir.broker_id)


@click.command()
@click.option("--rounds", default=10, show_default=True, type=click.IntRange(min=1))
@click.option("--brokers", default=3, show_default=True, type=click.IntRange(min=1))
def main(rounds: int, brokers: int) -> None:
    """Start a cluster, make topics, fail disks, reset, stop."""
    steps = Steps()
    cluster = jbodlab.Cluster(
        brokers=brokers, configs={"replica.high.watermark.checkpoint.interval.ms": "100"}
    )
    with steps.timed("start"):
        cluster.start()
    for _ in range(rounds):
        with steps.timed("create a topic of 6 partitions"):
            cluster.create_topic("orders", 6)
        with steps.timed("reset after a topic"):
            cluster.reset()
        cluster.create_topic("orders", 6)
        if brokers > 1:
            with steps.timed("fail a leader's log dir, to a new leader"):
                _fail_a_disk(cluster)
            with steps.timed("reset after a failed log dir"):
                cluster.reset()
        cluster.reset()
    with steps.timed("stop"):
        cluster.stop()
    for name, times_ms in steps.times_ms.items():
        click.echo(f"{name:45} {statistics.median(times_ms):8.0f} ms")


if __name__ == "__main__":
    main()
