"""``python -m benchmarks.start``: what `jbodlab up` takes, and what stands there afterwards.

Per round a cluster of three brokers with three log dirs and a topic in its file: seconds and
processor seconds from the command to the first record that is acknowledged by all replicas, tried
for every few ms, and to the end of `up`. Processor time counts every process of the cluster and the
command's own, so that it tells something on a busy machine, too. Then, idle, with a group that has
committed an offset and the HTTP API asked once, the proportional set size (PSS) of all processes
together: pages that they share count once. Pages of files that processes of others have mapped,
too, count in part: be alone with the interpreter for that. A round goes before that is not counted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import psutil
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.http_api_process import http_api_address
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from jbodlab.processes.run_state import read_notes, run_dir
from protocol.cluster_file.spec import ClusterSpec, TopicSpec
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.build import build_batches

_TOPIC: Final = TopicSpec(name="first", partitions=1, replication_factor=3, configs={})
_PRODUCE_VERSION: Final = 9
_DEADLINE_S: Final = 60
_TRY_EVERY_S: Final = 0.01
_IDLE_S: Final = 5


class Round(NamedTuple):
    """One start: seconds from the command on, processor seconds of all processes, and bytes."""

    produced_s: float
    produced_processor_s: float
    up_s: float
    up_processor_s: float
    pss_bytes: float


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1))
def main(rounds: int) -> None:
    """Start clusters and print the medians."""
    _round()  # Of a fresh checkout it compiles modules.
    measured = [_round() for _ in range(rounds)]
    lines = {
        "command to the first acknowledged record": ("produced_s", "s", 1),
        "processor time until then": ("produced_processor_s", "s", 1),
        "command to its end": ("up_s", "s", 1),
        "processor time until then, HTTP API included": ("up_processor_s", "s", 1),
        "PSS of all processes, idle": ("pss_bytes", "MB", 1e6),
    }
    for words, (field, unit, scale) in lines.items():
        values = sorted(getattr(each, field) / scale for each in measured)
        digits = 0 if unit == "MB" else 2
        click.echo(
            f"{words:46} {statistics.median(values):6.{digits}f} {unit:2} "
            f"({values[0]:.{digits}f} to {values[-1]:.{digits}f})"
        )


def _round() -> Round:
    with tempfile.TemporaryDirectory(prefix="jbodlab-start-") as folder:
        file = write_lab_spec(Path(folder), LabShape(topics=(_TOPIC,)))
        spec = Cluster(file).spec
        command = [sys.executable, "-m", "jbodlab", "up", "--config", str(file)]
        began = time.perf_counter()
        up = psutil.Popen(command, stdout=subprocess.DEVNULL, env=_compiling())
        try:
            _produce(spec)
            produced_s, produced_processor_s = time.perf_counter() - began, _processor_s(up, file)
            while up.status() != psutil.STATUS_ZOMBIE:
                time.sleep(_TRY_EVERY_S)
            up_s = time.perf_counter() - began
            cluster = Cluster(file)
            address = http_api_address(cluster)
            _ask(f"{address}/cluster")
            up_processor_s = _processor_s(up, file)
            _commit(cluster)
            time.sleep(_IDLE_S)
            pss_bytes = sum(psutil.Process(pid).memory_full_info().pss for pid in _pids(file))
        finally:
            up.wait()
            Cluster(file).stop()
        return Round(produced_s, produced_processor_s, up_s, up_processor_s, pss_bytes)


def _compiling() -> dict[str, str]:
    """Return an environment in which compiled modules are kept, as where jbodlab is installed."""
    return {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _produce(spec: ClusterSpec) -> None:
    """Try until a record is acknowledged by all replicas."""
    records = bytes(build_batches([b"first"]))
    data = PartitionProduceData(index=0, records=records)
    topics = [TopicProduceData(name=_TOPIC.name, partition_data=[data])]
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        for broker in spec.brokers:
            client = BlockingClient(broker.advertised_host, broker.advertised_port)
            with suppress(OSError):
                answer = client.request(request, _PRODUCE_VERSION)
                if not answer.responses[0].partition_responses[0].error_code:
                    return
            client.close()
        time.sleep(_TRY_EVERY_S)
    raise RuntimeError(f"no record was acknowledged within {_DEADLINE_S} s")


def _processor_s(up: psutil.Popen, file: Path) -> float:
    """Return what the command, its children and the processes of the cluster have used."""
    found = {up.pid: up.cpu_times()}
    found |= {each.pid: each.cpu_times() for each in up.children(recursive=True)}
    found |= {pid: psutil.Process(pid).cpu_times() for pid in _pids(file)}
    own = found[up.pid]
    reaped_s = own.children_user + own.children_system
    return reaped_s + sum(each.user + each.system for each in found.values())


def _pids(file: Path) -> list[int]:
    return [note.pid for note in read_notes(run_dir(file)).values()]


def _ask(url: str) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url) as answer:
            answer.read()
            return
        time.sleep(_TRY_EVERY_S)
    raise RuntimeError(f"{url} did not answer within {_DEADLINE_S} s")


def _commit(cluster: Cluster) -> None:
    """Commit an offset of a group, so that its coordinator and the log of its offsets are there."""
    consumer: Any = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="g", enable_auto_commit=False
    )
    partition = TopicPartition(_TOPIC.name, 0)
    consumer.assign([partition])
    consumer.commit({partition: OffsetAndMetadata(1, "", -1)})
    consumer.close()


if __name__ == "__main__":
    main()
