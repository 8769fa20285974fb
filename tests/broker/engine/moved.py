"""What tests of moves do to a broker of the lab, and what they look at."""

from __future__ import annotations

import asyncio

from broker.core.log_positions import LogPositions
from broker.engine.future import FutureReplica
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveProgressRow
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

SMALL = "512"
"""Bytes per read, so that a move takes many steps."""


async def held(lab: Lab, count: int = 20) -> Node:
    """A move of ``orders-0`` that got no further than its future log."""
    node = lab[1]
    await lab.create(replicas=[1])
    for number in range(count):
        await node.produce("x" * 200 + str(number))
    hold(node)
    await node.engine.moves.alter([(ORDERS, node.paths[1])])
    return node


def hold(node: Node) -> None:
    node.set_move_limit(1)
    node.state.quotas.moves.record(1 << 40, node.state.now_ms())


def let_go(node: Node) -> None:
    node.set_move_limit(2**63 - 1)


async def unretired(lab: Lab) -> Node:
    """A move that has ended, whose source failed before the old log was set aside there."""
    node = await held(lab)
    source, target = node.paths[0], node.log_dirs[node.paths[1]]
    let_go(node)
    while node.replica().log.dir is not target:
        future = node.replica().future
        node.workers[source].hangs = future is not None and future.is_promoting
        await asyncio.sleep(0)
    node.log_dirs[source].fail("rename", OSError("broken"))
    return node


async def filled(lab: Lab, count: int = 20) -> Node:
    """Broker 1 leads ``orders-0`` in its first log dir."""
    await lab.create(replicas=[n for n in (1, 2, 3) if n in lab.nodes])
    for number in range(count):
        await lab[1].produce("x" * 200 + str(number))
    assert await lab[1].dir_of() == lab[1].paths[0]
    return lab[1]


async def begin(node: Node, path: str, tp: TopicPartition = ORDERS) -> ErrorCode:
    return (await node.engine.moves.alter([(tp, path)]))[tp]


def copied(future: FutureReplica) -> LogPositions:
    """Return where a future log stands that has been created."""
    assert future.log is not None
    return future.log.positions


def stopped(node: Node) -> Node:
    """Let moves begin and not get anywhere: their limit is used up."""
    node.set_move_limit(1)
    node.state.quotas.moves.record(1 << 40, node.state.now_ms())
    return node


async def until_moved(node: Node, path: str, tp: TopicPartition = ORDERS) -> None:
    async with asyncio.timeout(60):
        # Virtual time: each turn is one jump of the loop.
        while await node.dir_of(tp) != path or await node.dir_of(tp, is_future=True):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def names(node: Node, path: str) -> list[str]:
    return [name for name in node.memory[path].list_dir("") if node.memory[path].is_dir(name)]


def move_rows(node: Node) -> list[MoveProgressRow]:
    return [row for row in node.rows if isinstance(row, MoveProgressRow)]


async def abandoned(lab: Lab) -> Node:
    """Kill follower 2 in the middle of a move and give it an empty disk for the source."""
    await lab.create()
    for number in range(20):
        await lab[1].produce(str(number) * 200)
    node = lab[2]
    source = await node.dir_of()
    assert source is not None
    target = next(path for path in node.paths if path != source)
    stopped(node)
    await node.engine.moves.alter([(ORDERS, target)])
    assert await node.dir_of(is_future=True) == target
    node.memory[source] = MemoryDisk(source)
    after = await lab.restart(2, is_clean=False)
    assert await after.dir_of() is None
    assert await after.dir_of(is_future=True) == target
    return after


async def until_in_sync(lab: Lab, node: Node) -> None:
    assert await lab.elect(ORDERS, 1, [1, 3]) == dict.fromkeys((1, 2, 3), ErrorCode.NONE)
    async with asyncio.timeout(60):
        while lab.led[ORDERS].isr != [1, 3, 2]:
            await lab[1].produce("more")
            await asyncio.sleep(0.1)
        while await node.dir_of(is_future=True) is not None:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.1)


def folders(node: Node) -> dict[str, list[str]]:
    """Return the folders of partitions in each log dir that has any."""
    found = {
        path: [name for name in disk.list_dir("") if name.startswith("orders-")]
        for path, disk in node.memory.items()
    }
    return {path: names for path, names in found.items() if names}


async def copying(lab: Lab, node: Node, *, until: int) -> tuple[str, str]:
    """Copy a follower up to an offset and no further; return from where to where."""
    await lab.create()
    for number in range(20):
        await lab[1].produce(str(number) * 200)
    source = await node.dir_of()
    assert source is not None
    target = next(path for path in node.paths if path != source)
    assert await begin(node, target) == ErrorCode.NONE
    future = node.replica().future
    assert future is not None
    while copied(future).high_watermark < until:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    stopped(node)
    return source, target
