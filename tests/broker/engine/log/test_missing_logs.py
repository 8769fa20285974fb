"""Directories of logs that somebody takes away under the running broker."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.log.missing_logs import OPERATION
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled, until_moved
from tests.broker.engine.node import Node

LOOK_S = 6
"""A little more than the time between two looks."""


async def test_a_directory_that_is_taken_away_fails_its_log_dir_at_the_next_look(
    alone: Lab,
) -> None:
    node = await filled(alone)
    await asyncio.sleep(3 * LOOK_S)
    node.memory[node.paths[0]].remove_tree("orders-0")
    await asyncio.sleep(LOOK_S)
    (failed,) = node.events.failed
    assert (failed.path, failed.operation) == (node.paths[0], OPERATION)
    assert "orders-0 was taken away" in failed.cause
    assert node.state.hosted.is_offline(ORDERS)


async def test_one_that_no_leader_and_isr_has_named_yet_is_missed_too(alone: Lab) -> None:
    node = await filled(alone)
    node = await alone.restart(1)
    node.memory[node.paths[0]].remove_tree("orders-0")
    await asyncio.sleep(LOOK_S)
    assert [failed.path for failed in node.events.failed] == [node.paths[0]]


async def test_nothing_is_missed_while_logs_are_made_moved_and_deleted(alone: Lab) -> None:
    node = await filled(alone)
    for number in range(20):
        tp = TopicPartition(f"topic-{number}", 0)
        await alone.create(tp, replicas=[1])
        for path in node.paths[1:]:
            node.periodic.look_for_logs()
            await begin(node, path)
            node.periodic.look_for_logs()
            await until_moved(node, path)
        await alone.stop_replica(1, tp, delete=True)
        node.periodic.look_for_logs()
    await asyncio.sleep(LOOK_S)
    assert node.events.failed == []


async def away_at_the_first_look(lab: Lab) -> Node:
    """Return a node whose slow disk listed no directory of ``orders-0``, and is to look again."""
    node = await filled(lab)
    await asyncio.sleep(LOOK_S)
    path = node.paths[0]
    node.workers[path].delay_s = 0.2
    node.periodic.look_for_logs()
    node.memory[path].rename("orders-0", "away")
    await asyncio.sleep(0.3)
    return node


async def test_a_log_that_is_there_again_at_the_second_look_is_not_missed(alone: Lab) -> None:
    """As one that was renamed into its place just when the directory was listed."""
    node = await away_at_the_first_look(alone)
    node.memory[node.paths[0]].rename("away", "orders-0")
    await asyncio.sleep(0.3)
    assert node.events.failed == []
    assert (await node.produce("a")).error_code is ErrorCode.NONE


async def test_one_that_is_deleted_while_it_is_looked_for_again_is_not_missed(alone: Lab) -> None:
    node = await away_at_the_first_look(alone)
    deletion = alone.begin(alone.stop_replica(1, ORDERS, delete=True))
    await asyncio.sleep(0.2)
    node.memory[node.paths[0]].rename("away", "orders-0")
    assert await deletion == ErrorCode.NONE
    assert node.events.failed == []


async def test_a_missing_directory_is_looked_for_once_more_and_one_that_is_there_is_not(
    alone: Lab,
) -> None:
    node = await filled(alone)
    await asyncio.sleep(3 * LOOK_S + 0.1)
    path = node.paths[0]
    queue = node.log_dirs[path].queue

    async def jobs_of_looks() -> int:
        """Return how many jobs of its disk five looks take that meet the same probe."""
        before = queue.jobs_count
        for _ in range(5):
            node.periodic.look_for_logs()
        await asyncio.sleep(0.01)
        return queue.jobs_count - before

    assert await jobs_of_looks() == 1
    node.memory[path].remove_tree("orders-0")
    assert await jobs_of_looks() == 2


@pytest.mark.parametrize("is_at_second_look", [False, True])
async def test_a_log_dir_that_fails_while_its_logs_are_looked_for_has_failed_of_that(
    alone: Lab, *, is_at_second_look: bool
) -> None:
    node = await filled(alone)
    await asyncio.sleep(LOOK_S)
    path = node.paths[0]
    node.workers[path].delay_s = 0.2
    node.periodic.look_for_logs()
    node.memory[path].remove_tree("orders-0")
    await asyncio.sleep(0.3 if is_at_second_look else 0.1)
    node.log_dirs[path].fail("test", OSError("broken"))
    await asyncio.sleep(LOOK_S)
    assert [failed.operation for failed in node.events.failed] == ["test"]


async def test_a_disk_that_hangs_is_not_asked_twice(alone: Lab) -> None:
    node = await filled(alone)
    for worker in node.workers.values():
        worker.hangs = True
    log_dir = node.log_dirs[node.paths[0]]
    depth = log_dir.queue.queue_depth
    for _ in range(5):
        node.periodic.look_for_logs()
    assert log_dir.queue.queue_depth == depth + 1
