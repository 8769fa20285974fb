"""The worst batches: small on the way, large or many records where somebody looks into them.

Topics that need keys, have a codec of their own, or are written and read by clients of old versions
have the broker look into records; each kind of batch goes to each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from benchmarks.hostile.lab import BROKER_ID, HostileLab, Row, exchange
from benchmarks.hostile.memory import MIB, frame, produce
from jbodlab.asking.admin import ClusterAdmin
from protocol.cluster_file.spec import TopicSpec
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set

BROKER: Final = "broker"
PLAIN_RECORDS_MAX: Final = 80_000
"""Of some bytes, in one batch of less than 1 MiB without compression."""
BOMB_BYTES: Final = 60 * MIB
BATCH_BYTES_MAX: Final = 4 * MIB
"""Of the topics: so that snappy, which packs 20 to 1, has its bombs, too."""
OLD_BOMB_BYTES: Final = 31 * MIB
"""What is converted may become 32 MiB."""
TOPICS: Final = {
    "kept": {"cleanup.policy": "compact"},
    "as-sent": {"retention.ms": "-1"},
    "in-gzip": {"compression.type": "gzip"},
    "in-zstd": {"compression.type": "zstd"},
    "plain": {"compression.type": "uncompressed"},
}
_KEYLESS_EVERY: Final = 10
_FORMAT_2: Final = 9
"""A version of Produce whose records are batches."""
_OLD: Final = 2
"""The same for Produce and Fetch of message sets."""


class Attack(NamedTuple):
    """One request, and what is sent before it."""

    api: str
    name: str
    frame: bytes
    before: bytes | None = None


def rows(lab: HostileLab, only: Sequence[str], entries: int) -> Iterator[Row]:
    """Attack with the requests of each API named ``only``, or of all."""
    with ClusterAdmin(lab.cluster.spec) as admin:
        for name, configs in TOPICS.items():
            wide = {**configs, "max.message.bytes": str(BATCH_BYTES_MAX)}
            topic = TopicSpec(name=name, partitions=1, replication_factor=1, configs=wide)
            admin.create_topic(topic, assignment={0: [BROKER_ID]})
    for attack in attacks(entries):
        if not only or attack.api.split()[0] in only:
            yield _strike(lab, attack)


def attacks(entries: int) -> Iterator[Attack]:
    """Yield the attacks; batches are made when it is their turn."""
    yield from _many_records(entries)
    yield from _packed_anew(entries)
    yield from _of_old_versions(entries)


def _many_records(entries: int) -> Iterator[Attack]:
    plain = BatchOptions()
    packed = BatchOptions(compression=Compression.GZIP)
    stamped = BatchOptions(log_append_time_ms=1)
    few = min(entries, PLAIN_RECORDS_MAX)
    yield _to("kept", f"{few} records, some without key", _batch(few, plain))
    yield _to("kept", f"{entries} records, gzip, some without key", _batch(entries, packed))
    yield _to("as-sent", f"{few} records, time of the broker", _batch(few, stamped))
    for codec in list(Compression)[1:]:
        yield _to("kept", f"a {codec.name} bomb", _bomb(codec))


def _packed_anew(entries: int) -> Iterator[Attack]:
    for codec in list(Compression)[1:]:
        topic = "in-gzip" if codec is Compression.ZSTD else "in-zstd"
        yield _to(topic, f"a {codec.name} bomb, packed anew", _bomb(codec))
    gzip = BatchOptions(compression=Compression.GZIP)
    yield _to("in-zstd", f"{entries} records, gzip, packed anew", _batch(entries, gzip))
    yield _to("plain", "a GZIP bomb, to be unpacked", _bomb(Compression.GZIP))


def _of_old_versions(entries: int) -> Iterator[Attack]:
    for codec in (Compression.GZIP, Compression.SNAPPY, Compression.LZ4):
        options = MessageSetOptions(magic=1, compression=codec)
        one = build_message_set([NewRecord(bytes(OLD_BOMB_BYTES))], options)
        yield _to("as-sent", f"message set, a {codec.name} bomb", bytes(one), _OLD)
        many = build_message_set([NewRecord(b"%d" % n) for n in range(entries)], options)
        yield _to("as-sent", f"message set, {codec.name}, {entries} records", bytes(many), _OLD)
        batch = produce("as-sent", _batch(entries, BatchOptions(compression=codec)), _FORMAT_2)
        yield Attack(f"Fetch v{_OLD}", f"{entries} records, {codec.name}, converted", _fetch, batch)


def _to(topic: str, name: str, records: bytes, version: int = _FORMAT_2) -> Attack:
    return Attack(f"Produce v{version}", f"{topic}: {name}", produce(topic, records, version))


def _batch(count: int, options: BatchOptions) -> bytes:
    keys = (None if n % _KEYLESS_EVERY == 0 else b"k" for n in range(count))
    return bytes(build_batch([NewRecord(b"", key=key) for key in keys], options))


def _bomb(codec: Compression) -> bytes:
    options = BatchOptions(compression=codec)
    return bytes(build_batch([NewRecord(bytes(BOMB_BYTES))], options))


_fetch: Final = frame(
    FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=BOMB_BYTES,
        topics=[
            FetchTopic(
                topic="as-sent",
                partitions=[
                    FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=BOMB_BYTES)
                ],
            )
        ],
    ),
    _OLD,
)


def _strike(lab: HostileLab, attack: Attack) -> Row:
    port = lab.port(BROKER)
    if attack.before is not None:
        exchange(port, attack.before)
    strike: Callable[[], str] = partial(exchange, port, attack.frame)
    return lab.measure(BROKER, attack.api, attack.name, len(attack.frame), strike)
