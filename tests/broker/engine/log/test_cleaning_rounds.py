"""The rounds of cleaners: when they look, what they ask of idle disks, and what they tell."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from broker.storage.cleanable import read_cleaner_offsets, write_cleaner_offsets
from tests.broker.engine.compacted import active_base, compacted, dirty, fill, until_cleaned
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS


async def until(second: float) -> None:
    await asyncio.sleep(second - asyncio.get_running_loop().time())


async def test_an_idle_cleaner_looks_at_each_backoff(alone: Lab) -> None:
    await until(1_150.05)
    gauges = alone[1].cleaning.gauges()
    assert [gauges[path].since_last_run_ms for path in alone[1].paths] == [50] * 3


async def test_a_cleaner_that_has_not_run_yet_says_so(alone: Lab) -> None:
    node = await alone.restart(1)
    assert node.cleaning.gauges()[node.paths[0]].since_last_run_ms == -1


async def test_the_cleaner_of_a_failed_log_dir_looks_no_more(alone: Lab) -> None:
    path = alone[1].paths[0]
    await until(1_016)
    alone[1].log_dirs[path].fail("test", OSError("broken"))
    await until(1_050)
    gauges = alone[1].cleaning.gauges()
    assert gauges[path].since_last_run_ms == 35_000
    assert gauges[alone[1].paths[1]].since_last_run_ms == 5_000


async def test_a_disk_without_compacted_logs_is_not_asked_for_dirty_ones(alone: Lab) -> None:
    await alone.create(replicas=[1])
    queue = alone[1].replica().log.dir.queue
    alone[1].periodic.stop()
    await asyncio.sleep(1)
    before = queue.jobs_count
    await asyncio.sleep(60)
    assert queue.jobs_count == before


async def test_how_far_logs_were_cleaned_is_written_a_while_after_it_changed(alone: Lab) -> None:
    await compacted(alone)
    path = alone[1].replica().log_dir
    await until(1_020.1)
    alone[1].state.cleaner_offsets.put(path, ORDERS, 7)
    await until(1_024.9)
    assert dirty(alone[1], path) is None
    await until(1_025.1)
    assert dirty(alone[1], path) == 7


async def test_stopped_cleaners_write_what_changed_and_look_no_more(alone: Lab) -> None:
    await compacted(alone)
    path = alone[1].replica().log_dir
    await asyncio.sleep(1)
    alone[1].state.cleaner_offsets.put(path, ORDERS, 7)
    alone[1].cleaning.stop()
    await asyncio.sleep(40)
    assert read_cleaner_offsets(alone[1].memory[path]) == {ORDERS: 7}
    assert alone[1].cleaning.gauges()[path].since_last_run_ms > 40_000


async def test_a_first_dirty_offset_beyond_its_log_is_put_right(alone: Lab) -> None:
    await compacted(alone)
    await fill(alone[1], 60)
    path = alone[1].replica().log_dir
    alone[1].state.cleaner_offsets.put(path, ORDERS, 1_000)
    await until_cleaned(alone[1])
    assert dirty(alone[1], path) == active_base(alone[1])


async def test_a_log_dir_that_came_back_is_cleaned_from_where_it_was(alone: Lab) -> None:
    await compacted(alone)
    node, path = alone[1], alone[1].replica().log_dir
    await fill(node, 60)
    node.log_dirs[path].fail("test", OSError("broken"))
    write_cleaner_offsets(node.memory[path], {ORDERS: 4})
    await node.bring_back(path, ReturnRule())
    assert node.state.cleaner_offsets.get(path, ORDERS) == 4
    await alone.elect(ORDERS, 1, [1])
    await until_cleaned(node)


async def test_marked_logs_are_told_with_their_bytes_while_they_are_online(alone: Lab) -> None:
    await compacted(alone)
    node, path = alone[1], alone[1].replica().log_dir
    await fill(node, 10)
    node.state.cleaner_offsets.mark_uncleanable(path, ORDERS)
    node.state.cleaner_offsets.mark_uncleanable(path, ORDERS._replace(partition=9))
    gauges = node.cleaning.gauges()[path]
    size_bytes = node.replica().log.files.size_bytes
    assert (gauges.uncleanable_count, gauges.uncleanable_bytes) == (2, size_bytes)


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_only_logs_that_lie_there_stand_in_the_file_of_a_log_dir(
    alone: Lab, *, elsewhere: bool
) -> None:
    await compacted(alone)
    node = alone[1]
    path = node.paths[1] if elsewhere else node.replica().log_dir
    node.state.cleaner_offsets.put(path, ORDERS, 7)
    node.cleaning.write_changed()
    await asyncio.sleep(0.01)
    assert dirty(node, path) == (None if elsewhere else 7)
