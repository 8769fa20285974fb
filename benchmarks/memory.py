"""Whether memory stays flat: ``python -m benchmarks.memory [--minutes 10]``.

Three brokers take what a producer sends and a consumer reads it all again, with retention at work;
the resident set of every process is read every second. The slope is that of a line through the
samples after the first quarter, when caches are full.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console
from rich.table import Table

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec

TOPIC: Final = "memory"
PARTITIONS: Final = 6
RECORD_BYTES: Final = 1024
SLOPE_MAX_MB_PER_MIN: Final = 0.5
"""A process that grows faster is not flat: 30 MB an hour."""
_BATCH_COUNT: Final = 200
_CONFIGS: Final = {
    "retention.bytes": str(32 << 20),
    "segment.bytes": str(8 << 20),
    "min.insync.replicas": "2",
}
_BROKER_CONFIGS: Final = {
    "log.retention.check.interval.ms": "2000",
    "log.segment.delete.delay.ms": "1000",
    "log.initial.task.delay.ms": "1000",
}


class Growth(NamedTuple):
    """How the resident set of one process went."""

    name: str
    first_mb: float
    last_mb: float
    largest_mb: float
    slope_mb_per_min: float

    @property
    def is_flat(self) -> bool:
        """Whether the slope is within its bound."""
        return self.slope_mb_per_min <= SLOPE_MAX_MB_PER_MIN


class Work:
    """Produces at a bounded rate and consumes everything, each in a thread of its own."""

    def __init__(self, bootstrap: str, records_per_s: int) -> None:
        self._bootstrap = bootstrap
        self._records_per_s = records_per_s
        self._stopped = threading.Event()
        self.produced = 0
        self.consumed = 0
        self._threads = [threading.Thread(target=each) for each in (self._produce, self._consume)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End and wait."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _produce(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0}
        )
        batch: list[dict[str, Any]] = [{"value": bytes(RECORD_BYTES)}] * _BATCH_COUNT
        while not self._stopped.wait(_BATCH_COUNT / self._records_per_s):
            partition = self.produced // _BATCH_COUNT % PARTITIONS
            self.produced += producer.produce_batch(TOPIC, batch, partition=partition)
            producer.poll(0)
        producer.flush(30)

    def _consume(self) -> None:
        config = {"bootstrap.servers": self._bootstrap, "group.id": "memory", "log_level": 0}
        consumer = Consumer(config | {"auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
        while not self._stopped.is_set():
            self.consumed += len(consumer.consume(2000, timeout=0.5))
        consumer.close()


def growth_of(name: str, samples_mb: Sequence[float], period_s: float) -> Growth:
    """Fit a line through the samples after the first quarter."""
    settled = samples_mb[len(samples_mb) // 4 :]
    middle, mean = (len(settled) - 1) / 2, sum(settled) / len(settled)
    spread = sum((number - middle) ** 2 for number in range(len(settled)))
    rise = sum((number - middle) * (each - mean) for number, each in enumerate(settled))
    slope = rise / spread / period_s * 60 if spread else 0.0
    return Growth(name, settled[0], samples_mb[-1], max(samples_mb), slope)


def sample(cluster: Cluster, seconds: float) -> dict[str, list[float]]:
    """Read the resident set of every process every second."""
    found: dict[str, list[float]] = {name: [] for name in cluster.processes}
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        for name, process in cluster.processes.items():
            found[name].append(process.rss_bytes() / 1e6)
        time.sleep(1)
    return found


def measure(minutes: float, records_per_s: int) -> tuple[list[Growth], Mapping[str, int]]:
    """Run the work on a cluster of its own."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        cluster = Cluster(write_lab_spec(Path(root), LabShape(configs=_BROKER_CONFIGS)))
        with running(cluster), ClusterAdmin(cluster.spec) as admin:
            topic = TopicSpec(
                name=TOPIC, partitions=PARTITIONS, replication_factor=3, configs=_CONFIGS
            )
            admin.create_topic(topic)
            work = Work(",".join(cluster.bootstrap_servers), records_per_s)
            work.start()
            try:
                samples = sample(cluster, minutes * 60)
            finally:
                work.stop()
            counts = {"produced": work.produced, "consumed": work.consumed}
            counts["log bytes"] = sum(
                replica.size_bytes
                for broker in cluster.spec.brokers
                for view in admin.log_dirs(broker.id)
                for replica in view.replicas
            )
    return [growth_of(name, each, 1.0) for name, each in samples.items()], counts


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="Length of the run.")
@click.option("--rate", default=5000, show_default=True, help="Records a second, 1 KiB each.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, minutes: float, rate: int, as_json: bool) -> None:
    """Tell whether the resident set of every process stays flat; exit code 1 when not."""
    found, counts = measure(minutes, rate)
    if as_json:
        growths = [each._asdict() | {"is_flat": each.is_flat} for each in found]
        click.echo(json.dumps({"processes": growths, **counts}, indent=1))
    else:
        _print(found, counts)
    sys.exit(int(not all(each.is_flat for each in found)))


def _print(found: Sequence[Growth], counts: Mapping[str, int]) -> None:
    table = Table("process", "after a quarter, MB", "last, MB", "largest, MB", "MB/min", "verdict")
    for each in found:
        numbers = (each.first_mb, each.last_mb, each.largest_mb, each.slope_mb_per_min)
        cells = [f"{number:.2f}" for number in numbers]
        table.add_row(each.name, *cells, "flat" if each.is_flat else "[red]grows")
    table.title = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    console = Console()
    Console(width=None if console.is_terminal else 110).print(table)


if __name__ == "__main__":
    main()
