"""Disk work beside produce: ``python -m benchmarks.moves_under_load`` prints one table.

A steady load on the three log dirs of a broker. How long produces wait is compared without and
with two kinds of work: 200 moves ordered at once, with ``--peer kafka`` on Apache Kafka too, and
the compaction of a log on a dir that the load leaves alone. It says nothing about throughput.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click
from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from benchmarks import runs
from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.load import produce
from benchmarks.paced import Latencies, latencies_of, paced
from benchmarks.peer.kafka import BUILD_DIR, KafkaPeer
from benchmarks.targets import Target
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.admin.configs import alter_configs_request
from protocol.cluster_file.spec import TopicSpec
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError

BROKER: Final = 1
LOADED: Final = "loaded"
_LOOK_S: Final = 0.1
_DEADLINE_S: Final = 300.0
_SET, _TOPIC = 0, 2
_REMEMBERED: Final = (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_COMPACTED: Final = {"cleanup.policy": "compact", "segment.bytes": str(8 << 20)}


class Row(NamedTuple):
    """One kind of work beside the load."""

    target: str
    work: str
    without: Latencies
    during: Latencies
    took_s: float


@click.command()
@click.option("--moves", default=200, show_default=True, help="Replicas that move at once.")
@click.option("--mib", default=400, show_default=True, help="Their size in all.")
@click.option("--compact-mib", default=200, show_default=True, help="What the cleaner reads.")
@click.option("--per-second", default=1000, show_default=True, help="Records of 1 KiB.")
@click.option("--seconds", default=5.0, show_default=True, help="To look before, and after.")
@click.option("--peer", type=click.Choice(["kafka"]), help="Move replicas on Apache Kafka too.")
def main(
    *, moves: int, mib: int, compact_mib: int, per_second: int, seconds: float, peer: str | None
) -> None:
    """Measure produce latency beside moves and beside compaction."""
    makers: list[Callable[[Path], Target]] = [JbodlabTarget]
    if peer is not None:
        makers.append(lambda root: KafkaPeer(root, BUILD_DIR))
    rows = [_moves(make, (moves, mib), (per_second, seconds)) for make in makers]
    rows.append(_compaction(compact_mib, per_second, seconds))
    table = Table(
        "cluster", "work", "took s", "p50 ms, without", "during", "p99 ms, without", "during"
    )
    table.add_column("p99, ratio")
    for row in rows:
        table.add_row(
            row.target,
            row.work,
            f"{row.took_s:.2f}",
            f"{row.without.p50_ms:.2f}",
            f"{row.during.p50_ms:.2f}",
            f"{row.without.p99_ms:.2f}",
            f"{row.during.p99_ms:.2f}",
            f"{row.during.p99_ms / row.without.p99_ms:.2f}",
        )
    console = Console()
    Console(width=None if console.is_terminal else 110).print(table)


def _moves(make: Callable[[Path], Target], sizes: tuple[int, int], load: tuple[int, float]) -> Row:
    """Fill ``count`` replicas of ``mib`` in all on the first log dir, then send all to the second.

    All of it happens on one of three brokers.
    """
    count, mib = sizes
    with tempfile.TemporaryDirectory(prefix="jbodlab-bench-") as root:
        target = make(Path(root))
        try:
            target.launch()
            target.wait_until_up()
            dirs = target.log_dirs(BROKER)
            _create(target, LOADED, dict(enumerate(dirs)))
            _create(target, "moved", dict.fromkeys(range(count), dirs[0]))
            produce(
                target.bootstrap,
                "moved",
                partitions=count,
                size_bytes=1024,
                count=mib * 1024 // 6000 * 6000,
                acks="1",
            )
            move = partial(_move, target, [("moved", index, BROKER) for index in range(count)])
            work = f"{count} moves, {mib} MiB"
            return _beside(target.name, work, target.bootstrap, (len(dirs), *load), move)
        finally:
            target.stop()


def _create(target: Target, topic: str, log_dirs: Mapping[int, Path]) -> None:
    """Create a topic with one replica of each partition, in its log dir of ``BROKER``."""
    wanted = {(topic, index, BROKER): str(path) for index, path in log_dirs.items()}
    runs.alter_log_dirs(target, wanted)  # Remembered until the replicas are created (KIP-113).
    runs.create_assigned(target, topic, [[BROKER]] * len(log_dirs))


def _move(target: Target, replicas: Sequence[tuple[str, int, int]]) -> None:
    path = target.log_dirs(BROKER)[1]
    runs.alter_log_dirs(target, dict.fromkeys(replicas, str(path)))
    left = [path / f"{topic}-{index}" for topic, index, _ in replicas]

    def is_done() -> bool:
        while left and left[-1].is_dir():
            left.pop()
        return not left

    _until(is_done)


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

        work = f"compaction of {mib} MiB"
        return _beside("jbodlab", work, _servers(cluster), (1, per_second, seconds), clean)


def _beside(
    target: str,
    work: str,
    bootstrap: str,
    load: tuple[int, int, float],
    do: Callable[[], None],
) -> Row:
    partitions, per_second, seconds = load
    with paced(bootstrap, LOADED, partitions=partitions, per_second=per_second) as producing:
        time.sleep(1)  # The first records wait for connections.
        without = producing.during(lambda: time.sleep(seconds))
        began = time.perf_counter()
        during = producing.during(do)
        took_s = time.perf_counter() - began
        time.sleep(1)  # What the work leaves to be done belongs to neither.
        without += producing.during(lambda: time.sleep(seconds))
    return Row(target, work, latencies_of(without), latencies_of(during), took_s)


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
    answer = admin.ask_any(alter_configs_request(ResourceType.TOPIC, {topic: {key: value}}), 1)
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
