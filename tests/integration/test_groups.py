"""Offsets of groups, by clients as they are: kept through restarts and failing disks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from broker.core.coordination import partition_for
from protocol.topic_names import CONSUMER_OFFSETS
from tests.deadlines import DEADLINE_S
from tests.integration.labs import Lab

pytestmark = pytest.mark.sampled_among("offsets of groups", kept=1)

GROUP = "readers"
ORDERS = TopicPartition("orders", 0)


@contextmanager
def reader(lab: Lab) -> Generator[Any]:
    """Give kafka-python's consumer, which assigns its partition itself and has a group."""
    consumer: Any = KafkaConsumer(
        bootstrap_servers=lab.servers, group_id=GROUP, enable_auto_commit=False
    )
    try:
        consumer.assign([ORDERS])
        yield consumer
    finally:
        consumer.close()


def commit(lab: Lab, offset: int) -> None:
    with reader(lab) as consumer:
        consumer.commit({ORDERS: OffsetAndMetadata(offset, "by kafka-python", -1)})


def committed(lab: Lab) -> int:
    with reader(lab) as consumer:
        return consumer.committed(ORDERS)


def coordinator(lab: Lab) -> tuple[int, int]:
    """Return the partition of the group and who leads it."""
    index = partition_for(GROUP, len(lab.admin.any_view([CONSUMER_OFFSETS]).partitions))
    return index, lab.partition(CONSUMER_OFFSETS, index).leader


def test_offsets_outlive_a_restart_of_their_coordinator(lab: Lab) -> None:
    lab.create("orders")
    commit(lab, 5)
    view = lab.admin.any_view([CONSUMER_OFFSETS])
    assert [len(each.replicas) for each in view.partitions] == [3] * 50
    lab.wait_for_full_isr(CONSUMER_OFFSETS)
    _, leader = coordinator(lab)
    lab.cluster.restart_broker(leader)
    assert committed(lab) == 5
    commit(lab, 6)
    assert committed(lab) == 6


@pytest.mark.scenario(64)
def test_no_committed_offset_is_lost_when_the_disk_under_it_fails(lab: Lab) -> None:
    lab.create("orders")
    commit(lab, 5)
    lab.wait_for_full_isr(CONSUMER_OFFSETS)
    index, leader = coordinator(lab)
    with reader(lab) as consumer:
        for offset in range(6, 100):
            consumer.commit({ORDERS: OffsetAndMetadata(offset, "", -1)})
            if offset == 50:
                path = lab.log_dir_of(leader, CONSUMER_OFFSETS, index).path
                lab.control(leader).fail(path, "eio")
    assert coordinator(lab)[1] != leader
    assert committed(lab) == 99


def test_librdkafka_reads_on_where_its_group_was(lab: Lab) -> None:
    lab.create("orders")
    configs = {"bootstrap.servers": ",".join(lab.servers), "group.id": GROUP}
    first = Consumer({**configs, "enable.auto.commit": False})
    first.commit(offsets=[ConfluentPartition("orders", 0, 7)], asynchronous=False)
    first.close()
    second = Consumer(configs)
    (found,) = second.committed([ConfluentPartition("orders", 0)], timeout=DEADLINE_S)
    second.close()
    assert (found.offset, found.error) == (7, None)
