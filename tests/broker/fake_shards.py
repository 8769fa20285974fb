"""A shard of a coordinator without a log, for the tests of handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Generic

from broker.coordinators.shard_host import Decide, ShardT
from broker.core.coordination import partition_for
from protocol.errors import KafkaError
from protocol.ids import TopicPartition

WALL_MS = 1_700_000_000_000


class FakeShards(Generic[ShardT]):
    """What the one shard of ``topic`` decides is replicated at once; effects are only kept."""

    def __init__(self, topic: str, shard: ShardT) -> None:
        self.shard = shard
        self.error: KafkaError | None = None
        self.late_error: KafkaError | None = None
        """After the shard has decided: what it decided is not replicated."""
        self.effects: list[Any] = []
        self.ended: list[tuple[TopicPartition, int, bool]] = []
        self._topic = topic
        self._waiting: list[asyncio.Future[Any]] = []

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    async def ask(self, key: str, decide: Decide[ShardT], *, writes: bool = False) -> Any:
        del key, writes
        self._check()
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(answered)
        decided = decide(self.shard, len(self._waiting) - 1, 0, WALL_MS)
        if self.late_error is not None:
            raise self.late_error
        self.effects += decided.effects
        for answer in decided.answers:
            self._waiting[answer.waiter].set_result(answer.response)
        return await answered

    def shard_of(self, key: str) -> ShardT:
        del key
        self._check()
        return self.shard

    def shards(self) -> Iterator[ShardT]:
        self._check()
        yield self.shard

    def partition_of(self, key: str) -> TopicPartition:
        return TopicPartition(self._topic, partition_for(key, 50))

    def transaction_ended(self, tp: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        self.ended.append((tp, producer_id, is_commit))
