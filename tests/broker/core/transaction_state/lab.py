"""A shard of transactional ids with a log, from which another one can be loaded."""

from __future__ import annotations

from typing import Any

from broker.core.coordination import Answer, Decided, Record
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionState
from broker.core.transaction_state.shard import (
    MarkersDue,
    TransactionLimits,
    TransactionShard,
)
from protocol.ids import TopicPartition

LIMITS = TransactionLimits(
    timeout_ms_max=900_000,
    id_expiration_ms=7 * 86_400_000,
    abort_interval_ms=10_000,
    expiry_interval_ms=3_600_000,
)
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
P0 = ProducerIdAndEpoch(7, 0)
WAITER = 1


class Log:
    """A shard and what it decided, so that another one can be loaded from it."""

    def __init__(self, transaction_version: int = 0) -> None:
        self.version = transaction_version
        self.batch_bytes_max = 1_000_000
        self.shard = TransactionShard(LIMITS, transaction_version, lambda: self.batch_bytes_max)
        self.shard.loaded(0, 0)
        self.records: list[Record] = []
        self.effects: list[MarkersDue] = []

    def take(self, decided: Decided) -> Any:
        self.records += decided.records
        self.effects += decided.effects
        for answer in decided.answers:
            assert isinstance(answer, Answer)
            assert answer.waiter == WAITER
        return [answer.response for answer in decided.answers][-1] if decided.answers else None

    def begin(self, *, now: int = 0, timeout_ms: int = 60_000, new_id: int = 7) -> Any:
        asked = BeginAsked("pay", timeout_ms)
        decided = self.shard.begin(WAITER, asked, new_producer_id=new_id, wall_ms=now)
        return self.take(decided)

    def add(
        self, *partitions: TopicPartition, producer: ProducerIdAndEpoch = P0, now: int = 0
    ) -> Any:
        decided = self.shard.add_partitions(
            WAITER,
            "pay",
            producer,
            partitions,
            client_transaction_version=self.version,
            wall_ms=now,
        )
        return self.take(decided)

    def end(self, *, commits: bool = True, epoch: int = 0, now: int = 0) -> Any:
        asked = EndAsked(7, epoch, commits, self.version)
        return self.take(self.shard.end(WAITER, "pay", asked, new_producer_id=-1, wall_ms=now))

    def state(self) -> TransactionState | None:
        known = self.shard.get("pay")
        return None if known is None else known.state

    def reloaded(self) -> Log:
        other = Log(self.version)
        for key, value in self.records:
            other.shard.replay(key, value)
        other.take(other.shard.loaded(0, 0))
        return other
