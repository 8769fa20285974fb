"""A transactional id as a record of ``__transaction_state``. Source: TransactionLog.java."""

from __future__ import annotations

from typing import Final

from broker.core.coordination import Record
from broker.core.transaction_state.metadata import (
    TransactionMetadata,
    TransactionState,
)
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import Malformed
from protocol.ids import TopicPartition
from protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from protocol.stored_records import (
    TRANSACTION_RECORDS,
    decode_key,
    decode_versioned,
    encode_key,
    encode_versioned,
)

_TAGGED_SINCE: Final = 1
"""From this transaction.version on values are written in version 1, with tagged fields."""


def key_of(transactional_id: str) -> bytes:
    """Return the key of the records of a transactional id."""
    return encode_key(TransactionLogKey(transactional_id=transactional_id))


def record_of(metadata: TransactionMetadata, transaction_version: int) -> Record:
    """Return the record of ``metadata`` as a cluster of ``transaction_version`` stores it."""
    is_empty = metadata.state is TransactionState.EMPTY
    partitions = [
        PartitionsSchema(topic=topic, partition_ids=ids)
        for topic, ids in numbers_by_topic(metadata.partitions).items()
    ]
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=None if is_empty else partitions,
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.started_ms,
    )
    is_tagged = transaction_version >= _TAGGED_SINCE
    if is_tagged:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.client_transaction_version = metadata.client_transaction_version
    return key_of(metadata.transactional_id), encode_versioned(value, int(is_tagged))


def read_transactional_id(key: bytes) -> str:
    """Return whose record it is.

    Raises:
        Malformed: it is none of ``__transaction_state``.
    """
    _, read = decode_key(TRANSACTION_RECORDS, key)
    return read.transactional_id


def read_metadata(transactional_id: str, value: bytes) -> TransactionMetadata:
    """Return what a record's value says.

    Raises:
        Malformed: it says nothing that this release knows.
    """
    read, _ = decode_versioned(TransactionLogValue, value)
    try:
        state = TransactionState(read.transaction_status)
    except ValueError:
        raise Malformed(f"transaction status {read.transaction_status}") from None
    partitions = tuple(
        TopicPartition(topic.topic, partition)
        for topic in read.transaction_partitions or ()
        for partition in topic.partition_ids
    )
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=read.producer_id,
        previous_producer_id=read.previous_producer_id,
        next_producer_id=read.next_producer_id,
        producer_epoch=read.producer_epoch,
        timeout_ms=read.transaction_timeout_ms,
        state=state,
        partitions=partitions,
        started_ms=read.transaction_start_timestamp_ms,
        updated_ms=read.transaction_last_update_timestamp_ms,
        client_transaction_version=read.client_transaction_version,
    )
