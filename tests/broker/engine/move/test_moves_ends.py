"""What becomes of moves when leaders change, logs are cut or taken back, and log dirs fail."""

from __future__ import annotations

import asyncio

from broker.core.future_log import MoveEvent, MoveState
from broker.engine.future import FutureReplica
from broker.engine.hosted_log import Place
from broker.storage.checkpoints import RECOVERY_POINT_CHECKPOINT, parse_offsets
from broker.storage.partition_log import PartitionLog
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveState as RowState
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import (
    abandoned,
    begin,
    filled,
    let_go,
    move_rows,
    names,
    stopped,
    until_in_sync,
    until_moved,
)
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE


async def under_way(lab: Lab) -> tuple[Node, FutureReplica]:
    """Return a move from the first log dir to the second one, which is held up."""
    node = stopped(await filled(lab))
    assert await begin(node, node.paths[1]) == NONE
    future = node.replica().future
    assert future is not None
    return node, future


def is_future(future: FutureReplica) -> bool:
    return future.log is not None and future.log.place is Place.FUTURE


async def ordered_on_a_slow_disk(lab: Lab) -> tuple[Node, asyncio.Task[ErrorCode]]:
    """Order a move, and return while its future log is made."""
    node = await filled(lab)
    node.workers[node.paths[1]].delay_s = 1
    ordering = lab.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    return node, ordering


async def test_a_leader_epoch_that_begins_while_the_future_log_is_made_changes_nothing(
    alone: Lab,
) -> None:
    node, ordering = await ordered_on_a_slow_disk(alone)
    assert (await alone.elect(ORDERS, 1, [1]))[1] == NONE
    assert await ordering == NONE
    await until_moved(node, node.paths[1])


async def test_who_gives_up_waiting_for_a_future_log_does_not_take_the_move_back(
    alone: Lab,
) -> None:
    node, ordering = await ordered_on_a_slow_disk(alone)
    ordering.cancel()
    await until_moved(node, node.paths[1])


async def test_a_log_that_was_made_for_an_earlier_order_does_not_end_the_later_wish(
    alone: Lab,
) -> None:
    node = stopped(await filled(alone))
    node.workers[node.paths[1]].delay_s = 1
    node.workers[node.paths[2]].delay_s = 2
    for path in node.paths[1:]:
        alone.begin(begin(node, path))
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)
    assert node.state.log_dir_states.preferred(ORDERS) == node.paths[2]
    await asyncio.sleep(2)
    assert node.state.log_dir_states.preferred(ORDERS) is None
    assert await node.dir_of(is_future=True) == node.paths[2]


async def test_a_new_leader_epoch_has_a_move_checked_again_and_an_older_one_not(
    alone: Lab,
) -> None:
    node, future = await under_way(alone)
    await asyncio.sleep(0.1)
    assert future.move.state is MoveState.COPYING
    node.moves.on_leader_epoch(node.replica())
    assert future.move.state is MoveState.COPYING
    node.workers[node.paths[1]].hangs = True
    assert (await alone.elect(ORDERS, 1, [1]))[1] == NONE
    assert (future.move.state, future.move.leader_epoch) == (MoveState.TRUNCATING, 1)
    assert node.moves.active_count == 1


async def test_a_failed_move_is_not_tried_again_in_the_same_leader_epoch(alone: Lab) -> None:
    node, future = await under_way(alone)
    await asyncio.sleep(0.1)
    future.move.on(MoveEvent.ERROR)
    node.moves.suspend(node.replica())
    node.moves.on_leader_epoch(node.replica())
    assert (node.moves.active_count, future.move.state) == (0, MoveState.FAILED)
    assert (await alone.elect(ORDERS, 1, [1]))[1] == NONE
    let_go(node)
    await until_moved(node, node.paths[1])


async def test_a_swap_that_has_begun_is_changed_by_no_leader_epoch_and_no_cut(alone: Lab) -> None:
    node, future = await under_way(alone)
    await asyncio.sleep(0.1)
    assert future.log is not None
    future.log.place = Place.PROMOTING
    await alone.elect(ORDERS, 1, [1])
    node.moves.on_truncated(node.replica(), 5)
    assert (future.move.state, future.move.leader_epoch) == (MoveState.COPYING, 0)
    future.log.place = Place.FUTURE


async def test_a_cut_log_has_the_copy_of_its_move_compared_again(alone: Lab) -> None:
    node = await filled(alone)
    await node.logs.truncate(node.replica(), 15)  # Without a move nothing is to be done.
    node, future = stopped(node), None
    assert await begin(node, node.paths[1]) == NONE
    future = node.replica().future
    assert future is not None
    await asyncio.sleep(0.1)
    node.workers[node.paths[1]].hangs = True
    await node.logs.truncate(node.replica(), 5)
    assert future.move.state is MoveState.TRUNCATING
    assert future.move.fallback_offset <= 5


async def test_a_future_log_on_a_log_dir_that_is_closed_is_not_gone_on_with(alone: Lab) -> None:
    node, _ = await under_way(alone)
    node = await alone.restart(1)
    (orphan,) = node.state.orphan_future_logs.values()
    await orphan.dir.close()
    assert (await alone.elect(ORDERS, 1, [1]))[1] == NONE
    assert node.replica().future is None
    assert not node.state.is_moving


# Log dirs that fail.


async def test_the_copy_stays_when_the_log_dir_of_its_source_fails(alone: Lab) -> None:
    node, future = await under_way(alone)
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.state.orphan_future_logs == {ORDERS: future.log}
    assert is_future(future)
    assert (node.metrics.counters.moves_failed.value, node.state.is_moving) == (1, False)
    assert move_rows(node)[-1].state is RowState.CANCELLED


async def test_a_log_dir_without_moves_fails_none(alone: Lab) -> None:
    node = await filled(alone)
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.state.orphan_future_logs == {}
    assert node.metrics.counters.moves_failed.value == 0
    assert move_rows(node) == []


async def test_a_copy_that_is_lost_with_its_log_dir_is_no_future_log_any_more(alone: Lab) -> None:
    node, _ = await under_way(alone)
    node.log_dirs[node.paths[1]].fail("test", OSError("broken"))
    assert node.replica().future is None
    assert node.metrics.counters.moves_failed.value == 1
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.state.orphan_future_logs == {}
    assert node.metrics.counters.moves_failed.value == 1


async def test_a_move_that_had_failed_before_its_log_dir_is_counted_once(alone: Lab) -> None:
    node, future = await under_way(alone)
    await asyncio.sleep(0.1)
    future.move.on(MoveEvent.ERROR)
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.metrics.counters.moves_failed.value == 0, "who failed it counts it"


async def test_a_move_whose_source_fails_while_its_future_log_is_made_leaves_no_copy(
    alone: Lab,
) -> None:
    node = await filled(alone)
    node.workers[node.paths[1]].delay_s = 1
    alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.state.orphan_future_logs == {}
    await asyncio.sleep(5)
    assert await node.dir_of(is_future=True) is None


async def test_a_copy_that_is_being_promoted_is_no_future_log_when_its_source_fails(
    alone: Lab,
) -> None:
    node, future = await under_way(alone)
    assert future.log is not None
    future.log.place = Place.PROMOTING
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    assert node.state.orphan_future_logs == {}
    assert node.metrics.counters.moves_failed.value == 0, "it may yet become the replica"


async def test_a_copy_that_was_being_promoted_is_lost_with_its_log_dir(alone: Lab) -> None:
    node, future = await under_way(alone)
    assert future.log is not None
    future.log.place = Place.PROMOTING
    node.log_dirs[node.paths[1]].fail("test", OSError("broken"))
    assert node.metrics.counters.moves_failed.value == 1


# Rows.


async def test_each_order_that_is_taken_back_before_its_log_is_made_has_a_row(alone: Lab) -> None:
    node = await filled(alone)
    node.workers[node.paths[1]].delay_s = 1
    for path in (node.paths[1], node.paths[0]) * 2:
        alone.begin(begin(node, path))
        await asyncio.sleep(0.01)
    assert [row.state for row in move_rows(node)] == [RowState.CANCELLED] * 2


async def test_half_a_second_is_between_two_rows_of_the_same_state(alone: Lab) -> None:
    node, future = await under_way(alone)
    node.workers[node.paths[1]].hangs = True
    await asyncio.sleep(1)
    node.moves.suspend(node.replica())

    async def rows_after(seconds: float) -> int:
        await asyncio.sleep(seconds)
        before = len(move_rows(node))
        node.moves.tools.report(node.replica(), future)
        return len(move_rows(node)) - before

    await rows_after(1)
    assert [await rows_after(each) for each in (0.499, 0.001, 0.499, 0.002)] == [0, 1, 0, 1]


async def test_a_replica_that_is_deleted_without_a_move_has_no_row(alone: Lab) -> None:
    node = await filled(alone)
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert move_rows(node) == []


async def test_the_checkpoints_forget_a_future_log_before_its_replica_is_made_anew_beside_it(
    lab: Lab,
) -> None:
    """What they said of it a crash would have had taken for true of the new log (seed 1069601)."""
    node = await abandoned(lab)
    target = await node.dir_of(is_future=True)
    assert target is not None
    await node.checkpoints.make_durable(node.log_dirs[target], _orphan(node))
    assert ORDERS in _recovery_points(node, target)
    node.state.log_dir_states.cordon([path for path in node.paths if path != target])
    made = lab.begin(until_in_sync(lab, node))
    while "orders-0" not in names(node, target):  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    assert ORDERS not in _recovery_points(node, target)
    await made


def _orphan(node: Node) -> PartitionLog:
    return node.state.orphan_future_logs[ORDERS].files


def _recovery_points(node: Node, path: str) -> dict[TopicPartition, int]:
    return parse_offsets(node.memory[path].read_file(RECOVERY_POINT_CHECKPOINT))
