"""What producers of transactions send, by either version, as whoever they say that they are.

Version 1 tells the coordinator of each partition before the first record, version 2 tells nobody
(KIP-890).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from protocol.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from simulation.core.payload import is_tombstone, key_of, payload, tombstone_headers

TransactionVersion: TypeAlias = Literal[1, 2]
REQUEST_TIMEOUT_MS: Final = 1_000
"""Of what waits for followers."""
INIT_VERSIONS: Final = (0, 2, 3, 4, 5)
INIT_WITH_ID_VERSIONS: Final = (3, 4, 5)
"""Those that say which id a producer has (KIP-360)."""
ADD_VERSION: Final = 3
"""Of partitions and of offsets; only the first version of transactions adds any."""
PRODUCE_VERSIONS: Final[Mapping[TransactionVersion, int]] = {1: 9, 2: 13}
END_VERSIONS: Final[Mapping[TransactionVersion, int]] = {1: 3, 2: 5}
OFFSETS_VERSIONS: Final[Mapping[TransactionVersion, int]] = {1: 3, 2: 5}
COMMIT_VERSION: Final = 8
LIST_VERSION: Final = 6
_READ_COMMITTED: Final = 1
_LATEST: Final = -1


class Identity(NamedTuple):
    """What a producer was told that it is."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class ProducerPlace(NamedTuple):
    """What all producers of one transactional id have."""

    transactional_id: str
    topic: str
    group: str
    """Whose offsets they commit; nobody is in it."""
    timeout_ms: int
    """After which a coordinator aborts what is open."""
    record_bytes: int = 100
    keys: int = 0


class RecordAt(NamedTuple):
    """One record, and where it goes."""

    tp: TopicPartition
    number: int
    sequence: int


def initializing(place: ProducerPlace, having: Identity) -> InitProducerIdRequest:
    """Ask for an id and an epoch; ``having`` is what the producer says that it has."""
    return InitProducerIdRequest(
        transactional_id=place.transactional_id,
        transaction_timeout_ms=place.timeout_ms,
        producer_id=having.producer_id,
        producer_epoch=having.producer_epoch,
    )


def adding(place: ProducerPlace, who: Identity, tp: TopicPartition) -> AddPartitionsToTxnRequest:
    """Tell the coordinator of a partition."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=place.transactional_id,
        v3_and_below_producer_id=who.producer_id,
        v3_and_below_producer_epoch=who.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=tp.topic, partitions=[tp.partition])],
    )


def adding_offsets(place: ProducerPlace, who: Identity) -> AddOffsetsToTxnRequest:
    """Tell the coordinator that offsets of the group will be committed."""
    return AddOffsetsToTxnRequest(
        transactional_id=place.transactional_id,
        producer_id=who.producer_id,
        producer_epoch=who.producer_epoch,
        group_id=place.group,
    )


def committing(place: ProducerPlace, who: Identity, offset: int) -> TxnOffsetCommitRequest:
    """Commit an offset in the transaction."""
    row = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    return TxnOffsetCommitRequest(
        transactional_id=place.transactional_id,
        group_id=place.group,
        producer_id=who.producer_id,
        producer_epoch=who.producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name=place.topic, partitions=[row])],
    )


def committing_at_once(place: ProducerPlace, offset: int) -> OffsetCommitRequest:
    """Commit an offset beside all transactions, as one that is in no group."""
    row = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    return OffsetCommitRequest(
        group_id=place.group,
        topics=[OffsetCommitRequestTopic(name=place.topic, partitions=[row])],
    )


def ending(place: ProducerPlace, who: Identity, *, is_committed: bool) -> EndTxnRequest:
    """End the open transaction."""
    return EndTxnRequest(
        transactional_id=place.transactional_id,
        producer_id=who.producer_id,
        producer_epoch=who.producer_epoch,
        committed=is_committed,
    )


def producing(
    place: ProducerPlace, who: Identity, at: RecordAt, topic_id: bytes, *, now_ms: int
) -> ProduceRequest:
    """Send one record; the first version names the topic, the second its id."""
    number, key = at.number, key_of(at.number, place.keys)
    record = (
        NewRecord(None, key, now_ms, tombstone_headers(number))
        if is_tombstone(number, place.keys)
        else NewRecord(payload(number, place.record_bytes), key, now_ms)
    )
    options = BatchOptions(
        producer_id=who.producer_id,
        producer_epoch=who.producer_epoch,
        base_sequence=at.sequence,
        is_transactional=True,
    )
    part = PartitionProduceData(index=at.tp.partition, records=build_batch([record], options))
    data = TopicProduceData(name=at.tp.topic, topic_id=topic_id, partition_data=[part])
    return ProduceRequest(
        transactional_id=place.transactional_id,
        acks=ACKS_ALL,
        timeout_ms=REQUEST_TIMEOUT_MS,
        topic_data=[data],
    )


def asking_for_the_end(tp: TopicPartition) -> ListOffsetsRequest:
    """Ask where those are that read committed records to the end."""
    row = ListOffsetsPartition(partition_index=tp.partition, timestamp=_LATEST)
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=_READ_COMMITTED,
        topics=[ListOffsetsTopic(name=tp.topic, partitions=[row])],
    )
