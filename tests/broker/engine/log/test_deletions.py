"""Logs on their way out."""

from __future__ import annotations

import asyncio
import gc

import pytest

from broker.engine.log.deletions import Deletions
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node


def dirs(node: Node) -> list[str]:
    return [
        name for disk in node.memory.values() for name in disk.list_dir("") if disk.is_dir(name)
    ]


async def test_a_log_is_renamed_at_once_and_removed_after_its_delay(alone: Lab) -> None:
    await alone.create(replicas=[1], file_delete_delay_ms="5000")
    await alone.stop_replica(1, ORDERS, delete=True)
    (name,) = dirs(alone[1])
    assert name.endswith("-delete")
    await asyncio.sleep(4.9)
    assert dirs(alone[1]) == [name]
    await asyncio.sleep(0.2)
    assert dirs(alone[1]) == []


async def test_checkpoints_forget_a_log_before_another_of_its_name_is_made(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    for _ in range(9):
        await node.produce("v")
    await node.engine.record_deletions.delete([(ORDERS, 5)], timeout_ms=1000)
    for write in (
        node.checkpoints.write_offsets,
        node.checkpoints.write_log_starts,
        node.checkpoints.write_high_watermarks,
    ):
        write()
    await alone.stop_replica(1, ORDERS, delete=True)
    await alone.create(replicas=[1])
    await node.produce("v")
    node = await alone.restart(1, is_clean=False)
    await alone.elect(ORDERS, 1, [1])
    assert (node.replica().partition.log_start_offset, await node.log_end()) == (0, 1)


async def test_who_gives_up_waiting_leaves_the_log_to_be_removed(alone: Lab) -> None:
    """As a StopReplica whose broker is told to end while the disk is slow."""
    await alone.create(replicas=[1])
    node = alone[1]
    replica = node.replica()
    deletions = Deletions(node.engine.state, lambda _path, _tp: None)
    deletions.set_aside(ORDERS, replica.log, 1000).cancel()
    await asyncio.sleep(0.1)
    (name,) = dirs(node)
    assert name.endswith("-delete")
    await asyncio.sleep(1)
    assert dirs(node) == []


async def test_a_failure_that_nobody_waited_for_is_no_error_that_nobody_caught(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """As a move that is taken back, whose future log nobody waits for (swap matrix, cancel)."""
    await alone.create(replicas=[1])
    node = alone[1]
    replica = node.replica()
    gone: list[TopicPartition] = []
    deletions = Deletions(node.engine.state, lambda _path, tp: gone.append(tp))
    node.disks[replica.log.dir.path].set_fault("eio")
    deletions.set_aside(ORDERS, replica.log, 1000)
    await asyncio.sleep(0.1)
    gc.collect()
    assert not replica.log.dir.is_online
    assert (gone, len(deletions)) == ([ORDERS], 0), "another log of its name may be made at once"
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_each_log_has_its_own_delay(alone: Lab) -> None:
    slow, quick = TopicPartition("slow", 0), TopicPartition("quick", 0)
    await alone.create(slow, replicas=[1], file_delete_delay_ms="9000")
    await alone.create(quick, replicas=[1], file_delete_delay_ms="0")
    for tp in (slow, quick):
        await alone.stop_replica(1, tp, delete=True)
    await asyncio.sleep(0.1)
    (left,) = dirs(alone[1])
    assert left.startswith("slow-0.")


@pytest.mark.scenario(39)
async def test_what_waits_at_a_stop_is_removed_after_the_next_start(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.stop_replica(1, ORDERS, delete=True)
    node = await alone.restart(1)
    assert len(dirs(node)) == 1
    await asyncio.sleep(61)
    assert dirs(node) == []


async def test_a_broker_that_has_stopped_removes_nothing_and_waits_for_nothing(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    await alone.create(replicas=[1])
    node, replica = alone[1], alone[1].replica()
    deletions = Deletions(node.engine.state, lambda _path, _tp: None)
    await deletions.set_aside(ORDERS, replica.log, 1000)
    (name,) = dirs(node)
    assert len(deletions) == 1
    deletions.stop()
    await asyncio.sleep(61)
    assert (dirs(node), len(deletions)) == ([name], 0)
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def test_a_log_dir_that_fails_keeps_its_files(alone: Lab) -> None:
    await alone.create(replicas=[1])
    path = await alone[1].dir_of() or ""
    await alone.stop_replica(1, ORDERS, delete=True)
    alone[1].log_dirs[path].fail("test", OSError("broken"))
    await asyncio.sleep(61)
    assert len(dirs(alone[1])) == 1


async def test_a_log_that_is_set_aside_counts_nowhere_and_was_never_cleaned(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node, path = alone[1], alone[1].replica().log_dir
    node.state.cleaner_offsets.put(path, ORDERS, 3)
    assert node.state.log_dir_states.log_count(path) == 1
    await alone.stop_replica(1, ORDERS, delete=True)
    assert node.state.log_dir_states.log_count(path) == 0
    assert node.state.cleaner_offsets.get(path, ORDERS) is None


@pytest.mark.parametrize(("delay_ms", "takes_s"), [(0, 0.001), (1, 0.001), (5_000, 5)])
async def test_what_is_to_be_removed_goes_when_its_delay_is_over_and_never_at_once(
    alone: Lab, delay_ms: int, takes_s: float
) -> None:
    node = alone[1]
    deletions = Deletions(node.engine.state, lambda _path, _tp: None)
    removed: list[str] = []
    queue = node.log_dirs[node.paths[0]].queue
    deletions.schedule(queue, lambda: removed.append("now"), delay_ms)
    await asyncio.sleep(takes_s - 0.0005)
    assert (removed, len(deletions)) == ([], 1)
    await asyncio.sleep(0.0007)
    assert (removed, len(deletions)) == (["now"], 0)


async def test_a_log_may_take_longer_to_remove_than_a_disk_has_for_other_work(alone: Lab) -> None:
    node = alone[1]
    log_dir = node.log_dirs[node.paths[0]]
    node.periodic.stop()
    deletions = Deletions(node.engine.state, lambda _path, _tp: None)
    removed: list[str] = []
    node.workers[log_dir.path].delay_s = 3 * log_dir.queue.deadline_ms / 1000
    deletions.schedule(log_dir.queue, lambda: removed.append("late"), 1)
    await asyncio.sleep(4 * log_dir.queue.deadline_ms / 1000)
    assert (removed, log_dir.is_online) == (["late"], True)
