"""Disk work beside produce: ``python -m benchmarks.moves_under_load`` prints one table.

One broker with three log dirs, a steady load on each. How long produces wait is compared before and
during two kinds of work: 200 moves ordered at once, and the compaction of a log on one dir, which
the load leaves alone. It says nothing about throughput.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click
from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from benchmarks.load import produce
from benchmarks.paced import Latencies, paced
from jbodlab.admin import ClusterAdmin
from jbodlab.cluster import Cluster, running
from jbodlab.lab_spec import LabShape, write_lab_spec
from protocol.config_messages import alter_request
from protocol.config_types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.spec import TopicSpec

BROKER: Final = 1
LOADED: Final = "loaded"
_LOOK_S: Final = 0.1
_DEADLINE_S: Final = 300.0
_SET, _TOPIC = 0, 2
_REMEMBERED: Final = (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_COMPACTED: Final = {"cleanup.policy": "compact", "segment.bytes": str(8 << 20)}


class Row(NamedTuple):
    """One kind of work beside the load."""

    work: str
    before: Latencies
    during: Latencies
    took_s: float


@click.command()
@click.option("--moves", default=200, show_default=True, help="Replicas that move at once.")
@click.option("--mib", default=400, show_default=True, help="Their size in all.")
@click.option("--compact-mib", default=200, show_default=True, help="What the cleaner reads.")
@click.option("--per-second", default=1000, show_default=True, help="Records of 1 KiB.")
@click.option("--seconds", default=5.0, show_default=True, help="How long to look before.")
def main(*, moves: int, mib: int, compact_mib: int, per_second: int, seconds: float) -> None:
    """Measure produce latency beside moves and beside compaction."""
    rows = [
        _moves(moves, mib, per_second, seconds),
        _compaction(compact_mib, per_second, seconds),
    ]
    table = Table(
        "work",
        "took s",
        "p50 before ms",
        "p50 during ms",
        "p99 before ms",
        "p99 during ms",
        "ratio",
    )
    for row in rows:
        table.add_row(
            row.work,
            f"{row.took_s:.2f}",
            f"{row.before.p50_ms:.2f}",
            f"{row.during.p50_ms:.2f}",
            f"{row.before.p99_ms:.2f}",
            f"{row.during.p99_ms:.2f}",
            f"{row.during.p99_ms / row.before.p99_ms:.2f}",
        )
    console = Console()
    Console(width=None if console.is_terminal else 110).print(table)


def _moves(count: int, mib: int, per_second: int, seconds: float) -> Row:
    """Fill replicas on the first log dir, then send all of them to the second one."""
    with _cluster(log_dirs=3, loaded_dirs=[0, 1, 2]) as (cluster, admin):
        source, target = (Path(one.path) for one in cluster.spec.broker(BROKER).log_dirs[:2])
        everything = list(range(count))
        _place(admin, str(source), "moved", everything)
        admin.create_topic(_topic("moved", count))
        produce(
            _servers(cluster),
            "moved",
            partitions=count,
            size_bytes=1024,
            count=mib * 1024 // 6000 * 6000,
            acks="1",
        )

        def move() -> None:
            admin.move_replicas(BROKER, str(target), {"moved": everything})
            _until(lambda: all((target / f"moved-{number}").is_dir() for number in everything))

        return _beside(f"{count} moves, {mib} MiB", cluster, (3, per_second, seconds), move)


def _compaction(mib: int, per_second: int, seconds: float) -> Row:
    """Fill a log of few keys on the second log dir, then let its cleaner loose."""
    configs = {"log.cleaner.backoff.ms": "100"}
    with _cluster(log_dirs=2, loaded_dirs=[0], configs=configs) as (cluster, admin):
        path = Path(cluster.spec.broker(BROKER).log_dirs[1].path)
        _place(admin, str(path), "compacted", [0])
        admin.create_topic(_topic("compacted", 1, _COMPACTED | {"min.cleanable.dirty.ratio": "1"}))
        _fill_keys(_servers(cluster), "compacted", mib << 20)
        log = path / "compacted-0"
        full_bytes = _size_bytes(log)

        def clean() -> None:
            _alter(admin, "compacted", "min.cleanable.dirty.ratio", "0.01")
            _until(lambda: _size_bytes(log) < full_bytes // 2)

        return _beside(f"compaction of {mib} MiB", cluster, (1, per_second, seconds), clean)


def _beside(
    work: str, cluster: Cluster, load: tuple[int, int, float], do: Callable[[], None]
) -> Row:
    partitions, per_second, seconds = load
    with paced(
        _servers(cluster), LOADED, partitions=partitions, per_second=per_second
    ) as producing:
        time.sleep(1)  # The first records wait for connections.
        before = producing.during(lambda: time.sleep(seconds))
        began = time.perf_counter()
        during = producing.during(do)
        return Row(work, before, during, time.perf_counter() - began)


@contextmanager
def _cluster(
    *, log_dirs: int, loaded_dirs: list[int], configs: dict[str, str] | None = None
) -> Generator[tuple[Cluster, ClusterAdmin]]:
    """Run one broker with the loaded topic, a partition on each of ``loaded_dirs``."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        shape = LabShape(brokers=1, log_dirs=log_dirs, configs=configs or {})
        cluster = Cluster(write_lab_spec(Path(root), shape))
        with running(cluster), ClusterAdmin(cluster.spec, timeout_ms=60_000) as admin:
            paths = [one.path for one in cluster.spec.broker(BROKER).log_dirs]
            for number, index in enumerate(loaded_dirs):
                _place(admin, paths[index], LOADED, [number])
            admin.create_topic(_topic(LOADED, len(loaded_dirs)))
            yield cluster, admin


def _servers(cluster: Cluster) -> str:
    return ",".join(cluster.bootstrap_servers)


def _topic(name: str, partitions: int, configs: dict[str, str] | None = None) -> TopicSpec:
    return TopicSpec(name=name, partitions=partitions, replication_factor=1, configs=configs or {})


def _place(admin: ClusterAdmin, path: str, topic: str, partitions: list[int]) -> None:
    """Choose the log dir of replicas that are created afterwards (KIP-113)."""
    try:
        admin.move_replicas(BROKER, path, {topic: partitions})
    except KafkaError as error:
        if error.code not in _REMEMBERED:
            raise


def _fill_keys(bootstrap: str, topic: str, size_bytes: int) -> None:
    """Produce records of 1 KiB with a thousand keys."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 100_000})
    for number in range(size_bytes // 1024):
        while True:
            try:
                producer.produce(topic, bytes(1024), key=str(number % 1000), partition=0)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0


def _alter(admin: ClusterAdmin, topic: str, key: str, value: str) -> None:
    answer = admin.ask_any(alter_request(ResourceType.TOPIC, {topic: {key: value}}), 1)
    assert [one.error_code for one in answer.responses] == [ErrorCode.NONE]


def _size_bytes(log: Path) -> int:
    return sum(each.stat().st_size for each in log.glob("*.log"))


def _until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not done after {_DEADLINE_S} s")
        time.sleep(_LOOK_S)


if __name__ == "__main__":
    main()
