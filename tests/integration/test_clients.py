"""Two client libraries, unchanged, against a healthy cluster."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import (  # its own examples import these names from here
    AdminClient,
    ConfigResource,  # pyright: ignore[reportPrivateImportUsage]
    NewPartitions,  # pyright: ignore[reportPrivateImportUsage]
    NewTopic,  # pyright: ignore[reportPrivateImportUsage]
    ResourceType,  # pyright: ignore[reportPrivateImportUsage]
)
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition

from tests.deadlines import DEADLINE_S
from tests.integration.labs import (
    KEPT,
    Lab,
    consume_with_confluent,
    kafka_admin,
    produce_with_confluent,
)


def confluent_admin(lab: Lab) -> Any:
    return AdminClient({"bootstrap.servers": ",".join(lab.servers)})


def read_values(lab: Lab, topic: str, count: int) -> list[bytes]:
    consumer: Any = KafkaConsumer(
        bootstrap_servers=lab.servers, group_id=None, consumer_timeout_ms=DEADLINE_S * 1000
    )
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        return [next(consumer).value for _ in range(count)]
    finally:
        consumer.close()


def test_what_kafka_python_writes_with_acks_all_librdkafka_reads(shared_lab: Lab) -> None:
    shared_lab.create("python-to-c")
    producer: Any = KafkaProducer(
        bootstrap_servers=shared_lab.servers, acks="all", enable_idempotence=True
    )
    values = [b"%d" % number for number in range(500)]
    futures = [producer.send("python-to-c", value=value) for value in values]
    assert [future.get(timeout=DEADLINE_S).offset for future in futures] == list(range(500))
    producer.close()
    assert consume_with_confluent(shared_lab, "python-to-c", 500) == values


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_librdkafka_writes_in_any_codec_kafka_python_reads(
    shared_lab: Lab, codec: str
) -> None:
    topic = f"c-to-python-{codec}"
    shared_lab.create(topic)
    values = [b"%d %s" % (number, b"x" * 200) for number in range(200)]
    produce_with_confluent(shared_lab, topic, values, **{"compression.type": codec})
    if codec in ("none", "gzip"):  # kafka-python itself reads the others only with more packages
        assert read_values(shared_lab, topic, 200) == values
    assert consume_with_confluent(shared_lab, topic, 200) == values


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement_arrives(shared_lab: Lab, acks: Any) -> None:
    topic = f"acks-{acks}"
    shared_lab.create(topic)
    producer: Any = KafkaProducer(
        bootstrap_servers=shared_lab.servers, acks=acks, enable_idempotence=False
    )
    for number in range(50):
        producer.send(topic, value=b"%d" % number)
    producer.flush(timeout=DEADLINE_S)
    producer.close()
    assert read_values(shared_lab, topic, 50) == [b"%d" % number for number in range(50)]


def test_offsets_are_found_by_time_and_at_both_ends(shared_lab: Lab) -> None:
    shared_lab.create("offsets", configs=KEPT)
    producer: Any = KafkaProducer(bootstrap_servers=shared_lab.servers)
    for number in range(10):
        producer.send("offsets", value=b"x", timestamp_ms=1_000_000 + number).get(DEADLINE_S)
    producer.close()
    consumer: Any = KafkaConsumer(bootstrap_servers=shared_lab.servers, group_id=None)
    partition = TopicPartition("offsets", 0)
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 10}
    assert consumer.offsets_for_times({partition: 1_000_004})[partition].offset == 4
    consumer.close()


def test_topics_are_created_grown_and_deleted_by_librdkafka(shared_lab: Lab) -> None:
    admin = confluent_admin(shared_lab)
    created = admin.create_topics([NewTopic("grown", 2, 3, config={"retention.ms": "5000"})])
    created["grown"].result(DEADLINE_S)
    admin.create_partitions([NewPartitions("grown", 4)])["grown"].result(DEADLINE_S)
    shared_lab.cluster.wait_until(
        lambda asked: len(asked.any_view(["grown"]).partitions) == 4, "grown has four partitions"
    )
    admin.delete_topics(["grown"])["grown"].result(DEADLINE_S)
    shared_lab.cluster.wait_until(
        lambda asked: not asked.any_view(["grown"]).partitions, "grown is gone"
    )


def test_a_topics_configuration_is_described_with_its_source(shared_lab: Lab) -> None:
    shared_lab.create("described", configs={"retention.ms": "5000"})
    resource = ConfigResource(ResourceType.TOPIC, "described")
    admin = confluent_admin(shared_lab)  # its answers end with it
    answer = admin.describe_configs([resource])
    entries = answer[resource].result(DEADLINE_S)
    assert (entries["retention.ms"].value, entries["retention.ms"].source) == ("5000", 1)
    assert (entries["segment.bytes"].value, entries["segment.bytes"].source) == ("1073741824", 5)


def test_an_existing_topic_is_refused_with_its_own_error(shared_lab: Lab) -> None:
    shared_lab.create("once")
    admin = confluent_admin(shared_lab)  # its answers end with it
    answer = admin.create_topics([NewTopic("once", 1, 3)])
    with pytest.raises(Exception, match="TOPIC_ALREADY_EXISTS"):
        answer["once"].result(DEADLINE_S)


@pytest.mark.scenario(113)
def test_every_replica_is_described_under_its_own_log_dir(shared_lab: Lab) -> None:
    shared_lab.create("spread", 10)
    with kafka_admin(shared_lab) as client:
        described: list[dict[str, Any]] = client.describe_log_dirs()
    for broker in described:
        held = [
            partition["partition_index"]
            for log_dir in broker["log_dirs"]
            for topic in log_dir["topics"]
            if topic["name"] == "spread"
            for partition in topic["partitions"]
        ]
        assert sorted(held) == list(range(10))
        assert all(log_dir["total_bytes"] > 0 for log_dir in broker["log_dirs"])


@pytest.mark.scenario(258)
def test_new_replicas_are_spread_evenly_over_the_log_dirs(shared_lab: Lab) -> None:
    shared_lab.create("even", 9)
    for broker in (1, 2, 3):
        counts = [
            sum(not replica.is_future for replica in view.replicas)
            for view in shared_lab.admin.log_dirs(broker)
        ]
        assert max(counts) - min(counts) <= 1
