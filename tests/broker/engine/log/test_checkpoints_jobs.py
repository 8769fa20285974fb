"""What checkpoints ask of each disk, when they ask nothing, and what a stop waits for."""

from __future__ import annotations

import asyncio

from broker.engine.hosted_log import Place
from broker.storage.checkpoints import parse_offsets
from broker.storage.log_dir import LogDir
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

OTHER = TopicPartition("other", 0)
SMALL = "200"
"""Bytes in a segment: two records each."""


async def idle(lab: Lab, count: int = 0, **configs: str) -> tuple[Node, LogDir]:
    """Return a broker, and the log dir of ``orders-0``, at a moment at which it asks nothing."""
    await lab.create(ORDERS, replicas=[1], **configs)
    for number in range(count):
        await lab[1].produce(str(number))
    await asyncio.sleep(0.05)
    return lab[1], lab[1].replica().log.dir


def written(node: Node, name: str) -> dict[TopicPartition, int]:
    return parse_offsets(node.memory[node.replica().log_dir].read_file(name))


async def test_full_segments_are_synced_before_the_recovery_points_are_written(alone: Lab) -> None:
    node, log_dir = await idle(alone, 5, segment_bytes=SMALL)
    for sync in (True, False):
        before = log_dir.queue.jobs_count
        node.checkpoints.write_offsets()
        await asyncio.sleep(0.01)
        assert log_dir.queue.jobs_count - before == 1 + sync
    assert written(node, "recovery-point-offset-checkpoint") == {ORDERS: 4}


async def test_a_log_that_is_being_promoted_is_synced_by_its_swap_alone(alone: Lab) -> None:
    node, log_dir = await idle(alone, 5, segment_bytes=SMALL, flush_ms="0")
    node.replica().log.place = Place.PROMOTING
    before = log_dir.queue.jobs_count
    node.checkpoints.write_offsets()
    node.checkpoints.flush_due()
    assert log_dir.queue.jobs_count - before == 1
    node.replica().log.place = Place.CURRENT


async def test_what_is_made_durable_is_known_to_be(alone: Lab) -> None:
    node, log_dir = await idle(alone, 5, segment_bytes=SMALL)
    await node.checkpoints.make_durable(log_dir, node.replica().log.files)
    assert written(node, "recovery-point-offset-checkpoint") == {ORDERS: 4}


async def test_logs_are_flushed_once_their_time_is_over_and_they_have_something_new(
    alone: Lab,
) -> None:
    node, log_dir = await idle(alone, 1, flush_ms="5000")
    log, loop = node.replica().log.files, asyncio.get_running_loop()
    due_s = loop.time() + (log.flushed_ms + 5_000 - node.state.wall_ms()) / 1_000

    async def flushes_at(second: float) -> int:
        await asyncio.sleep(second - loop.time())
        before = log_dir.queue.jobs_count
        node.checkpoints.flush_due()
        await asyncio.sleep(0.0001)
        return log_dir.queue.jobs_count - before

    assert [await flushes_at(due_s + late) for late in (-0.002, 0.0005, 0.001, 7.05)] == [
        0,
        1,
        0,
        0,
    ]
    assert log.recovery_point == 1


async def test_lost_logs_are_known_until_they_are_made_anew(alone: Lab) -> None:
    node, log_dir = await idle(alone, 1)
    node.state.hosted.put_lost(OTHER, log_dir.path)
    assert node.checkpoints.high_watermarks_of(log_dir) == {ORDERS: 1, OTHER: 0}


async def test_checkpoints_are_written_once_for_all_who_ask_in_the_same_turn(alone: Lab) -> None:
    node, log_dir = await idle(alone, 1)
    for _ in range(2):
        before = log_dir.queue.jobs_count
        node.checkpoints.write_at_once(log_dir)
        node.checkpoints.write_at_once(log_dir)
        assert log_dir.queue.jobs_count - before == 1
        await asyncio.sleep(0)


async def test_a_log_that_left_in_the_same_turn_is_forgotten_before_its_successor_is_made(
    alone: Lab,
) -> None:
    node, log_dir = await idle(alone, 1)
    before = log_dir.queue.jobs_count
    node.checkpoints.write_at_once(log_dir)
    node.checkpoints.log_gone(log_dir.path, OTHER)
    assert node.checkpoints.before_new_log(log_dir, OTHER)
    assert log_dir.queue.jobs_count - before == 2


async def test_log_starts_are_written_where_somebody_took_the_file_away(alone: Lab) -> None:
    node, log_dir = await idle(alone, 3)
    node.logs.raise_log_start(node.replica(), 2)
    await asyncio.sleep(0.01)
    node.memory[log_dir.path].remove("log-start-offset-checkpoint")
    node.checkpoints.write_log_starts()
    await asyncio.sleep(0.01)
    assert written(node, "log-start-offset-checkpoint") == {ORDERS: 2}


async def test_high_watermarks_are_written_again_in_a_log_dir_that_came_back(alone: Lab) -> None:
    node, log_dir = await idle(alone, 1)
    node.checkpoints.write_high_watermarks()
    before = node.checkpoints.written_high_watermarks(log_dir.path)
    node.checkpoints.write_high_watermarks()
    assert node.checkpoints.written_high_watermarks(log_dir.path) is before
    node.checkpoints.forget(log_dir.path)
    assert node.checkpoints.written_high_watermarks(log_dir.path) is None
    node.checkpoints.write_high_watermarks()
    assert node.checkpoints.written_high_watermarks(log_dir.path) == {ORDERS: 1}


async def test_the_root_of_a_log_dir_that_came_back_is_looked_at_whatever_hung_before(
    alone: Lab,
) -> None:
    node, log_dir = await idle(alone)
    node.workers[log_dir.path].hangs = True
    depths: list[int] = []
    for forgets in (False, False, True):
        if forgets:
            node.checkpoints.forget(log_dir.path)
        node.checkpoints.watch_roots()
        depths.append(log_dir.queue.queue_depth)
    assert depths == [1, 1, 2]


async def test_a_stop_waits_for_the_thread_beside_and_closes_each_log_dir(alone: Lab) -> None:
    node, log_dir = await idle(alone, 1)
    ended: list[str] = []
    node.memory[log_dir.path].before_change = lambda _, name: ended.append(name)
    node.workers[log_dir.path].delay_s = 0.1
    for number in range(40):
        log_dir.background_queue.submit("work", lambda number=number: ended.append(str(number)))
    await node.engine.stop()
    marker = next(place for place, name in enumerate(ended) if "cleanshutdown" in name)
    assert ended.index("39") < marker
    assert all(each.is_closed for each in node.log_dirs.values())
