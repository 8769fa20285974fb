"""What a swap leaves behind, what it waits for, and copies that begin inside of a batch."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from broker.core.leader_epochs import LeaderEpochs
from broker.storage.layout import SWAP_NOTE_FILE
from protocol.errors import ErrorCode
from protocol.metrics.rows import MoveState as RowState
from tests.broker.engine.fetched import now_s
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.moved import (
    begin,
    copied,
    filled,
    held,
    let_go,
    move_rows,
    names,
    until_moved,
)

NONE = ErrorCode.NONE


async def test_a_swap_leaves_the_new_log_in_its_place_and_the_old_one_to_be_removed(
    alone: Lab,
) -> None:
    node = await filled(alone)
    source, target = node.paths[:2]
    node.state.cleaner_offsets.put(source, ORDERS, 7)
    written = node.disk_bytes()
    assert await begin(node, target) == NONE
    await until_moved(node, target)
    await asyncio.sleep(0.1)
    assert [node.state.log_dir_states.log_count(path) for path in node.paths] == [0, 1, 0]
    assert node.state.cleaner_offsets.get(target, ORDERS) == 7
    assert node.state.cleaner_offsets.get(source, ORDERS) is None
    counters = node.metrics.counters
    assert (counters.moves_done.value, counters.moves_failed.value) == (1, 0)
    assert not node.state.is_moving
    assert move_rows(node)[-1].state is RowState.DONE
    assert names(node, target) == ["orders-0"]
    assert not node.memory[target].exists(f"orders-0/{SWAP_NOTE_FILE}")
    (name,) = names(node, source)
    assert name.endswith("-delete")
    await asyncio.sleep(61)
    assert names(node, source) == []
    assert node.disk_bytes() == written


async def test_a_copy_begins_with_the_whole_batch_in_which_its_log_begins(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    await node.produce(["a", "b", "c", "d", "e"])
    await node.produce("f")
    node.logs.raise_log_start(node.replica(), 2)
    written = node.disk_bytes()
    assert await begin(node, node.paths[1]) == NONE
    await until_moved(node, node.paths[1])
    assert node.disk_bytes() == written
    files = node.replica().log.files
    assert (files.log_start_offset, files.log_end_offset) == (2, 6)
    assert offsets_of(await node.fetch(2)) == [0, 5]


async def test_what_is_written_late_is_waited_for_before_the_logs_change_places(
    alone: Lab,
) -> None:
    node = await held(alone)
    node.workers[node.paths[0]].delay_s = 0.3
    late = alone.begin(node.produce("late", acks=1))
    await asyncio.sleep(0.1)
    let_go(node)
    assert (await late).base_offset == 20
    await until_moved(node, node.paths[1])
    assert node.replica().partition.log_end_offset == node.replica().log.files.log_end_offset == 21


async def test_an_epoch_without_records_at_the_end_of_a_copy_is_forgotten(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    copied(future).epochs = LeaderEpochs([(0, 0)])
    copied(future).epochs.assign(3, 0)
    await alone.elect(ORDERS, 1, [1])
    let_go(node)
    await until_moved(node, node.paths[1])
    assert [epoch for epoch, _ in node.replica().partition.epochs.entries] == [0, 1]


@pytest.mark.parametrize("returns", [False, True])
async def test_a_promotion_whose_source_fails_is_counted_by_how_it_ends(
    alone: Lab, *, returns: bool
) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    node.workers[node.paths[1]].delay_s = 0.2
    let_go(node)
    begun_s = now_s()
    while not future.is_promoting:
        await asyncio.sleep(0.001)
        assert now_s() - begun_s < 60
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    if returns:
        await node.bring_back(node.paths[0], ReturnRule())
    await asyncio.sleep(5)
    counters = node.metrics.counters
    expected = (0, 1) if returns else (1, 0)
    assert (counters.moves_done.value, counters.moves_failed.value) == expected
