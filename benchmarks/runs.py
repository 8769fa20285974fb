"""The measurements of the cluster benchmark: each takes a running target, returns figures.

It starts nothing; ``benchmarks.cluster`` owns the targets and prints the table.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from benchmarks.load import consume, produce
from benchmarks.one_at_a_time import one_at_a_time
from benchmarks.targets import Target

BROKER_IDS = (1, 2, 3)
PARTITIONS = 6


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. ``better`` says which direction is good, so that a ratio can be read."""

    name: str
    value: float
    unit: str
    better: str = "higher"


def first_metadata(target: Target) -> float:
    """Start the target; return the seconds until a client's Metadata names all three brokers.

    It ends later, when each of them has started: Apache Kafka's are named before they listen.
    """
    start = time.perf_counter()
    target.launch()
    client = AdminClient({"bootstrap.servers": target.bootstrap, "log_level": 0})
    while time.perf_counter() - start < 120:
        try:
            if len(client.list_topics(timeout=0.5).brokers) == len(BROKER_IDS):
                taken_s = time.perf_counter() - start
                target.wait_until_up()
                return taken_s
        except KafkaException:
            continue
    raise RuntimeError(f"{target.name} gave no metadata within 120 s")


def create_topic(target: Target, name: str, *, partitions: int, replicas: int) -> float:
    """Create one topic; return the seconds until Metadata names a leader for every partition."""
    return _create(
        target, name, partitions, {"num_partitions": partitions, "replication_factor": replicas}
    )


def create_assigned(target: Target, name: str, replicas: Sequence[Sequence[int]]) -> float:
    """As ``create_topic``, with the brokers of each partition, leader first."""
    assignments = {index: list(brokers) for index, brokers in enumerate(replicas)}
    return _create(target, name, len(replicas), {"assignments": assignments})


def _create(target: Target, name: str, partitions: int, wanted: dict[str, object]) -> float:
    admin = _admin(target)
    start = time.perf_counter()
    admin.create_topics({name: wanted}, timeout_ms=120_000)
    _wait_for_leaders(target, name, partitions, unwanted=None)
    seconds = time.perf_counter() - start
    admin.close()
    return seconds


def _admin(target: Target) -> Any:  # the client's methods come from untyped mix-ins
    return KafkaAdminClient(
        bootstrap_servers=target.bootstrap.split(","), request_timeout_ms=120_000
    )


def _wait_for_leaders(target: Target, topic: str, count: int, *, unwanted: int | None) -> None:
    client = AdminClient({"bootstrap.servers": target.bootstrap})
    end = time.monotonic() + 180
    while time.monotonic() < end:
        partitions = client.list_topics(topic, timeout=30).topics[topic].partitions
        leaders = [row.leader for row in partitions.values() if row.leader >= 0]
        if len(leaders) == count and unwanted not in leaders:
            return
        time.sleep(0.005)
    raise RuntimeError(f"{topic}: {count} leaders were not there after 180 s")


def memory(target: Target) -> list[Figure]:
    """Resident memory of each process, idle."""
    sizes = target.resident_bytes()
    figures = [
        Figure(f"resident {role}", size / 1e6, "MB", "lower") for role, size in sizes.items()
    ]
    return [*figures, Figure("resident in all", sum(sizes.values()) / 1e6, "MB", "lower")]


def rates(target: Target, *, seconds_per_run: float) -> list[Figure]:
    """Produce and consume at 100 B and 1 KiB with RF 1 acks=1 and RF 3 acks=all, six partitions."""
    figures: list[Figure] = []
    for replicas, acks in ((1, "1"), (3, "all")):
        for size_bytes, guess in ((1024, 100_000), (100, 600_000)):
            topic = f"rate-{replicas}-{size_bytes}"
            create_topic(target, topic, partitions=PARTITIONS, replicas=replicas)
            write = partial(
                produce,
                target.bootstrap,
                topic,
                partitions=PARTITIONS,
                size_bytes=size_bytes,
                acks=acks,
            )
            write(count=guess // 10)
            count = int(guess * seconds_per_run) // 6000 * 6000
            made = write(count=count)
            label = f"RF {replicas} acks={acks} {size_bytes} B"
            figures.append(Figure(f"produce {label}", made.megabytes_per_s, "MB/s"))
            figures.append(Figure(f"produce {label}", made.records_per_s / 1e6, "M records/s"))
            if replicas == 1:
                read = consume(target.bootstrap, topic, partitions=PARTITIONS, count=count)
                figures.append(Figure(f"consume {size_bytes} B", read.megabytes_per_s, "MB/s"))
    return figures


def latency(target: Target, *, count: int) -> list[Figure]:
    """Produce one record of 1 KiB at a time with RF 3 and acks=all."""
    create_topic(target, "one-at-a-time", partitions=1, replicas=3)
    found = one_at_a_time(target.bootstrap, "one-at-a-time", count=count, size_bytes=1024)
    return [
        Figure("one record at a time RF 3 acks=all p50", found.p50_ms, "ms", "lower"),
        Figure("one record at a time RF 3 acks=all p99", found.p99_ms, "ms", "lower"),
    ]


def creation(target: Target, counts: tuple[int, ...]) -> list[Figure]:
    """Create topics of ``counts`` partitions with RF 3."""
    return [
        Figure(
            f"create {count} partitions RF 3",
            create_topic(target, f"created-{count}", partitions=count, replicas=3),
            "s",
            "lower",
        )
        for count in counts
    ]


def failover(target: Target, counts: tuple[int, ...]) -> list[Figure]:
    """Break a log dir that holds ``count`` replicas; time from the broker's notice to new leaders.

    The replicas are put on the dir beforehand: AlterReplicaLogDirs for partitions that do not exist
    yet is remembered (KIP-113). A broken dir stays broken, so each count needs a broker of its own.
    """
    assert len(counts) <= len(BROKER_IDS), f"{len(counts)} counts, {len(BROKER_IDS)} brokers"
    figures: list[Figure] = []
    for broker_id, count in zip(BROKER_IDS, counts, strict=False):
        log_dir = target.log_dirs(broker_id)[0]
        topic = f"failover-{count}"
        alter_log_dirs(target, {(topic, index, broker_id): str(log_dir) for index in range(count)})
        others = [other for other in BROKER_IDS if other != broker_id]
        create_assigned(target, topic, [[broker_id, *others]] * count)
        figures += _break(target, topic, count, broker_id)
    return figures


def alter_log_dirs(target: Target, wanted: dict[tuple[str, int, int], str]) -> None:
    """Order replicas, as (topic, partition, broker), into log dirs; errors are not looked at."""
    admin = _admin(target)
    admin.alter_replica_log_dirs(wanted)
    admin.close()


def _break(target: Target, topic: str, count: int, broker_id: int) -> list[Figure]:
    log_dir = target.log_dirs(broker_id)[0]
    broken_ns = time.time_ns()
    shutil.move(log_dir, log_dir.with_suffix(".taken"))
    log_dir.write_text("not a directory\n")
    _wait_for_leaders(target, topic, count, unwanted=broker_id)
    led_s = time.time_ns() / 1e9
    noticed_s = _noticed_ms(target, broker_id, log_dir) / 1e3
    name = f"{count} replicas on the dir"
    return [
        Figure(f"failover, {name}: notice to leaders", led_s - noticed_s, "s", "lower"),
        Figure(f"failover, {name}: break to leaders", led_s - broken_ns / 1e9, "s", "lower"),
    ]


def _noticed_ms(target: Target, broker_id: int, log_dir: Path) -> int:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        noticed_ms = target.failure_noticed_ms(broker_id, log_dir)
        if noticed_ms is not None:
            return noticed_ms
        time.sleep(0.1)
    raise RuntimeError(f"{target.name} never told of the failure of {log_dir}")


def move(target: Target, *, size_mib: int) -> list[Figure]:
    """Move one replica of ``size_mib`` between two log dirs; beside it ``cp`` of the same bytes."""
    topic = "moved"
    create_topic(target, topic, partitions=1, replicas=1)
    count = size_mib * 1024 // 1000 * 1000
    produce(target.bootstrap, topic, partitions=1, size_bytes=1024, count=count, acks="1")
    broker_id, current = _where(target, topic)
    other = next(path for path in target.log_dirs(broker_id) if path != current)
    size_bytes = _tree_bytes(current / f"{topic}-0")
    source, copy = current / f"{topic}-0", other.parent / "copied"
    copied_s = _copy_seconds(source, copy, synced=False)
    synced_s = _copy_seconds(source, copy, synced=True)
    start = time.perf_counter()
    alter_log_dirs(target, {(topic, 0, broker_id): str(other)})
    _wait_until_moved(other / f"{topic}-0")
    moved_s = time.perf_counter() - start
    return [
        Figure("move between log dirs", size_bytes / moved_s / 1e6, "MB/s"),
        Figure("move, share of cp's rate", copied_s / moved_s, "x"),
        Figure("move, share of cp's rate with fsync", synced_s / moved_s, "x"),
    ]


def _where(target: Target, topic: str) -> tuple[int, Path]:
    for broker_id in BROKER_IDS:
        for path in target.log_dirs(broker_id):
            if (path / f"{topic}-0").is_dir():
                return broker_id, path
    raise RuntimeError(f"no log dir holds {topic}-0")


def _tree_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in root.glob("*.log"))


def _copy_seconds(source: Path, target: Path, *, synced: bool) -> float:
    start = time.perf_counter()
    target.mkdir()
    for path in sorted(source.glob("*.log")):
        shutil.copyfile(path, target / path.name)
        if synced:
            with (target / path.name).open("rb+") as copied:
                os.fsync(copied.fileno())
    seconds = time.perf_counter() - start
    shutil.rmtree(target)
    return seconds


def _wait_until_moved(directory: Path) -> None:
    end = time.monotonic() + 300
    while not directory.is_dir():
        if time.monotonic() > end:
            raise RuntimeError(f"{directory} was not there after 300 s")
        time.sleep(0.005)
