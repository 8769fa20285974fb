"""Commits the offsets of one request, which may name partitions that nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from broker.coordinators.shard_host import Decide
from broker.core.groups.group_shard import Commit, GroupShard
from protocol.errors import ErrorCode, KafkaError


class AsksGroups(Protocol):
    """``Shards`` of groups."""

    async def ask(self, key: str, decide: Decide[GroupShard], *, writes: bool = False) -> Any:
        """Have the shard of a group decide."""
        ...


async def commit_offsets(
    groups: AsksGroups, commit: Commit, codes: Sequence[ErrorCode]
) -> Sequence[ErrorCode]:
    """Commit, and return the code of each partition of the request, in its order.

    ``codes`` has NONE for each offset of ``commit``, in order, and else why a partition has none;
    without any offset nobody is asked. What the coordinator refuses as a whole it refuses for each.
    """
    if not commit.offsets:
        return codes
    try:
        committed: Sequence[ErrorCode] = await groups.ask(
            commit.group_id,
            lambda shard, waiter, now_ms, wall_ms: shard.commit(waiter, commit, now_ms, wall_ms),
            writes=True,
        )
    except KafkaError as error:
        committed = [error.code] * len(commit.offsets)
    left = iter(committed)
    return [next(left) if code is ErrorCode.NONE else code for code in codes]
