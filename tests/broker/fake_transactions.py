"""A coordinator of transactions, and where producer ids come from, for the tests of handlers."""

from __future__ import annotations

from broker.core.coordination import TRANSACTION_STATE
from broker.core.transaction_state.begin import BeginAsked
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import Initialized, TransactionLimits, TransactionShard
from protocol.errors import KafkaError
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


class FakeTransactions:
    """Begins with producer id 70 and goes on with 71; no marker is written."""

    def __init__(self) -> None:
        limits = TransactionLimits(
            timeout_ms_max=900_000,
            id_expiration_ms=604_800_000,
            abort_interval_ms=10_000,
            expiry_interval_ms=3_600_000,
        )
        shard = TransactionShard(limits, transaction_version=2)
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
