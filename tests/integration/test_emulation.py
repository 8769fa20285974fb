"""Clients that negotiate versions, against brokers that show old and new releases of Kafka.

One cluster: the controller and the followers speak to each broker as it is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import IncompatibleBrokerVersion
from kafka.structs import TopicPartition

from jbodlab.processes.lab_spec import LabShape
from tests.integration.labs import (
    DEADLINE_MS,
    FAST,
    Lab,
    consume_with_confluent,
    produce_with_confluent,
    running_lab,
)

RELEASES = {1: "0.11", 2: "2.4", 3: "3.9"}


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """Three brokers, three releases."""
    shape = LabShape(configs=FAST, emulate=RELEASES)
    with running_lab(tmp_path_factory.mktemp("museum"), shape) as lab:
        yield lab


def create_led_by(lab: Lab, broker: int, topic: str) -> str:
    """Create a topic that ``broker`` leads and the two others follow."""
    others = [other for other in RELEASES if other != broker]
    lab.create(topic, assignment={0: [broker, *others]})
    return topic


def server_of(lab: Lab, broker: int) -> str:
    own = lab.cluster.spec.broker(broker)
    return f"{own.advertised_host}:{own.advertised_port}"


@pytest.mark.parametrize("broker", RELEASES)
def test_kafka_python_writes_and_reads(museum: Lab, broker: int) -> None:
    topic = create_led_by(museum, broker, f"python-{RELEASES[broker]}")
    values = [b"python %d" % number for number in range(100)]
    producer: Any = KafkaProducer(bootstrap_servers=server_of(museum, broker), acks="all")
    futures = [producer.send(topic, value=value) for value in values]
    offsets = [future.get(timeout=DEADLINE_MS / 1000).offset for future in futures]
    assert offsets == list(range(100))
    producer.close()
    consumer: Any = KafkaConsumer(
        bootstrap_servers=server_of(museum, broker), consumer_timeout_ms=DEADLINE_MS
    )
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning(TopicPartition(topic, 0))
    assert [next(consumer).value for _ in values] == values
    consumer.close()


@pytest.mark.parametrize("broker", RELEASES)
def test_librdkafka_writes_and_reads(museum: Lab, broker: int) -> None:
    topic = create_led_by(museum, broker, f"c-{RELEASES[broker]}")
    values = [b"c %d" % number for number in range(100)]
    produce_with_confluent(museum, topic, values)
    assert consume_with_confluent(museum, topic, 100) == values


def test_an_admin_client_knows_what_the_release_lacks(museum: Lab) -> None:
    """DescribeLogDirs came with 1.0. The tools are answered by every broker."""
    for broker in (2, 3):
        with admin_of(museum, broker) as client:
            (described,) = client.describe_log_dirs(brokers=[broker])
            assert len(described["log_dirs"]) == 3
    with admin_of(museum, 1) as client, pytest.raises(IncompatibleBrokerVersion):
        client.describe_log_dirs(brokers=[1])
    assert len(museum.admin.log_dirs(1)) == 3


@contextmanager
def admin_of(lab: Lab, broker: int) -> Generator[Any]:
    """Connect to one broker alone: kafka-python takes the oldest release it meets for all."""
    client = KafkaAdminClient(bootstrap_servers=server_of(lab, broker))
    try:
        yield client
    finally:
        client.close()
