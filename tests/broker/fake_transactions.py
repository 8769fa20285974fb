"""A coordinator of transactions, and where producer ids come from, for the tests of handlers."""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.coordination import TransactionProducer
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import Initialized, TransactionLimits, TransactionShard
from broker.core.transaction_state.verifying import ToldCode, Verifying
from broker.core.verification import VerificationGuard
from broker.engine.types import ProducePart
from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from protocol.topic_names import TRANSACTION_STATE
from tests.broker.fake_shards import FakeShards


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


class FakeVerifier:
    """Takes all, but what it is told to refuse."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Verifying, tuple[TopicPartition, ...]]] = []
        self.refused: dict[TopicPartition, ToldCode] = {}
        self.checked: list[tuple[TopicPartition, TransactionProducer]] = []
        self.error: KafkaError | None = None
        """Of offsets."""
        self.marker_came: KafkaError | None = None
        self.guard = VerificationGuard()

    async def verified(
        self, parts: Sequence[ProducePart], transactional_id: str, how: Verifying
    ) -> list[ProducePart | ToldCode]:
        self.asked.append((transactional_id, how, tuple(part.tp for part in parts)))
        return [self.refused.get(part.tp, part._replace(guard=self.guard)) for part in parts]

    async def verified_offsets(
        self, tp: TopicPartition, transactional_id: str, asked: ProducerIdAndEpoch, how: Verifying
    ) -> TransactionProducer:
        self.asked.append((transactional_id, how, (tp,)))
        if self.error is not None:
            raise self.error
        return TransactionProducer(*asked, self.guard)

    def check(self, tp: TopicPartition, producer: TransactionProducer) -> None:
        self.checked.append((tp, producer))
        if self.marker_came is not None:
            raise self.marker_came


class FakeTransactions:
    """Begins with producer id 70 and goes on with 71; no marker is written."""

    def __init__(self) -> None:
        limits = TransactionLimits(
            timeout_ms_max=900_000,
            id_expiration_ms=604_800_000,
            abort_interval_ms=10_000,
            expiry_interval_ms=3_600_000,
        )
        shard = TransactionShard(limits, 2, lambda: 1_000_000)
        self.shards = FakeShards(TRANSACTION_STATE, shard)

    async def begin(self, asked: BeginAsked) -> Initialized:
        return await self.shards.ask(
            asked.transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.begin(
                waiter, asked, new_producer_id=70, wall_ms=wall_ms
            ),
        )

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        return await self.shards.ask(
            transactional_id,
            lambda shard, waiter, _now_ms, wall_ms: shard.end(
                waiter, transactional_id, asked, new_producer_id=71, wall_ms=wall_ms
            ),
        )
