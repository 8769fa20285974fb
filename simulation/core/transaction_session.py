"""A producer of the second version of transactions (KIP-890): what it asks, and as whom.

It is what Kafka's own producer of 4.3 does, by the exchanges that were recorded of it: it adds no
partitions, and goes on after each end under the epoch that it is told. Source:
TransactionManager.java.
"""

from __future__ import annotations

from collections.abc import Mapping

from protocol.ids import TopicPartition
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.transactions import (
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch
from simulation.core.consumer_member import GroupMetadata
from simulation.core.history import ProducerRange

NO_PRODUCER_ID = -1


class TransactionSession:
    """One producer, from when it has its id until it is fenced."""

    def __init__(self, transactional_id: str, *, timeout_ms: int) -> None:
        """``timeout_ms``: after so long a coordinator aborts what is open."""
        self._transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._producer_id = NO_PRODUCER_ID
        self._producer_epoch = -1
        self._next_sequences: dict[TopicPartition, int] = {}

    @property
    def producer_id(self) -> int:
        """Under which it goes on; -1 before it has one."""
        return self._producer_id

    def initialize(self) -> InitProducerIdRequest:
        """Ask for an id and an epoch; what an earlier one left open is aborted."""
        return InitProducerIdRequest(
            transactional_id=self._transactional_id, transaction_timeout_ms=self._timeout_ms
        )

    def initialized(self, answer: InitProducerIdResponse) -> None:
        """Go on as whom the answer names."""
        self._go_on(answer.producer_id, answer.producer_epoch)

    def number(self, tp: TopicPartition, count: int) -> ProducerRange:
        """Return the numbers of the next records of a partition."""
        sequence = self._next_sequences.get(tp, 0)
        self._next_sequences[tp] = sequence + count
        return ProducerRange(self._producer_id, self._producer_epoch, sequence)

    def produce(
        self,
        topic_id: bytes,
        partition: int,
        record: NewRecord,
        numbers: ProducerRange,
        *,
        timeout_ms: int,
    ) -> ProduceRequest:
        """Send a record in the transaction, which it begins if none is open."""
        batch = build_batch(
            [record],
            BatchOptions(
                producer_id=numbers.producer_id,
                producer_epoch=numbers.producer_epoch,
                base_sequence=numbers.base_sequence,
                is_transactional=True,
            ),
        )
        part = PartitionProduceData(index=partition, records=batch)
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=ACKS_ALL,
            timeout_ms=timeout_ms,
            topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[part])],
        )

    def commit_offsets(
        self, member: GroupMetadata, offsets: Mapping[TopicPartition, int]
    ) -> TxnOffsetCommitRequest:
        """Have the open transaction, which it begins if none is, commit offsets of a group."""
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for tp, offset in offsets.items():
            row = TxnOffsetCommitRequestPartition(
                partition_index=tp.partition, committed_offset=offset, committed_metadata=""
            )
            topics.setdefault(tp.topic, []).append(row)
        return TxnOffsetCommitRequest(
            transactional_id=self._transactional_id,
            group_id=member.group,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            generation_id=member.member_epoch,
            member_id=member.member_id,
            topics=[
                TxnOffsetCommitRequestTopic(name=name, partitions=rows)
                for name, rows in topics.items()
            ],
        )

    def end(self, *, is_committed: bool) -> EndTxnRequest:
        """End the open transaction."""
        return EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=is_committed,
        )

    def ended(self, answer: EndTxnResponse) -> None:
        """Go on under the next epoch."""
        self._go_on(answer.producer_id, answer.producer_epoch)

    def _go_on(self, producer_id: int, producer_epoch: int) -> None:
        self._producer_id, self._producer_epoch = producer_id, producer_epoch
        self._next_sequences.clear()
