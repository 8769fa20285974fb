"""Batches, markers and entries of one idempotent producer, in a few words."""

from __future__ import annotations

import pytest

from broker.core.producer_entry import Duplicate, ProducerEntry
from broker.core.producers import ProducerStates
from broker.core.transactions import EndMarker
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import TRANSACTIONAL_BIT, BatchHeader

DAY_MS = 86_400_000


def header(
    sequence: int,
    *,
    count: int = 1,
    producer: int = 7,
    epoch: int = 0,
    offset: int = 0,
    attributes: int = 0,
    timestamp: int = 1000,
) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        batch_length=49,
        partition_leader_epoch=-1,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        records_count=count,
    )


def append(states: ProducerStates, batch: BatchHeader, offset: int) -> Duplicate | None:
    duplicate = states.check(batch)
    if duplicate is None:
        states.update(batch, offset)
    return duplicate


def error_of(states: ProducerStates, batch: BatchHeader) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        states.check(batch)
    return caught.value.code


def entry(
    *,
    last_sequence: int = 4,
    last_offset: int = 104,
    timestamp: int = 1000,
    transaction_first_offset: int = -1,
) -> ProducerEntry:
    return ProducerEntry(
        7, 0, last_sequence, last_offset, 1, timestamp, -1, transaction_first_offset
    )


def in_transaction(sequence: int, *, producer: int = 7, epoch: int = 0) -> BatchHeader:
    return header(sequence, producer=producer, epoch=epoch, attributes=TRANSACTIONAL_BIT)


def marker(
    *,
    producer: int = 7,
    epoch: int = 0,
    coordinator: int = 3,
    commit: bool = False,
    version: int = 0,
) -> EndMarker:
    return EndMarker(producer, epoch, coordinator, commit, version)
