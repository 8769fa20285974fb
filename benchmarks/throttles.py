"""The accuracy of the throttles: ``python -m benchmarks.throttles [--mib 24]`` prints one table.

For each of the three, a replica has so much to copy that it takes some seconds; the rate is that
of the bytes that reached its log, from the first look that finds some to the last.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.load import produce
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.faults.model import broker_node

_MIB: Final = 1 << 20
_LOOK_S: Final = 0.01
_DEADLINE_S: Final = 60.0
_REPLICA: Final = 3
"""The broker that has to catch up."""


class Accuracy(NamedTuple):
    """What was asked of one throttle and what came."""

    throttle: str
    asked_bytes_per_s: int
    obtained_bytes_per_s: float

    @property
    def ratio(self) -> float:
        """Obtained by asked."""
        return self.obtained_bytes_per_s / self.asked_bytes_per_s


@click.command()
@click.option("--mib", default=24, show_default=True, help="Bytes to copy in each run.")
@click.option("--seconds", default="12,4", show_default=True, help="Lengths that rates aim at.")
def main(*, mib: int, seconds: str) -> None:
    """Measure the leader's, the follower's and the move throttle of a three-broker cluster."""
    table = Table("throttle", "asked B/s", "obtained B/s", "obtained : asked")
    for length in seconds.split(","):
        rate = int(mib * _MIB / float(length))
        for measure in (_leader, _follower, _move):
            row = measure(mib * _MIB, rate)
            table.add_row(
                row.throttle,
                f"{row.asked_bytes_per_s:,}",
                f"{row.obtained_bytes_per_s:,.0f}",
                f"{row.ratio:.3f}",
            )
    Console().print(table)


def _leader(size_bytes: int, rate: int) -> Accuracy:
    return _catch_up("leader.replication.throttled", size_bytes, rate)


def _follower(size_bytes: int, rate: int) -> Accuracy:
    return _catch_up("follower.replication.throttled", size_bytes, rate)


def _catch_up(throttle: str, size_bytes: int, rate: int) -> Accuracy:
    """Let a replica that was away fetch ``size_bytes``."""
    configs = {f"{throttle}.replicas": "*"}
    with _cluster({f"{throttle}.rate": str(rate)}) as (cluster, admin):
        admin.create_topic(_topic(configs), assignment={0: [1, 2, 3]})
        cluster.stop([broker_node(_REPLICA)])
        cluster.wait_until(
            lambda asked: _REPLICA not in asked.view(1, ["t"]).partition("t", 0).isr,
            "the stopped replica is out of the Isr",
        )
        filled_bytes = _fill(cluster, size_bytes)
        log = next(_logs(cluster, _REPLICA))
        cluster.start_broker(_REPLICA)
        obtained = _rate(lambda: _size_bytes(log), filled_bytes)
    return Accuracy(f"{throttle}.rate", rate, obtained)


def _move(size_bytes: int, rate: int) -> Accuracy:
    """Let a replica move to another log dir."""
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    with _cluster({key: str(rate)}) as (cluster, admin):
        admin.create_topic(_topic({}), assignment={0: [1]})
        filled_bytes = _fill(cluster, size_bytes)
        source = next(_logs(cluster, 1)).parent
        target = next(
            Path(one.path)
            for one in cluster.spec.broker(1).log_dirs
            if Path(one.path).resolve() != source.resolve()
        )
        admin.move_replicas(1, str(target), {"t": [0]})
        obtained = _rate(lambda: sum(map(_size_bytes, target.glob("t-0*"))), filled_bytes)
    return Accuracy(key, rate, obtained)


def _topic(configs: dict[str, str]) -> TopicSpec:
    return TopicSpec(name="t", partitions=1, replication_factor=1, configs=configs)


@contextmanager
def _cluster(configs: dict[str, str]) -> Generator[tuple[Cluster, ClusterAdmin]]:
    with tempfile.TemporaryDirectory(prefix="jbodlab-throttles-") as root:
        shape = LabShape(log_dirs=2, configs={**configs, "replica.lag.time.max.ms": "2000"})
        cluster = Cluster(write_lab_spec(Path(root), shape))
        with running(cluster), ClusterAdmin(cluster.spec) as admin:
            yield cluster, admin


def _fill(cluster: Cluster, size_bytes: int) -> int:
    """Produce about ``size_bytes``; return how many the leader's log has."""
    bootstrap = ",".join(cluster.bootstrap_servers)
    produce(bootstrap, "t", partitions=1, size_bytes=1024, count=size_bytes // 1024, acks="all")
    return _size_bytes(next(_logs(cluster, 1)))


def _logs(cluster: Cluster, broker_id: int) -> Iterator[Path]:
    for log_dir in cluster.spec.broker(broker_id).log_dirs:
        yield from Path(log_dir.path).glob("t-0")


def _size_bytes(log: Path) -> int:
    try:
        return sum(each.stat().st_size for each in os.scandir(log) if each.name.endswith(".log"))
    except FileNotFoundError:
        return 0  # renamed at the end of a move, between two looks


def _rate(look: Callable[[], int], size_bytes: int) -> float:
    """Return bytes per second from the first look that finds any to the last byte."""
    began, first = time.perf_counter(), 0
    deadline = began + _DEADLINE_S
    while (size := look()) < size_bytes:
        if time.perf_counter() > deadline:
            raise TimeoutError(f"{size} of {size_bytes} bytes after {_DEADLINE_S} s")
        if first == 0:
            began, first = time.perf_counter(), size
        time.sleep(_LOOK_S)
    return (size - first) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
