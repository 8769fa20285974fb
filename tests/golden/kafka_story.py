"""The story of the golden log dirs: one Apache Kafka writes, moves, deletes, dies and comes back.

Records tell their own offset, so that those of two runs are the same. What is a run's own are the
times that the broker sets, ids, and the byte that ``kill -9`` hits.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.topics import DeleteTopicsRequest
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.deadlines import DEADLINE_S
from tests.integration.apache_kafka import ApacheKafka, KnownTopic, apache_kafka

HOST: Final = "127.0.0.1"
LOG_DIRS: Final = ("d1", "d2", "d3")
FIRST_MS: Final = 1_700_000_000_000
_SMALL: Final = {
    "segment.bytes": "16384",
    "index.interval.bytes": "512",
    "segment.index.bytes": "4096",
    "retention.ms": "-1",  # The records are of 2023.
}
_TOPICS: Final[Mapping[str, Mapping[str, str]]] = {
    "__consumer_offsets": {"cleanup.policy": "compact"},
    "__transaction_state": {"cleanup.policy": "compact"},
    "appendtime": {**_SMALL, "message.timestamp.type": "LogAppendTime"},
    "compacted": {
        **_SMALL,
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "10000",
    },
    **dict.fromkeys(("codecs", "deleted", "epochs", "moving", "name.with-dots_and-dash"), _SMALL),
    **dict.fromkeys(("plain", "retained", "txn"), _SMALL),
}
_PLACES: Final = {
    "d1": ("__transaction_state-0", "compacted-0", "moving-0", "plain-0", "retained-0"),
    "d2": ("__consumer_offsets-1", "deleted-0", "name.with-dots_and-dash-0", "plain-1", "txn-0"),
    "d3": ("__consumer_offsets-0", "__transaction_state-1", "appendtime-0", "codecs-0", "epochs-0"),
}
_COUNTS: Final = {
    "appendtime-0": 400,
    "codecs-0": 600,
    "compacted-0": 1800,
    "deleted-0": 200,
    "epochs-0": 300,
    "moving-0": 3000,
    "name.with-dots_and-dash-0": 50,
    "plain-0": 1500,
    "plain-1": 300,
    "retained-0": 2500,
}
_CONFIGS: Final = {
    "auto.create.topics.enable": "false",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "num.replica.alter.log.dirs.threads": "3",
    "log.cleaner.backoff.ms": "200",
    "log.segment.delete.delay.ms": "3600000",
}
_BATCH_RECORDS: Final = 20
_CODEC_RECORDS: Final = 120
_OPEN_TIMEOUT_MS: Final = 30_000
"""Of the transaction that is open when the broker is killed, and is aborted by the next one."""


def write_log_dirs(root: Path) -> dict[str, Any]:
    """Have Kafka write ``root/killed`` and ``root/clean``; return what a consumer saw of both."""
    dirs = root / "dirs"
    for log_dir, logs in _PLACES.items():
        for log in logs:  # To Kafka a folder is an empty log: that is how it is placed.
            (dirs / log_dir / log).mkdir(parents=True)
    with _kafka(root / "first", dirs, _TOPICS) as kafka:
        _write_all(kafka)
        kafka.until(lambda: _is_cleaned(dirs))
        _move_and_delete(kafka, dirs)
        _leave_open(kafka.port)
        kafka.kill()
    shutil.copytree(dirs, root / "killed")
    with _kafka(root / "second", dirs, [name for name in _TOPICS if name != "deleted"]) as kafka:
        seen = contents(kafka.port)
        kafka.until(lambda: _end_offset(kafka.port, "txn") > seen["txn-0"]["high_watermark"])
        kafka.stop()
    shutil.copytree(dirs, root / "clean")
    return {"clean": seen, "killed": seen}


def record(number: int, *, has_nulls: bool) -> NewRecord:
    """Return the record with this offset."""
    value = b"value-%06d-" % number * (number % 9 + 1)
    return NewRecord(
        None if has_nulls and number % 17 == 16 else value,
        key=b"key-%03d" % (number % 25),
        timestamp_ms=FIRST_MS + 1000 * number,
        headers=(("h", b"%d" % number), ("none", None)) if number % 10 == 0 else (),
    )


def contents(port: int) -> dict[str, Any]:
    """Return what a consumer of librdkafka sees, as golden/log_dirs/README.md tells."""
    options = {"bootstrap.servers": f"{HOST}:{port}", "group.id": "golden"}
    consumer = Consumer({**options, "isolation.level": "read_uncommitted", "log_level": 0})
    names = sorted({*_COUNTS, "txn-0"} - {"deleted-0"})
    seen = {name: _seen(consumer, *name.rsplit("-", 1)) for name in names}
    consumer.close()
    return seen


def _seen(consumer: Consumer, topic: str, partition: str) -> dict[str, Any]:
    start = TopicPartition(topic, int(partition))
    low, high = consumer.get_watermark_offsets(start, timeout=DEADLINE_S)
    start.offset = low
    consumer.assign([start])
    rows = list(_rows(consumer, high, DEADLINE_S))
    digest = hashlib.sha256(b"".join(rows)).hexdigest()
    return {"high_watermark": high, "log_start": low, "records": len(rows), "sha256": digest}


def _rows(consumer: Consumer, end: int, timeout_s: float) -> Iterator[bytes]:
    position = -1
    while position < end:
        message = consumer.poll(timeout_s)
        if message is None:
            position = consumer.position(consumer.assignment())[0].offset
            assert position >= end, f"nothing comes between {position} and {end}"
            return
        assert message.error() is None, message.error()
        offset, key, value = message.offset(), message.key(), message.value()
        assert offset is not None
        row = [offset, message.timestamp()[1], _hex(key), _hex(value), _headers(message)]
        yield json.dumps(row).encode()
        position = offset + 1
        timeout_s = timeout_s if position < end - 1 else 2.0  # Markers are not given.


def _headers(message: Message) -> list[list[str | None]]:
    found: Any = message.headers() or []
    return [[name, _hex(value)] for name, value in found]


def _hex(data: str | bytes | None) -> str | None:
    assert not isinstance(data, str)
    return None if data is None else data.hex()


def _kafka(root: Path, dirs: Path, topics: Iterable[str]) -> AbstractContextManager[ApacheKafka]:
    ids = {name: bytes([number] * 16) for number, name in enumerate(_TOPICS, start=1)}
    known = [
        KnownTopic(name, ids[name], dict.fromkeys(_partitions(name), 0), _TOPICS[name])
        for name in topics
    ]
    return apache_kafka(
        root,
        broker_id=1,
        cluster_id="golden-log-dirs-000000",
        log_dirs=[str(dirs / name) for name in LOG_DIRS],
        topics=known,
        configs=_CONFIGS,
    )


def _partitions(topic: str) -> Sequence[int]:
    logs = [log.rsplit("-", 1) for place in _PLACES.values() for log in place]
    return sorted(int(partition) for name, partition in logs if name == topic)


def _write_all(kafka: ApacheKafka) -> None:
    client = BlockingClient(HOST, kafka.port)
    for log, count in _COUNTS.items():
        topic, partition = log.rsplit("-", 1)
        producer_id = _producer_id(kafka, client) if log == "plain-1" else -1
        for first in range(0, count, _BATCH_RECORDS):
            numbers = range(first, min(first + _BATCH_RECORDS, count))
            batch = [record(number, has_nulls=topic == "compacted") for number in numbers]
            options = BatchOptions(
                compression=Compression(first // _CODEC_RECORDS if topic == "codecs" else 0),
                producer_id=producer_id,
                producer_epoch=-1 if producer_id < 0 else 0,
                base_sequence=-1 if producer_id < 0 else first,
            )
            _produce(client, topic, int(partition), bytes(build_batch(batch, options)))
    client.close()
    _write_transactions(kafka.port)


def _producer_id(kafka: ApacheKafka, client: BlockingClient) -> int:
    """Return one of a new block, which the broker asks for when the first id is wanted."""
    ids: list[int] = []

    def is_given() -> bool:
        answer = client.request(InitProducerIdRequest(transactional_id=None), 4)
        assert answer.error_code in {0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}, answer
        ids.append(answer.producer_id)
        return answer.error_code == 0

    kafka.until(is_given)
    return ids[-1]


def _produce(client: BlockingClient, topic: str, partition: int, records: bytes) -> None:
    data = PartitionProduceData(index=partition, records=records)
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    answer = client.request(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics), 9)
    (told,) = answer.responses[0].partition_responses
    assert told.error_code == 0, f"{topic}-{partition}: {told}"


def _write_transactions(port: int) -> None:
    first = 0
    for name, count, commits in (
        ("A", 150, True),
        ("B", 100, False),
        ("A2", 150, True),
        ("B", 50, False),
    ):
        producer = _transactional(port, name)
        for number in range(first, first + count):
            value = b"t-%s-%d" % (name.encode(), number)
            producer.produce("txn", value, b"k", 0, timestamp=FIRST_MS + number)
        producer.flush(DEADLINE_S)
        if commits:
            producer.commit_transaction(DEADLINE_S)
        else:
            producer.abort_transaction(DEADLINE_S)
        first += count


def _leave_open(port: int) -> None:
    producer = _transactional(port, "open")
    for number in range(10):
        producer.produce("txn", b"open-%d" % number, partition=0)
    assert producer.flush(DEADLINE_S) == 0


def _transactional(port: int, name: str) -> Producer:
    options: dict[str, Any] = {
        "bootstrap.servers": f"{HOST}:{port}",
        "transactional.id": name,
        "transaction.timeout.ms": _OPEN_TIMEOUT_MS,
        "linger.ms": 200,
    }
    producer = Producer(options)
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    return producer


def _move_and_delete(kafka: ApacheKafka, dirs: Path) -> None:
    client = BlockingClient(HOST, kafka.port)
    topics = [AlterReplicaLogDirTopic(name="moving", partitions=[0])]
    order = AlterReplicaLogDir(path=str(dirs / "d2"), topics=topics)
    answer = client.request(AlterReplicaLogDirsRequest(dirs=[order]), 2)
    assert answer.results[0].partitions[0].error_code == 0, answer
    kafka.until(
        lambda: (dirs / "d2" / "moving-0").is_dir() and any(dirs.glob("d1/moving-0.*-delete"))
    )
    told = client.request(DeleteTopicsRequest(topic_names=["deleted"], timeout_ms=10_000), 5)
    assert told.responses[0].error_code == 0, told
    kafka.until(lambda: any(dirs.glob("d2/deleted-0.*-delete")))
    client.close()


def _is_cleaned(dirs: Path) -> bool:
    """Tell whether the log is cleaned up to the segment that is written to."""
    file = dirs / "d1" / "cleaner-offset-checkpoint"
    return file.exists() and "compacted 0 1780" in file.read_text().splitlines()


def _end_offset(port: int, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": f"{HOST}:{port}", "group.id": "golden"})
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=DEADLINE_S)
    consumer.close()
    return int(high)
