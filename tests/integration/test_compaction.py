"""Compaction in real processes, read by two client libraries, and after a kill."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from confluent_kafka import Producer
from kafka.structs import TopicPartition

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.load import reader
from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from tests.integration.labs import DEADLINE_MS, FAST, Lab, running_lab

COUNT = 3_000
KEYS = 20
SEGMENT_BYTES = 20_000
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "min.insync.replicas": "2",
}


@pytest.fixture
def cleaning_lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """A cluster whose cleaners look for work all the time."""
    shape = LabShape(configs={**FAST, "log.cleaner.backoff.ms": "100"})
    with running_lab(tmp_path_factory.mktemp("lab"), shape) as lab:
        yield lab


def produce(lab: Lab, topic: str, codec: str) -> dict[bytes, bytes]:
    """Write ``COUNT`` records of few keys; return the last value of each."""
    producer = Producer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "enable.idempotence": True,
            "linger.ms": 1,
            "compression.type": codec,
            "batch.num.messages": 50,
        }
    )
    last: dict[bytes, bytes] = {}
    for number in range(COUNT):
        key, value = b"key-%d" % (number % KEYS), b"%d %s" % (number, b"x" * 90)
        last[key] = value
        producer.produce(topic, value, key)
    assert producer.flush(DEADLINE_MS / 1000) == 0
    return last


def read_table(lab: Lab, topic: str) -> tuple[dict[bytes, bytes], list[int]]:
    """Read all with kafka-python; return the last value of each key, and the offsets."""
    consumer = reader(lab.servers)
    table: dict[bytes, bytes] = {}
    offsets: list[int] = []
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for record in consumer.poll(timeout_ms=1000).get(partition, []):
                table[record.key] = record.value
                offsets.append(record.offset)
        return table, offsets
    finally:
        consumer.close()


def wait_until_compacted(lab: Lab, topic: str) -> None:
    def small(admin: ClusterAdmin) -> bool:
        sizes = [
            replica.size_bytes
            for broker in lab.running_brokers()
            for view in admin.log_dirs(broker)
            for replica in view.replicas
            if replica.topic == topic
        ]
        return len(sizes) == 3 and max(sizes) < 3 * SEGMENT_BYTES

    lab.cluster.wait_until(small, f"{topic} is compacted everywhere", DEADLINE_MS)


@pytest.mark.sampled("codec", kept=1)
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_consumers_see_the_last_value_of_each_key_also_after_a_kill(
    cleaning_lab: Lab, codec: str
) -> None:
    lab, topic = cleaning_lab, f"table-{codec}"
    lab.create(topic, configs=CONFIGS)
    last = produce(lab, topic, codec)
    wait_until_compacted(lab, topic)
    # What gzip packed is small before any of it is compacted.
    lab.cluster.wait_until(
        lambda _admin: len(read_table(lab, topic)[1]) < COUNT / 2,
        f"{topic} has half of its records at most",
        DEADLINE_MS,
    )
    table, offsets = read_table(lab, topic)
    assert table == last
    assert offsets == sorted(set(offsets))
    leader = lab.partition(topic).leader
    lab.cluster.kill(broker_node(leader))
    lab.wait_for_new_leader(topic, leader)
    assert read_table(lab, topic)[0] == last
    lab.cluster.start_broker(leader)
    lab.wait_for_full_isr(topic)
    assert read_table(lab, topic)[0] == last
