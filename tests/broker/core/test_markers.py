"""Markers on a leader: stamped, noted, fenced."""

from __future__ import annotations

import pytest

from broker.core.append import AppendLimits, prepare_append
from broker.core.markers import prepare_marker
from broker.core.partition import Partition
from broker.core.transactions import EndMarker, build_marker
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition
from protocol.records.batch import check_crc, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch


def partition_in_transaction() -> Partition:
    """A partition with one record of producer 7 at offset 0, replicated."""
    partition = Partition(TopicPartition("orders", 0), BrokerId(1))
    partition.leader_epoch = 4
    options = BatchOptions(producer_id=7, producer_epoch=2, base_sequence=0, is_transactional=True)
    prepare_append(
        build_batch([NewRecord(b"v")], options),
        next_offset=0,
        leader_epoch=4,
        limits=AppendLimits(),
        producers=partition.producers.states,
        now_ms=50,
    )
    partition.next_offset = partition.log_end_offset = partition.high_watermark = 1
    return partition


def test_a_marker_gets_the_next_offset_and_ends_the_transaction() -> None:
    partition = partition_in_transaction()
    marker = EndMarker(7, 2, 0, is_commit=False)
    batch = memoryview(build_marker(marker, 60))
    assert partition.last_stable_offset == 0
    prepared = prepare_marker(partition, marker, batch, is_log_append_time=False, now_ms=60)
    header = read_batch_header(batch)
    assert (prepared.first_offset, prepared.last_offset, prepared.log_append_time_ms) == (1, 1, -1)
    assert (header.base_offset, header.partition_leader_epoch) == (1, 4)
    assert partition.producers.states.first_open_offset == -1
    partition.high_watermark = 1
    assert partition.last_stable_offset == 0
    partition.high_watermark = 2
    assert partition.last_stable_offset == 2
    aborted = partition.producers.ended.aborted_between(0, 2)
    assert aborted is not None
    assert [tuple(one[:3]) for one in aborted] == [(7, 0, 1)]


def test_a_topic_with_append_time_stamps_markers_as_well() -> None:
    partition = partition_in_transaction()
    marker = EndMarker(7, 2, 0, is_commit=True)
    batch = memoryview(build_marker(marker, 60))
    prepared = prepare_marker(partition, marker, batch, is_log_append_time=True, now_ms=99)
    header = read_batch_header(batch)
    assert prepared.log_append_time_ms == header.max_timestamp == 99
    assert header.is_log_append_time
    assert check_crc(batch, 0, header)


def test_a_fenced_marker_changes_nothing() -> None:
    partition = partition_in_transaction()
    marker = EndMarker(7, 1, 0, is_commit=True)
    batch = memoryview(build_marker(marker, 60))
    before = bytes(batch)
    with pytest.raises(KafkaError) as caught:
        prepare_marker(partition, marker, batch, is_log_append_time=False, now_ms=60)
    assert caught.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert bytes(batch) == before
    assert partition.last_stable_offset == 0
