"""The doors between a broker and the machine it runs on: clock, chance, disks.

The network's door is the event loop. A simulation gives other doors to the same ``broker.app``.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from uuid import UUID

from broker.storage.disk import FileDisk
from broker.storage.fault_gates import FaultGate, ThreadGate
from broker.storage.worker import ThreadDiskWorker
from protocol.cluster_file.spec import LogDirSpec, ZookeeperSpec
from protocol.metrics.rows import RowOrigin
from protocol.metrics.writer import MetricWriter, NewRowWriter
from protocol.ports import Disk, DiskWorker, WallClock
from protocol.witness import Witness, unwitnessed
from protocol.zookeeper_client.port import ZookeeperPort


class SystemClock:
    """The machine's time of day."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000


def kazoo_zookeeper(spec: ZookeeperSpec, tls: Callable[[], ssl.SSLContext] | None) -> ZookeeperPort:
    """Return a client of ZooKeeper; kazoo is loaded for it only."""
    from protocol.zookeeper_client.kazoo_client import KazooZookeeper  # noqa: PLC0415 - 20 ms of a start

    return KazooZookeeper(
        spec.connect,
        session_timeout_ms=spec.session_timeout_ms,
        sets_acl=spec.set_acl,
        login=(spec.username, spec.password),
        tls=tls,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where a broker lives."""

    clock: WallClock
    random: Random
    disk: Callable[[LogDirSpec], Disk]
    """Makes the disk below a log dir; faults are laid over it."""
    empty_disk: Callable[[LogDirSpec], Disk]
    """Makes an empty one in the place of another; its ``prepare`` moves aside what is there."""
    worker: Callable[[str], DiskWorker]
    """Makes the worker of one log dir, by its path."""
    codec_worker: Callable[[], DiskWorker]
    """Makes the worker that packs and unpacks batches."""
    elapsed_us: Callable[[], int]
    """Microseconds from any start, for latencies: uvloop's own time moves in steps of 1 ms."""
    new_gate: Callable[[], FaultGate] = ThreadGate
    """Makes what a hanging or slow operation waits at."""
    new_row_writer: NewRowWriter = MetricWriter
    row_origin: RowOrigin = field(default_factory=RowOrigin)
    """Where rows say that they come from, that do not go through a writer."""
    zookeeper: Callable[[ZookeeperSpec, Callable[[], ssl.SSLContext] | None], ZookeeperPort] = (
        kazoo_zookeeper
    )
    """Makes the client of a ZooKeeper, with what makes a connection's TLS context, if any."""
    witness: Witness = unwitnessed
    """Told of every move of the broker's state machines."""

    def new_uuid(self) -> str:
        """Give a random uuid as text."""
        return str(UUID(int=self.random.getrandbits(128), version=4))


def real_world(random: Random, origin: RowOrigin = RowOrigin()) -> World:  # noqa: B008 - frozen
    """Return this machine: its clock, files, one daemon thread per log dir, one for codecs.

    Call it in a running loop. Metric rows are told to come from ``origin``.
    """
    loop = asyncio.get_running_loop()
    return World(
        clock=SystemClock(),
        random=random,
        disk=lambda spec: FileDisk(spec.path, spec.capacity_bytes),
        empty_disk=lambda spec: FileDisk(
            spec.path, spec.capacity_bytes, set_aside=f"{random.getrandbits(128):032x}"
        ),
        worker=lambda path: ThreadDiskWorker(f"log-dir {path}", loop),
        codec_worker=lambda: ThreadDiskWorker("codecs", loop),
        elapsed_us=lambda: time.perf_counter_ns() // 1000,
        new_row_writer=partial(MetricWriter, origin=origin),
        row_origin=origin,
    )
