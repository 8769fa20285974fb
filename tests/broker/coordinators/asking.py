"""What tests commit and fetch, past the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from broker.core.groups.group_shard import Commit, FetchedOffset, NewOffset
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode, KafkaError
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

GROUP = "readers"


async def commit(
    node: Node, offset: int, *, group: str = GROUP, metadata: str = "", generation: int = -1
) -> ErrorCode:
    wanted = Commit(
        group, Committer(generation=generation), [NewOffset(ORDERS, offset, 0, metadata)]
    )
    try:
        (code,) = await node.groups.ask(
            group,
            lambda shard, waiter, now_ms, wall_ms: shard.commit(waiter, wanted, now_ms, wall_ms),
            writes=True,
        )
    except KafkaError as error:
        return error.code
    return code


async def fetch(node: Node, *, group: str = GROUP) -> FetchedOffset:
    (found,) = await node.groups.ask(
        group,
        lambda shard, waiter, _now_ms, _wall_ms: shard.fetch(
            waiter, group, [ORDERS], require_stable=False
        ),
    )
    return found


async def until_loaded(node: Node) -> None:
    await until(lambda: all(host.is_loaded for host in node.groups.hosts()))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a host has no event for tests
        await asyncio.sleep(0.001)
