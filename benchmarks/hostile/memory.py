"""The part ``memory`` of ``python -m benchmarks.hostile``: what bad clients make a process hold.

Each attack opens its connections, keeps them for a while and closes them. A row has the resident
set of the attacked process before, at its largest, and ``BACK_S`` after the connections closed.
The processes run as they always do; nothing watches their loops.
"""

from __future__ import annotations

import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from struct import pack
from typing import Any, Final

import click

from benchmarks.hostile.lab import FENCED
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import CONTROLLER, Cluster, running
from jbodlab.processes.free_ports import LOOPBACK
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.connection import ClientConnection
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.wire.fast import codec
from protocol.wire.table import META

RESIDENT_MB_MAX: Final = 250.0
BACK_S: Final = 5.0
BACK_MB_MAX: Final = 40.0
"""How much more than before may stay: the newest records are kept in memory on purpose."""
MIB: Final = 1 << 20
FULL: Final = "full"
"""The topic whose records are fetched."""
PACKED: Final = "packed"
"""The topic whose batches are packed anew, with zstd."""
PACKED_GZIP: Final = "packed-gzip"
"""The same, with gzip."""
_FULL_BYTES: Final = 48 * MIB
_BOMB_BYTES: Final = 60 * MIB
_HELD_S: Final = 6.0
_BROKER: Final = "broker-1"

Strike = Callable[[int], Callable[[], None]]
"""Attacks a port; returns what closes the connections."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """What one attack made a process hold."""

    node: str
    attack: str
    connections: int
    before_mb: float
    largest_mb: float
    after_mb: float
    answered_ms: float
    """How long the slowest of the requests for versions took that were asked beside it."""
    offline_count: int
    """How many log dirs of the cluster are offline since."""
    fenced_count: int
    """How often a broker was fenced meanwhile."""

    @property
    def is_beyond(self) -> bool:
        """Whether it held, kept or broke more than it may."""
        has_kept = self.after_mb > self.before_mb + BACK_MB_MAX
        is_broken = self.offline_count > 0 or self.fenced_count > 0
        return self.largest_mb > RESIDENT_MB_MAX or has_kept or is_broken


def frame(message: Any, version: int) -> bytes:
    """Return a request as it goes over the wire."""
    kind: type[Any] = message.__class__
    key = META[kind].api_key
    assert key is not None
    body = codec(kind, version).encode_parts(message)
    return b"".join(ClientConnection("hostile").send_request(key, version, body))


def produce(topic: str, records: bytes, version: int) -> bytes:
    """Return a Produce of one batch."""
    data = PartitionProduceData(index=0, records=records)
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    return frame(ProduceRequest(acks=ACKS_ALL, timeout_ms=10_000, topic_data=topics), version)


def fetch(version: int) -> bytes:
    """Return a Fetch of all that there is."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=_FULL_BYTES)
    return frame(
        FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=_FULL_BYTES,
            topics=[FetchTopic(topic=FULL, partitions=[partition])],
        ),
        version,
    )


def bomb(kind: Compression) -> bytes:
    """Return a batch that becomes ``_BOMB_BYTES``."""
    record = NewRecord(value=bytes(_BOMB_BYTES))
    return bytes(build_batch([record], BatchOptions(compression=kind)))


def old_bomb() -> bytes:
    """Return a message set whose one wrapper becomes ``_BOMB_BYTES``."""
    record = NewRecord(value=bytes(_BOMB_BYTES))
    options = MessageSetOptions(magic=1, compression=Compression.GZIP)
    return bytes(build_message_set([record], options))


def send_on_each(
    count: int, parts: Sequence[bytes], port: int, *, reads: bool = False
) -> Callable[[], None]:
    """Send ``parts`` on each of ``count`` connections, as far as each takes them.

    Nothing is read; or, with ``reads``, everything, and ``parts`` are sent again and again.
    """
    streams = [socket.create_connection((LOOPBACK, port)) for _ in range(count)]
    threads = [
        threading.Thread(target=run, args=(stream, parts), daemon=True)
        for stream in streams
        for run in ((_send_on, _read) if reads else (_send,))
    ]
    for thread in threads:
        thread.start()

    def close() -> None:
        for stream in streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
            stream.close()
        for thread in threads:
            thread.join()

    return close


def _send(stream: socket.socket, parts: Sequence[bytes]) -> None:
    with suppress(OSError):
        for part in parts:
            stream.sendall(part)


def _send_on(stream: socket.socket, parts: Sequence[bytes]) -> None:
    data = b"".join(parts)
    with suppress(OSError):
        while True:
            stream.sendall(data)


def _read(stream: socket.socket, _parts: Sequence[bytes]) -> None:
    with suppress(OSError):
        while stream.recv(MIB):
            pass


def attacks() -> list[tuple[str, str, int, Strike]]:
    """Return node, name, count of connections and what is done, one row each."""
    announced = pack(">i", 100 * MIB)
    half = [announced, *[bytes(MIB)] * 50]
    whole = [announced, pack(">hhih", 0, 9, 1, -1) + b"\x00", *[bytes(MIB)] * 99]
    metadata = [frame(MetadataRequest(topics=None), 9)] * 2_000
    versions = pack(">ihhih", 10, 18, 0, 1, -1)
    plans: list[tuple[str, str, int, Sequence[bytes]]] = [
        (_BROKER, "100 MiB announced, nothing sent", 20, [announced]),
        (_BROKER, "100 MiB announced, 20 KiB sent", 500, [announced, bytes(20_000)]),
        (_BROKER, "nothing sent", 500, []),
        (_BROKER, "half an ApiVersions sent", 500, [versions[:7]]),
        (_BROKER, "half of 100 MiB sent", 20, half),
        (_BROKER, "99 of 100 MiB sent", 20, whole),
        (_BROKER, "one Fetch, not read", 200, [fetch(12)]),
        (_BROKER, "2,000 Metadata, not read", 100, metadata),
        (_BROKER, "4,000 ApiVersions, not read", 500, [versions * 4_000]),
        (_BROKER, "Fetch v2, converted, not read", 50, [fetch(2)]),
        *(
            (_BROKER, f"{kind.name.lower()} bombs, packed anew", 8,
             [produce(PACKED_GZIP if kind is Compression.ZSTD else PACKED, bomb(kind), 9)] * 3)
            for kind in (Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY)
        ),
        (_BROKER, "bombs in message sets", 8, [produce(FULL, old_bomb(), 2)] * 3),
        (CONTROLLER, "100 MiB announced, nothing sent", 20, [announced]),
        (CONTROLLER, "half of 100 MiB sent", 20, half),
    ]  # fmt: skip
    reading = partial(send_on_each, 100, metadata, reads=True)
    return [
        *((node, name, count, partial(send_on_each, count, parts))
          for node, name, count, parts in plans),
        (_BROKER, "Metadata without end, read", 100, reading),
    ]  # fmt: skip


class Asking:
    """Somebody who asks beside an attack and wants an answer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.slowest_ms = 0.0

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _ask(self) -> None:
        request = pack(">ihhih", 10, 18, 0, 1, -1)
        with socket.create_connection((LOOPBACK, self._port), timeout=60) as stream:
            while not self._stopped.wait(0.05):
                began_s = time.monotonic()
                stream.sendall(request)
                size = int.from_bytes(stream.recv(4, socket.MSG_WAITALL), "big")
                stream.recv(size, socket.MSG_WAITALL)
                self.slowest_ms = max(self.slowest_ms, 1000 * (time.monotonic() - began_s))


def measure(cluster: Cluster, node: str, name: str, count: int, strike: Strike) -> MemoryRow:
    """Attack once."""
    spec = cluster.spec
    port = spec.controller.port if node == CONTROLLER else spec.broker(1).port
    process = cluster.processes[node]
    before_mb = largest_mb = process.rss_bytes() / 1e6
    fenced = _fenced_count(cluster)
    with Asking(port) as asking:
        close = strike(port)
        end_s = time.monotonic() + _HELD_S
        while time.monotonic() < end_s:
            largest_mb = max(largest_mb, process.rss_bytes() / 1e6)
            time.sleep(0.02)
        close()
    time.sleep(BACK_S)
    after_mb = process.rss_bytes() / 1e6
    numbers = (before_mb, largest_mb, after_mb, asking.slowest_ms)
    return MemoryRow(
        node,
        name,
        count,
        *(round(each, 1) for each in numbers),
        offline_count=_offline_count(cluster),
        fenced_count=_fenced_count(cluster) - fenced,
    )


def _offline_count(cluster: Cluster) -> int:
    with ClusterAdmin(cluster.spec) as admin:
        ids = [broker.id for broker in cluster.spec.brokers]
        return sum(not each.is_online for number in ids for each in admin.log_dirs(number))


def _fenced_count(cluster: Cluster) -> int:
    log = cluster.run_dir / f"{CONTROLLER}.log"
    return log.read_text(errors="replace").count(FENCED)


def fill(cluster: Cluster) -> None:
    """Make the topics and the records that are fetched."""
    with ClusterAdmin(cluster.spec) as admin:
        for name, configs in (
            (FULL, {"retention.ms": "-1"}),  # its records are of 1970
            (PACKED, {"compression.type": "zstd"}),
            (PACKED_GZIP, {"compression.type": "gzip"}),
        ):
            topic = TopicSpec(name=name, partitions=1, replication_factor=1, configs=configs)
            admin.create_topic(topic, assignment={0: [1]})
    batch = bytes(build_batch([NewRecord(value=bytes(500_000))]))
    request = produce(FULL, batch, 9)
    with socket.create_connection((LOOPBACK, cluster.spec.broker(1).port), timeout=60) as stream:
        for _ in range(_FULL_BYTES // len(batch)):
            stream.sendall(request)
            size = int.from_bytes(stream.recv(4, socket.MSG_WAITALL), "big")
            stream.recv(size, socket.MSG_WAITALL)


def attack_memory(only: str, *, as_json: bool) -> int:
    """Attack a cluster by what has ``only`` in its name; return how many rows passed a bound."""
    form = "{:11} {:34} {:>5} {:>9} {:>10} {:>9} {:>12} {:>8} {:>6}  {}"
    beyond = 0
    with tempfile.TemporaryDirectory(prefix="jbodlab-hostile-") as folder:
        cluster = Cluster(write_lab_spec(Path(folder), LabShape()))
        with running(cluster):
            fill(cluster)
            if not as_json:
                heads = ("node", "attack", "conns", "before MB", "largest MB", "after MB")
                click.echo(form.format(*heads, "slowest ms", "offline", "fenced", ""))
            for node, name, count, strike in attacks():
                if only not in name:
                    continue
                row = measure(cluster, node, name, count, strike)
                beyond += row.is_beyond
                if as_json:
                    click.echo(json.dumps(asdict(row)))
                else:
                    click.echo(form.format(*asdict(row).values(), "!" if row.is_beyond else ""))
    return beyond
