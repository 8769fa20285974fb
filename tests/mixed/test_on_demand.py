"""Topics of a first use: Apache Kafka's brokers make them, jbodlab's controller has them led."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from tests.deadlines import DEADLINE_S
from tests.mixed.apache_nodes import HOST, ApacheNodes
from tests.mixed.election import elections
from tests.mixed.jbodlab_broker import BROKER_ID, joined
from tests.mixed.mixed_lab import GROUP, TRANSACTION, MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
APACHE: Final = (1, 2)
CONFIGS: Final = {
    "auto.create.topics.enable": "true",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "zookeeper.session.timeout.ms": "6000",
}


@pytest.fixture(scope="module")
def fresh(lab: MixedLab) -> Generator[MixedLab]:
    """Two brokers of Apache Kafka and one of jbodlab, the controller, without any topic."""
    connect = f"{lab.nodes.zookeeper_connect}/fresh"
    with ApacheNodes(lab.nodes.folder / "fresh", APACHE, connect) as nodes:
        nodes.start_brokers(dict.fromkeys(APACHE, CONFIGS))
        nodes.wait_until(
            lambda: len(cluster_behind(nodes.bootstrap).brokers) == len(APACHE),
            "all brokers are known",
        )
        with (
            ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin,
            elections(nodes) as looking,
            joined(MixedLab(nodes, admin)) as (both, broker),
        ):
            broker.stand()
            looking.elect(BROKER_ID.__eq__)
            both.wait_until(
                lambda: both.controller_id() == BROKER_ID, "brokers know the controller"
            )
            yield both


def only(fresh: MixedLab, broker_id: int) -> str:
    """Return the address of one broker, for clients that begin there."""
    return f"{HOST}:{fresh.nodes.ports[broker_id]}"


def test_a_topic_is_made_by_the_broker_that_is_asked_for_it_and_read_by_a_group(
    fresh: MixedLab,
) -> None:
    producer = Producer({"bootstrap.servers": only(fresh, 1), "acks": "all"})
    producer.produce("used", b"first")
    assert producer.flush(DEADLINE_S) == 0
    fresh.wait_for_isr("used", 3)

    settings = {"bootstrap.servers": only(fresh, 2), "group.id": "readers"}
    with closing(Consumer(settings | {"auto.offset.reset": "earliest"})) as consumer:
        consumer.subscribe(["used"])
        record = consumer.poll(DEADLINE_S)
        assert record is not None
        assert (record.error(), record.value()) == (None, b"first")
        partition = TopicPartition("used", 0, 1)
        [committed] = consumer.commit(offsets=[partition], asynchronous=False) or []
        assert committed.error is None
    assert fresh.coordinator("readers", GROUP) in {*APACHE, BROKER_ID}
    fresh.wait_for_isr("__consumer_offsets", 3)


def test_a_transaction_ends_whose_coordinators_topic_did_not_exist(fresh: MixedLab) -> None:
    producer = Producer({"bootstrap.servers": only(fresh, 1), "transactional.id": "pays"})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("paid", b"once")
    producer.commit_transaction(DEADLINE_S)
    assert fresh.coordinator("pays", TRANSACTION) in {*APACHE, BROKER_ID}
    fresh.wait_for_isr("__transaction_state", 3)
