"""Log dirs go from jbodlab to Apache Kafka 3.9.2 and back, and every record is where it was.

Needs Java and Maven (for Kafka's jars); skipped without them. Dirs written by Kafka alone are
opened in tests/broker/storage/test_recovery.py.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peer.kafka import VERSION
from broker.storage.checkpoints import parse_leader_epochs
from broker.storage.layout import LEADER_EPOCH_FILE, parse_dir_name
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import CONTROLLER
from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.entries import iterate_entries
from protocol.records.records import Record, iterate_all_records
from tests.integration.apache_kafka import BUILD_DIR, ApacheKafka, KnownTopic, apache_kafka, jars
from tests.integration.labs import FAST, Lab, running_lab
from tests.kafka_tools.tools import KafkaTools

TOPIC = "handed-over"
PARTITIONS = 3
CONFIGS = {
    "segment.bytes": "16384",
    "index.interval.bytes": "512",
    "min.insync.replicas": "1",
}
PRODUCER_ID = 4000
RECORDS_PER_BATCH = 10
CODECS = tuple(Compression)


@dataclass(slots=True)
class Client:
    """Writes and reads batch by batch, whoever serves."""

    port: int
    sequences: dict[int, int]
    """By partition; lives on from one server to the next."""
    written: dict[int, list[Record]]
    began_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Now, as Kafka forgets producers whose last record is older than a day."""
    rpc: BlockingClient = field(init=False)

    def __post_init__(self) -> None:
        self.rpc = BlockingClient("127.0.0.1", self.port)

    def topic_id(self) -> bytes:
        names = [MetadataRequestTopic(name=TOPIC)]
        answer: Any = self.rpc.request(MetadataRequest(topics=names), 12)
        (topic,) = answer.topics
        assert topic.topic_id != ZERO_UUID
        return topic.topic_id

    def produce(self, partition: int, batches: int) -> None:
        """Write idempotent batches in turn with every codec; keep what was written."""
        for _ in range(batches):
            batch, base_offset = self._next_batch(partition)
            error, offset = self.send(partition, batch)
            assert (error, offset) == (0, base_offset)
            self.written[partition].extend(
                one._replace(offset=offset + index)
                for index, one in enumerate(iterate_all_records(batch))
            )
            self.sequences[partition] += RECORDS_PER_BATCH

    def _next_batch(self, partition: int) -> tuple[bytearray, int]:
        base_offset = len(self.written[partition])
        batch = build_batch(
            [
                NewRecord(
                    b"value %d " % (base_offset + index) + b"x" * (index * 7),
                    key=None if index % 4 == 0 else b"key %d" % index,
                    timestamp_ms=self.began_ms + base_offset + index,
                    headers=(("h", b"v"), ("null", None)) if index % 3 == 0 else (),
                )
                for index in range(RECORDS_PER_BATCH)
            ],
            BatchOptions(
                compression=CODECS[base_offset // RECORDS_PER_BATCH % len(CODECS)],
                producer_id=PRODUCER_ID + partition,
                producer_epoch=0,
                base_sequence=self.sequences[partition],
            ),
        )
        return batch, base_offset

    def send(self, partition: int, batch: bytearray) -> tuple[int, int]:
        """Return error code and base offset."""
        data = TopicProduceData(
            name=TOPIC,
            partition_data=[PartitionProduceData(index=partition, records=bytes(batch))],
        )
        answer: Any = self.rpc.request(
            ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]), 9
        )
        (topic,) = answer.responses
        (result,) = topic.partition_responses
        return result.error_code, result.base_offset

    def send_last_again(self, partition: int) -> tuple[int, int]:
        """Repeat the last batch, as a client does that saw no answer."""
        last = self.written[partition][-RECORDS_PER_BATCH:]
        options = BatchOptions(
            producer_id=PRODUCER_ID + partition,
            producer_epoch=0,
            base_sequence=self.sequences[partition] - RECORDS_PER_BATCH,
        )
        records = [NewRecord(one.value, one.key, one.timestamp_ms, one.headers) for one in last]
        return self.send(partition, build_batch(records, options))

    def read(self, partition: int) -> list[Record]:
        """Fetch everything from the start up to the high watermark."""
        records: list[Record] = []
        while True:
            offset = records[-1].offset + 1 if records else 0
            wanted = FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            request = FetchRequest(
                max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=TOPIC, partitions=[wanted])]
            )
            answer: Any = self.rpc.request(request, 11)
            (topic,) = answer.responses
            (result,) = topic.partitions
            assert result.error_code == 0
            found = bytes(result.records or b"")
            if not any(True for _ in iterate_entries(found)):
                assert offset == result.high_watermark
                return records
            records += [one for one in iterate_all_records(found) if one.offset >= offset]

    def epoch_ends(self, partition: int, epochs: Sequence[int]) -> list[tuple[int, int]]:
        """Return (epoch, end offset) of each epoch as the leader answers."""
        asked = [
            OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=one)
            for one in epochs
        ]
        ends: list[tuple[int, int]] = []
        for one in asked:
            topic = OffsetForLeaderTopic(topic=TOPIC, partitions=[one])
            answer: Any = self.rpc.request(
                OffsetForLeaderEpochRequest(replica_id=-2, topics=[topic]), 3
            )
            (found,) = answer.topics
            (result,) = found.partitions
            assert result.error_code == 0
            ends.append((result.leader_epoch, result.end_offset))
        return ends


class Story:
    """One set of log dirs and what was written to them."""

    def __init__(self, lab: Lab, root: Path) -> None:
        self.lab = lab
        self.root = root
        self.sequences = dict.fromkeys(range(PARTITIONS), 0)
        self.written: dict[int, list[Record]] = {index: [] for index in range(PARTITIONS)}
        (broker,) = lab.cluster.spec.brokers
        self.broker = broker
        self.log_dirs = [one.path for one in broker.log_dirs]

    @contextmanager
    def client(self, port: int) -> Generator[Client]:
        client = Client(port, self.sequences, self.written)
        try:
            yield client
        finally:
            client.rpc.close()

    def check(self, client: Client) -> None:
        """Everything is there, and the producers are known: a repetition is answered as such."""
        for partition, written in self.written.items():
            assert client.read(partition) == written
            last = written[-RECORDS_PER_BATCH].offset
            assert client.send_last_again(partition) == (0, last)
            assert client.read(partition) == written

    def leader_epochs(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for log_dir in self.log_dirs:
            for path in Path(log_dir).glob(f"{TOPIC}-*/{LEADER_EPOCH_FILE}"):
                name = parse_dir_name(path.parent.name)
                assert name.topic_partition == TopicPartition(TOPIC, name.topic_partition.partition)
                found[name.topic_partition.partition] = parse_leader_epochs(path.read_bytes())
        return found

    def end_jbodlab(self, how: str) -> None:
        name = broker_node(self.broker.id)
        if how == "kill":
            self.lab.cluster.kill(name)
        else:
            self.lab.cluster.stop([name])
        self.lab.cluster.stop([CONTROLLER])

    @contextmanager
    def kafka(self, topic_id: bytes) -> Generator[ApacheKafka]:
        """Run Apache Kafka on the log dirs, each partition in the leader epoch that it has."""
        epochs = {number: known[-1][0] for number, known in self.leader_epochs().items()}
        topic = KnownTopic(TOPIC, topic_id, epochs, CONFIGS)
        with apache_kafka(
            self.root / "kafka",
            broker_id=self.broker.id,
            cluster_id=self.lab.cluster.spec.cluster_id,
            log_dirs=self.log_dirs,
            topics=[topic],
        ) as kafka:
            yield kafka


@pytest.fixture
def story(tmp_path: Path) -> Generator[Story]:
    """A broker with three log dirs whose partitions have two leader epochs and many segments."""
    jars()
    with running_lab(tmp_path / "lab", LabShape(brokers=1, configs=FAST)) as lab:
        told = Story(lab, tmp_path)
        lab.create(TOPIC, PARTITIONS, configs=CONFIGS, replication_factor=1)
        for batches in (40, 20):
            with told.client(told.broker.port) as client:
                for partition in range(PARTITIONS):
                    client.produce(partition, batches + partition)
            lab.cluster.restart_broker(told.broker.id)
            lab.wait_for_full_isr(TOPIC)
        yield told


@pytest.mark.sampled_among("log dirs that Apache Kafka reads", kept=1)
@pytest.mark.parametrize("how", ["clean", "kill"])
def test_kafka_serves_what_jbodlab_wrote_and_the_other_way_round(story: Story, how: str) -> None:
    port = story.broker.port
    with story.client(port) as client:
        topic_id = client.topic_id()
        client.produce(0, 1)
        story.check(client)
        ends = [client.epoch_ends(number, range(5)) for number in range(PARTITIONS)]
    assert all(len(known) >= 2 for known in story.leader_epochs().values())
    story.end_jbodlab(how)

    with story.kafka(topic_id) as kafka, story.client(kafka.port) as client:
        story.check(client)
        assert [client.epoch_ends(number, range(5)) for number in range(PARTITIONS)] == ends
        for number in range(PARTITIONS):
            client.produce(number, 15)
        story.check(client)
        kafka.kill() if how == "kill" else kafka.stop()
        loaded = kafka.log.read_text()
    if how == "clean":
        assert "Skipping recovery" in loaded
    assert "Found invalid" not in loaded
    assert "CorruptIndexException" not in loaded

    story.lab.cluster.start_controller()
    story.lab.cluster.start_broker(story.broker.id)
    story.lab.wait_for_full_isr(TOPIC)
    with story.client(port) as client:
        story.check(client)
        client.produce(1, 5)
        story.check(client)


@pytest.mark.sampled_among("log dirs that Apache Kafka reads", kept=1)
def test_kafkas_dump_tool_finds_nothing_wrong_with_what_jbodlab_wrote(story: Story) -> None:
    story.end_jbodlab("clean")
    suffixes = (".log", ".index", ".timeindex", ".snapshot")
    files = sorted(
        str(path)
        for log_dir in story.log_dirs
        for path in Path(log_dir).glob(f"{TOPIC}-*/*")
        if path.suffix in suffixes
    )
    listed = ",".join(files)
    jars()
    with closing(KafkaTools(VERSION, BUILD_DIR, story.root, "")) as tools:
        dumped = tools.run("kafka-dump-log --deep-iteration --files", listed)
        sane = tools.run("kafka-dump-log --index-sanity-check --files", listed)
    assert (dumped.code, sane.code) == (0, 0)
    assert "isvalid: true" in dumped.out
    assert "producerId: 4000" in dumped.out
    faults = (
        "isvalid: false",
        "invalid bytes",
        "Mismatches",
        "mismatch",
        "out of order",
        "not found",
    )
    assert [fault for fault in faults if fault in dumped.out + dumped.err] == []
    assert "Exception" not in sane.out + sane.err
