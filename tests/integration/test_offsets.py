"""ListOffsets and DeleteRecords at the oldest and the newest version, and as kafka-python asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from protocol.errors import ErrorCode
from protocol.messages.offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.integration.labs import DEADLINE_MS, KEPT, Lab, kafka_admin
from tests.integration.test_kip_18 import break_dir

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
NOT_FOUND = (ErrorCode.NONE, -1, -1)


def filled(lab: Lab, topic: str) -> str:
    """Create a topic led by broker 1 with records of 1000 to 1009 ms, the last but one newest."""
    lab.create(topic, assignment={0: [1, 2, 3]}, configs=KEPT)
    producer = Producer({"bootstrap.servers": ",".join(lab.servers), "acks": "all"})
    for number in (0, 1, 2, 3, 4, 5, 6, 7, 9, 8):
        producer.produce(topic, b"v", timestamp=1_000 + number)
        assert producer.flush(DEADLINE_MS / 1000) == 0, "one batch per record"
    return topic


def listed(lab: Lab, version: int, topic: str, *timestamps: int, broker: int = 1) -> list[Any]:
    """Return (code, offset, timestamp) for each; of version 0 the offset alone."""
    found: list[Any] = []
    for timestamp in timestamps:
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])]
        )
        (row,) = lab.ask(request, version, broker=broker).topics[0].partitions
        if version == 0:
            found.append((row.error_code, *row.old_style_offsets))
        else:
            found.append((row.error_code, row.offset, row.timestamp))
    return found


def deleted(
    lab: Lab, version: int, offsets: Sequence[tuple[str, int]], *, broker: int = 1
) -> list[tuple[int, int]]:
    """Delete records of partitions 0 below offsets; return codes and low watermarks."""
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)]
            )
            for topic, offset in offsets
        ],
        timeout_ms=DEADLINE_MS,
    )
    response = lab.ask(request, version, broker=broker)
    return [(t.partitions[0].error_code, t.partitions[0].low_watermark) for t in response.topics]


def test_offsets_are_listed_by_time(shared_lab: Lab) -> None:
    topic = filled(shared_lab, "timed")

    assert listed(shared_lab, 0, topic, LATEST, EARLIEST) == [(0, 10), (0, 0)]
    for version in (1, 9):
        assert listed(shared_lab, version, topic, LATEST, EARLIEST, 0, 1_004, 1_008, 1_009) == [
            (0, 10, -1),
            (0, 0, -1),
            (0, 0, 1_000),
            (0, 4, 1_004),
            (0, 8, 1_009),
            (0, 8, 1_009),
        ]
        assert listed(shared_lab, version, topic, 1_010) == [NOT_FOUND]
    assert listed(shared_lab, 9, topic, MAX_TIMESTAMP) == [(0, 8, 1_009)]
    for version in (1, 9):
        refused = (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
        assert listed(shared_lab, version, topic, LATEST, broker=2) == [refused]


@pytest.mark.parametrize("version", [0, 2])
def test_records_are_deleted_on_every_replica(shared_lab: Lab, version: int) -> None:
    lab, topic = shared_lab, filled(shared_lab, f"cut-{version}")

    assert deleted(lab, version, [(topic, 4), ("nowhere", 1)]) == [
        (ErrorCode.NONE, 4),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert listed(lab, 9, topic, EARLIEST, 1_000) == [(0, 4, -1), (0, 4, 1_004)]
    assert deleted(lab, version, [(topic, 2)]) == [(ErrorCode.NONE, 4)], "it goes up only"
    assert deleted(lab, version, [(topic, 11)]) == [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    refused = (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert deleted(lab, version, [(topic, 5)], broker=2) == [refused]
    assert deleted(lab, version, [(topic, -1)]) == [(ErrorCode.NONE, 10)]
    assert listed(lab, 9, topic, EARLIEST, LATEST, 0) == [(0, 10, -1), (0, 10, -1), NOT_FOUND]


def test_kafka_python_sees_what_was_deleted(shared_lab: Lab) -> None:
    topic = filled(shared_lab, "python")
    partition = TopicPartition(topic, 0)
    with kafka_admin(shared_lab) as client:
        client.delete_records({partition: 3})
    consumer: Any = KafkaConsumer(
        bootstrap_servers=shared_lab.servers,
        group_id=None,
        consumer_timeout_ms=DEADLINE_MS,
        auto_offset_reset="earliest",
    )
    try:
        assert consumer.beginning_offsets([partition]) == {partition: 3}
        assert consumer.end_offsets([partition]) == {partition: 10}
        times = consumer.offsets_for_times({partition: 1_000})
        assert (times[partition].offset, times[partition].timestamp) == (3, 1_003)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        assert [next(consumer).offset for _ in range(7)] == list(range(3, 10))
    finally:
        consumer.close()


def test_offsets_on_a_broken_log_dir_are_a_storage_error_at_every_version(lab: Lab) -> None:
    topic = filled(lab, "broken")
    break_dir(lab, 1, topic)
    lab.wait_for_new_leader(topic, 1)

    assert listed(lab, 0, topic, LATEST) == [(ErrorCode.KAFKA_STORAGE_ERROR,)]
    for version in (1, 9):
        assert (
            listed(lab, version, topic, LATEST, EARLIEST, 1_004)
            == [(ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)] * 3
        )
    for version in (0, 2):
        assert deleted(lab, version, [(topic, 4)]) == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
    leader = lab.partition(topic).leader
    assert listed(lab, 9, topic, LATEST, 1_004, broker=leader) == [(0, 10, -1), (0, 4, 1_004)]
