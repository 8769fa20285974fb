"""Log starts that are written down at once: grouped, and told to all who wait."""

from __future__ import annotations

import asyncio

from broker.engine.log.log_start_writes import LogStartWrites
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.log.test_checkpoints import checkpoint
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import copied, held, let_go
from tests.broker.engine.node import Node

NAME = "log-start-offset-checkpoint"
OTHER = TopicPartition("other", 0)


def writes_of(node: Node) -> LogStartWrites:
    return LogStartWrites(node.state, node.checkpoints.hosted_logs_of)


async def test_all_who_ask_while_a_write_is_under_way_share_the_next_one(alone: Lab) -> None:
    for tp in (ORDERS, OTHER):
        await alone.create(tp, replicas=[1])
        await alone[1].produce("a", tp=tp)
    node = alone[1]
    writes, log_dir = writes_of(node), node.replica().log.dir
    first = writes.ask(log_dir)
    assert writes.ask(log_dir) is first
    await asyncio.sleep(0)
    node.replica().partition.raise_log_start(1)
    second = writes.ask(log_dir)
    assert second is not first
    assert writes.ask(log_dir) is second
    assert await first
    assert not second.done()
    await second
    assert checkpoint(node, NAME) == {ORDERS: 1}, "files need not know of it yet"
    third = writes.ask(log_dir)
    await third
    assert third is not second


async def test_who_waits_hears_of_a_log_dir_that_fails(alone: Lab) -> None:
    await alone.create(replicas=[1])
    writes, log_dir = writes_of(alone[1]), alone[1].replica().log.dir
    waiting = writes.ask(log_dir)
    log_dir.fail("test", OSError("broken"))
    for asked in (waiting, writes.ask(log_dir)):
        assert not await asked


async def test_log_starts_are_written_for_all_who_ask_when_a_mover_ends_meanwhile(
    alone: Lab,
) -> None:
    node = await held(alone)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    assert future.log is not None
    log_dir = future.log.dir
    node.logs.raise_log_start(replica, 7)
    node.workers[node.paths[1]].delay_s = 0.1
    let_go(node)
    while copied(future).log_end_offset < 20:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert replica.log.swapping.ended is not None
    node.moves.stop()
    async with asyncio.timeout(30):
        assert await node.logs.write_log_starts(log_dir)


async def test_who_waits_for_a_write_under_way_hears_of_a_log_dir_that_fails(alone: Lab) -> None:
    await alone.create(replicas=[1])
    writes, log_dir = writes_of(alone[1]), alone[1].replica().log.dir
    alone[1].workers[log_dir.path].delay_s = 1
    waiting = writes.ask(log_dir)
    await asyncio.sleep(0.5)
    log_dir.fail("test", OSError("broken"))
    assert not await waiting
