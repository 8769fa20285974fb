"""A coordinator of groups without a log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

from broker.coordinators.shard_host import Decide
from broker.core.coordination import CONSUMER_OFFSETS, partition_for
from broker.core.groups.group_shard import GroupShard
from protocol.configs.parsing import broker_config
from protocol.errors import KafkaError
from protocol.ids import TopicPartition

WALL_MS = 1_700_000_000_000


class FakeGroups:
    """One shard without a log: what it decides is replicated at once."""

    def __init__(self) -> None:
        self.shard = GroupShard(broker_config({}), lambda: 1_000_000)
        self.error: KafkaError | None = None
        self.new_uuid = map("uuid{}".format, count(1)).__next__
        self.ended: list[tuple[TopicPartition, int, bool]] = []
        self._waiting: list[asyncio.Future[Any]] = []

    async def ask(self, key: str, decide: Decide[GroupShard], *, writes: bool = False) -> Any:
        del key, writes
        if self.error is not None:
            raise self.error
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(answered)
        decided = decide(self.shard, len(self._waiting) - 1, 0, WALL_MS)
        for answer in decided.answers:
            self._waiting[answer.waiter].set_result(answer.response)
        return await answered

    def partition_of(self, key: str) -> TopicPartition:
        return TopicPartition(CONSUMER_OFFSETS, partition_for(key, 50))

    def transaction_ended(self, tp: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        self.ended.append((tp, producer_id, is_commit))

    def shards(self) -> Iterator[GroupShard]:
        yield self.shard
