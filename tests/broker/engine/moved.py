"""What tests of moves do to a broker of the lab, and what they look at."""

from __future__ import annotations

import asyncio

from broker.core.log_positions import LogPositions
from broker.engine.future import FutureReplica
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveProgressRow
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node


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
