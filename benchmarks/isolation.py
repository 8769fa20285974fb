"""What a slow or hanging log dir does to its neighbours: ``python -m benchmarks.isolation``.

One broker with three log dirs and one partition in each; a client sends 1 KiB with acks=1 to each,
one request at a time, first undisturbed, then with one log dir at fault. It prints the p99 and the
longest of the two good ones before and after; the runs without a fault show the noise. Once with a
connection for each partition, once with one for all: there answers come in the order of requests,
so a slow one holds up the rest.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.errors import ErrorCode
from protocol.faults.model import broker_node
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.records.build import NewRecord, build_batch
from protocol.transport.rpc_client import RpcClient

TOPIC: Final = "isolated"
BROKER: Final = 1
DEADLINE_MS: Final = 4000
SLOW_MS: Final = 2000
_VERSION: Final = 9
_RECORD: Final = bytes(1024)
_TIMEOUT_MS: Final = 60_000


@dataclass(slots=True)
class Dirs:
    """Which partition lies where."""

    paths: dict[int, str]
    bad: int
    """The partition whose log dir gets the fault."""

    @property
    def good(self) -> list[int]:
        """The partitions on the other log dirs."""
        return [partition for partition in self.paths if partition != self.bad]


@dataclass(slots=True)
class Run:
    """What the client saw."""

    before_ms: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    """By partition: how long each answer took."""
    after_ms: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    """Of requests sent after the fault was set."""
    is_disturbed: bool = False
    refused: dict[int, int] = field(default_factory=dict[int, int])
    largest_rss_mb: float = 0.0
    offline_after_s: float | None = None
    was_known: bool = True
    """Whether the broker stayed registered all the time."""


def p99_ms(latencies_ms: dict[int, list[float]], partitions: Sequence[int]) -> tuple[float, float]:
    """Return the 99th percentile and the longest of the answers of these partitions."""
    times = sorted(each for one in partitions for each in latencies_ms.get(one, []))
    return (times[int(len(times) * 0.99)], times[-1]) if times else (float("inf"), float("inf"))


def request_for(partition: int) -> ProduceRequest:
    """Return a request with one record."""
    batch = build_batch([NewRecord(_RECORD, timestamp_ms=int(time.time_ns() // 1_000_000))])
    data = PartitionProduceData(index=partition, records=memoryview(batch))
    return ProduceRequest(
        transactional_id=None,
        acks=1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
    )


async def keep_sending(client: RpcClient, partition: int, run: Run, until_s: float) -> None:
    """Send one record after the other; what is refused is counted apart."""
    while time.perf_counter() < until_s:
        started_s = time.perf_counter()
        phase = run.after_ms if run.is_disturbed else run.before_ms
        answer: ProduceResponse = await client.request(
            request_for(partition), _VERSION, timeout_ms=_TIMEOUT_MS
        )
        code = answer.responses[0].partition_responses[0].error_code
        if code == ErrorCode.NONE:
            took_ms = (time.perf_counter() - started_s) * 1000
            phase.setdefault(partition, []).append(took_ms)
        else:
            run.refused[partition] = run.refused.get(partition, 0) + 1
            await asyncio.sleep(0.01)


class Bench:
    """One cluster of one broker."""

    def __init__(self, cluster: Cluster, admin: ClusterAdmin) -> None:
        self._cluster = cluster
        self._admin = admin
        spec = cluster.spec.broker(BROKER)
        self._address = (spec.advertised_host, spec.advertised_port)
        self._control = ControlClient(BROKER, spec.control_port)

    def place(self) -> Dirs:
        """Create the topic; its partitions are spread over the log dirs."""
        self._admin.create_topic(
            TopicSpec(name=TOPIC, partitions=3, replication_factor=1, configs={})
        )
        self._cluster.wait_until(
            lambda admin: len(admin.any_view([TOPIC]).partitions) == 3, "the topic is there"
        )
        paths = {
            replica.partition: view.path
            for view in self._admin.log_dirs(BROKER)
            for replica in view.replicas
        }
        assert len({*paths.values()}) == 3, paths
        return Dirs(paths, bad=2)

    async def run(self, dirs: Dirs, seconds: float, *, fault: str | None, shared: bool) -> Run:
        """Load all partitions; set the fault when half of the time is over."""
        run = Run()
        host, port = self._address
        count = 1 if shared else len(dirs.paths)
        clients = [RpcClient(host=host, port=port, client_id="bench") for _ in range(count)]
        until_s = time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            for partition in dirs.paths:
                client = clients[partition % count]
                group.create_task(keep_sending(client, partition, run, until_s))
            group.create_task(asyncio.to_thread(self._watch, dirs, run, until_s, fault))
        for client in clients:
            client.close()
        return run

    def _watch(self, dirs: Dirs, run: Run, until_s: float, fault: str | None) -> None:
        """Set the fault, then look at the broker ten times a second."""
        process = self._cluster.processes[broker_node(BROKER)]
        path = dirs.paths[dirs.bad]
        options = {"delay_ms": SLOW_MS} if fault == "slow" else {}
        time.sleep((until_s - time.perf_counter()) / 2)
        set_s = time.perf_counter()
        run.is_disturbed = True
        if fault is not None:
            self._control.fail(path, fault, **options)
        while time.perf_counter() < until_s:
            time.sleep(0.1)
            run.largest_rss_mb = max(run.largest_rss_mb, process.rss_bytes() / 1e6)
            run.was_known &= self._is_known()
            if run.offline_after_s is None and not self._is_online(path):
                run.offline_after_s = time.perf_counter() - set_s

    def _is_known(self) -> bool:
        return BROKER in self._admin.any_view([]).broker_ids

    def _is_online(self, path: str) -> bool:
        return any(one["path"] == path and one["online"] for one in self._control.log_dirs())


def measure(fault: str | None, seconds: float, *, shared: bool) -> tuple[Dirs, Run]:
    """Run one case on a cluster of its own."""
    configs = {"jbodlab.log.dir.io.deadline.ms": str(DEADLINE_MS)}
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        cluster = Cluster(write_lab_spec(Path(root), LabShape(brokers=1, configs=configs)))
        try:
            cluster.start()
            with ClusterAdmin(cluster.spec) as admin:
                bench = Bench(cluster, admin)
                dirs = bench.place()
                run = asyncio.run(bench.run(dirs, seconds, fault=fault, shared=shared))
        finally:
            cluster.stop()
    return dirs, run


def rows(seconds: float) -> list[dict[str, object]]:
    """Measure every case."""
    cases = [(shared, fault) for shared in (False, True) for fault in (None, "slow", "hang")]
    return [
        row_of(*measure(fault, seconds, shared=shared), fault, shared=shared)
        for shared, fault in cases
    ]


def row_of(dirs: Dirs, run: Run, fault: str | None, *, shared: bool) -> dict[str, object]:
    """Return one row: the good log dirs before and after the fault."""
    (quiet_ms, _), (p99, longest_ms) = (
        p99_ms(one, dirs.good) for one in (run.before_ms, run.after_ms)
    )
    return {
        "connections": "one for all" if shared else "one each",
        "fault": fault or "none",
        "p99 before, ms": round(quiet_ms, 2),
        "p99 after, ms": round(p99, 2),
        "ratio": round(p99 / quiet_ms, 2),
        "longest, ms": round(longest_ms, 1),
        "offline after, s": run.offline_after_s and round(run.offline_after_s, 2),
        "registered": run.was_known,
        "RSS, MB": round(run.largest_rss_mb, 1),
    }


@click.command()
@click.option(
    "--seconds",
    default=20.0,
    show_default=True,
    help="Length of each run; the fault comes in its middle.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, seconds: float, as_json: bool) -> None:
    """Measure what a slow and a hanging log dir cost the others of the same broker."""
    found = rows(seconds)
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    table = Table(*found[0], title="produce to the two good log dirs of one broker, acks=1, 1 KiB")
    for row in found:
        table.add_row(*(str(cell) for cell in row.values()))
    console = Console()
    Console(width=None if console.is_terminal else 110).print(table)


if __name__ == "__main__":
    main()
