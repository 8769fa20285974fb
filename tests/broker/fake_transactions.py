"""A coordinator of transactions, and where producer ids come from, for the tests of handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.core.coordination import Decided
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.shard import (
    Initialized,
    MarkersDue,
    TransactionLimits,
    TransactionShard,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from tests.broker.fake_groups import WALL_MS


class FakeProducerIds:
    """Counts up, or fails."""

    def __init__(self) -> None:
        self.next = 1_000
        self.error: KafkaError | None = None

    async def next_producer_id(self) -> int:
        if self.error is not None:
            raise self.error
        self.next += 1
        return self.next


class FakeTransactions:
    """One shard without a log: what it decides is replicated at once, and no marker is written."""

    def __init__(self) -> None:
        limits = TransactionLimits(
            timeout_ms_max=900_000,
            id_expiration_ms=604_800_000,
            abort_interval_ms=10_000,
            expiry_interval_ms=3_600_000,
        )
        self.shard = TransactionShard(limits, transaction_version=2)
        self.due: list[MarkersDue] = []
        self.error: KafkaError | None = None

    def _told(self, decided: Decided) -> Any:
        self.due += decided.effects
        (answer,) = decided.answers
        return answer.response

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def begin(self, asked: BeginAsked) -> Initialized:
        self._check()
        return self._told(self.shard.begin(0, asked, new_producer_id=70, wall_ms=WALL_MS))

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        *,
        client_transaction_version: int,
    ) -> ErrorCode:
        self._check()
        decided = self.shard.add_partitions(
            0,
            transactional_id,
            producer,
            partitions,
            client_transaction_version=client_transaction_version,
            wall_ms=WALL_MS,
        )
        return self._told(decided)

    async def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Sequence[ErrorCode]:
        self._check()
        return self._told(self.shard.verify_partitions(0, transactional_id, producer, partitions))

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        self._check()
        return self._told(
            self.shard.end(0, transactional_id, asked, new_producer_id=71, wall_ms=WALL_MS)
        )

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        self._check()
        return self.shard.get(transactional_id)

    def transactions(self) -> Sequence[TransactionMetadata]:
        self._check()
        return list(self.shard.transactions())
