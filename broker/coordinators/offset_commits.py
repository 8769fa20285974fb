"""Commits the offsets of one request, which may name partitions that nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from broker.coordinators.shard_host import Decide
from broker.core.coordination import Decided, TransactionProducer, Waiter
from broker.core.groups.group_shard import Commit, GroupShard
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition


class AsksGroups(Protocol):
    """``Shards`` of groups."""

    def partition_of(self, key: str) -> TopicPartition:
        """Return where a group belongs."""
        ...

    async def ask(self, key: str, decide: Decide[GroupShard], *, writes: bool = False) -> Any:
        """Have the shard of a group decide."""
        ...


async def commit_offsets(
    groups: AsksGroups,
    commit: Commit,
    codes: Sequence[ErrorCode],
    check: Callable[[TopicPartition, TransactionProducer], None] | None = None,
) -> Sequence[ErrorCode]:
    """Commit, and return the code of each partition of the request, in its order.

    ``codes`` has NONE for each offset of ``commit``, in order, and else why a partition has none;
    without any offset nobody is asked. What the coordinator refuses as a whole it refuses for each.
    ``check`` looks once more at a transaction, in the moment in which the offsets become its part.
    """
    if not commit.offsets:
        return codes
    try:
        tp = groups.partition_of(commit.group_id)

        def decide(shard: GroupShard, waiter: Waiter, now_ms: int, wall_ms: int) -> Decided:
            if check is not None and commit.producer is not None:
                check(tp, commit.producer)
            return shard.commit(waiter, commit, now_ms, wall_ms)

        committed: Sequence[ErrorCode] = await groups.ask(commit.group_id, decide, writes=True)
    except KafkaError as error:
        committed = [error.code] * len(commit.offsets)
    left = iter(committed)
    return [next(left) if code is ErrorCode.NONE else code for code in codes]
