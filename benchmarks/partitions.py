"""Many partitions on one broker: ``python -m benchmarks.partitions [--count 5000]`` prints a table.

Creates them, writes a record to each, stops the broker cleanly and starts it, then kills it and
starts it; measures each start (the processor time tells more than the clock on a
busy machine), idleness and memory. A cluster of its own.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
import psutil
from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from benchmarks.runs import Figure
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.faults.model import broker_node

TOPIC = "many"
BROKER = 1
DEADLINE_MS = 120_000


@click.command()
@click.option("--count", default=5000, show_default=True, help="Partitions on the broker.")
@click.option("--idle-seconds", default=20.0, show_default=True, help="How long to look at it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, count: int, idle_seconds: float, as_json: bool) -> None:
    """Measure creation, starts and idleness of one broker with many partitions."""
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        cluster = Cluster(write_lab_spec(Path(root), LabShape(brokers=1)))
        cluster.start()
        try:
            with console.status(f"{count} partitions"):
                figures = _measure(cluster, count, idle_seconds)
        finally:
            cluster.stop()
    if as_json:
        click.echo(
            json.dumps(
                [{"name": one.name, "value": one.value, "unit": one.unit} for one in figures]
            )
        )
        return
    table = Table("measure", "unit", "jbodlab", title=f"one broker with {count} partitions")
    for figure in figures:
        table.add_row(figure.name, figure.unit, f"{figure.value:.3g}")
    Console().print(table)


def _measure(cluster: Cluster, count: int, idle_seconds: float) -> list[Figure]:
    figures = [Figure("create", _create(cluster, count), "s", "lower")]
    figures.append(Figure("a record to each", _fill(cluster, count), "s", "lower"))
    figures += _idle(cluster, idle_seconds, "after creating")
    began = time.monotonic()
    cluster.stop([broker_node(BROKER)])
    figures.append(Figure("clean stop", time.monotonic() - began, "s", "lower"))
    figures += _start(cluster, count, "after a clean stop")
    figures += _idle(cluster, idle_seconds, "after a start")
    cluster.kill(broker_node(BROKER))
    figures += _start(cluster, count, "after a kill")
    return figures


def _create(cluster: Cluster, count: int) -> float:
    began = time.monotonic()
    with ClusterAdmin(cluster.spec, timeout_ms=DEADLINE_MS) as admin:
        admin.create_topic(
            TopicSpec(name=TOPIC, partitions=count, replication_factor=1, configs={})
        )
    _wait_for_leaders(cluster, count)
    return time.monotonic() - began


def _fill(cluster: Cluster, count: int) -> float:
    began = time.monotonic()
    producer = Producer({"bootstrap.servers": ",".join(cluster.bootstrap_servers), "linger.ms": 50})
    for partition in range(count):
        producer.produce(TOPIC, b"x" * 100, partition=partition)
        producer.poll(0)
    assert producer.flush(DEADLINE_MS / 1000) == 0
    return time.monotonic() - began


def _start(cluster: Cluster, count: int, when: str) -> list[Figure]:
    """Start the broker; measure to its registration and to the last partition having a leader."""
    began = time.monotonic()
    cluster.start_broker(BROKER, DEADLINE_MS)
    registered_s = time.monotonic() - began
    _wait_for_leaders(cluster, count)
    led_s = time.monotonic() - began
    used = psutil.Process(cluster.processes[broker_node(BROKER)].pid).cpu_times()
    return [
        Figure(f"start {when}: registered", registered_s, "s", "lower"),
        Figure(f"start {when}: all led", led_s, "s", "lower"),
        Figure(f"start {when}: processor time", used.user + used.system, "s", "lower"),
    ]


def _wait_for_leaders(cluster: Cluster, count: int) -> None:
    def led(admin: ClusterAdmin) -> bool:
        partitions = admin.view(BROKER, [TOPIC]).partitions
        return len(partitions) == count and all(one.leader == BROKER for one in partitions)

    cluster.wait_until(led, f"{count} partitions are led", DEADLINE_MS)


def _idle(cluster: Cluster, seconds: float, when: str) -> list[Figure]:
    """Look at the broker while nobody asks it anything."""
    process = psutil.Process(cluster.processes[broker_node(BROKER)].pid)
    time.sleep(2)  # What the work before left behind is over then.
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    used_s = after.user + after.system - before.user - before.system
    return [
        Figure(f"idle {when}", 100 * used_s / seconds, "% of a core", "lower"),
        Figure(f"resident {when}", process.memory_info().rss / 1e6, "MB", "lower"),
    ]


if __name__ == "__main__":
    main()
