"""The life of an engine: what a start waits for, what a return renews, what a stop ends."""

from __future__ import annotations

import asyncio

from broker.core.hosted import ReturnRule
from broker.storage.cleanable import read_cleaner_offsets, write_cleaner_offsets
from broker.storage.recovery import LoadedLogDir
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled, held, let_go
from tests.broker.engine.virtual_loop import VirtualLoop

OTHER = TopicPartition("other", 0)


async def test_a_start_knows_the_space_of_its_disks_and_how_far_logs_were_cleaned(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    path = alone[1].replica().log_dir
    await alone[1].engine.stop()
    write_cleaner_offsets(alone[1].memory[path], {ORDERS: 7})
    node = await alone.restart(1, is_clean=False)
    assert set(node.state.usage) == set(node.paths)
    assert node.state.cleaner_offsets.get(path, ORDERS) == 7


async def test_a_start_goes_on_without_log_dirs_that_are_or_go_offline(alone: Lab) -> None:
    await alone.create(replicas=[1])
    here = alone[1].replica().log_dir
    offline, breaks = (path for path in alone[1].paths if path != here)

    def go_offline(loaded: dict[str, LoadedLogDir]) -> None:
        del loaded[offline]
        alone[1].log_dirs[offline].fail("test", OSError("broken"))
        alone[1].disks[breaks].set_fault("eio")

    node = await alone.restart(1, change=go_offline)
    assert set(node.state.usage) == {here}
    assert node.state.log_dir_states.offline_paths == (offline, breaks)


async def test_compacted_logs_are_looked_at_while_an_engine_runs(alone: Lab) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    await asyncio.sleep(20)
    assert alone[1].cleaning.gauges()[alone[1].paths[0]].since_last_run_ms >= 0


async def test_a_log_dir_that_came_back_is_cleaned_looked_at_and_may_fail_again(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    node, path = alone[1], alone[1].replica().log_dir
    await asyncio.sleep(6)
    node.log_dirs[path].fail("test", OSError("broken"))
    write_cleaner_offsets(node.memory[path], {ORDERS: 7})
    await node.bring_back(path, ReturnRule())
    assert node.state.cleaner_offsets.get(path, ORDERS) == 7
    assert node.checkpoints.written_high_watermarks(path) is None
    await asyncio.sleep(0.01)
    assert path in node.state.usage
    node.log_dirs[path].fail("again", OSError("broken"))
    assert [failed.operation for failed in node.events.failed] == ["test", "again"]


async def test_a_stop_ends_all_loops_and_timers_and_closes_the_log_dirs(lab: Lab) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    await lab.create()
    node = lab[2]
    await lab.stop_replica(2, OTHER, delete=True)
    await asyncio.sleep(1)
    await node.engine.stop()
    await asyncio.sleep(0.01)
    assert node.following.source_ids == []
    assert all(log_dir.is_closed for log_dir in node.log_dirs.values())
    assert all(disk.exists(".kafka_cleanshutdown") for disk in node.memory.values())
    lab.requests.clear()
    await asyncio.sleep(5)
    assert [own for own, _, _ in lab.requests if own == 2] == []


async def test_a_stopped_engine_leaves_no_timer_and_no_loop_but_one_behind(alone: Lab) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    node = await filled(alone)
    await alone.create(OTHER, replicas=[1])
    await alone.stop_replica(1, OTHER, delete=True)
    await asyncio.sleep(1)
    assert (loop.timers_count, len(asyncio.all_tasks())) >= (12, 12)
    await node.engine.stop()
    await asyncio.sleep(0.01)
    assert loop.timers_count == 0
    assert len(asyncio.all_tasks()) == 2, "this test, and who reports the Isr, for the task group"


async def test_a_move_goes_no_further_once_its_engine_has_stopped(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    let_go(node)
    await node.engine.stop()
    state = future.move.state
    await asyncio.sleep(5)
    assert future.move.state is state


async def test_how_far_a_log_was_cleaned_falls_with_a_cut_and_its_move_is_checked_again(
    alone: Lab,
) -> None:
    node = await held(alone)
    replica = node.replica()
    node.state.cleaner_offsets.put(replica.log_dir, ORDERS, 15)
    assert replica.future is not None
    await asyncio.sleep(0.1)
    await node.logs.truncate(replica, 5)
    assert node.state.cleaner_offsets.get(replica.log_dir, ORDERS) == 5
    assert replica.future.move.fallback_offset <= 5
    let_go(node)
    assert await begin(node, node.paths[0]) == ErrorCode.NONE


async def test_how_far_logs_were_cleaned_is_written_when_an_engine_stops(alone: Lab) -> None:
    await alone.create(replicas=[1], cleanup_policy="compact")
    path = alone[1].replica().log_dir
    alone[1].state.cleaner_offsets.put(path, ORDERS, 3)
    await alone[1].engine.stop()
    assert read_cleaner_offsets(alone[1].memory[path]) == {ORDERS: 3}
