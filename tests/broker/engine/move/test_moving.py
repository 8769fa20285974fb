"""The steps of one move, looked at closely."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.future_log import MoveState
from broker.core.hosted import ReturnRule
from broker.core.leader_epochs import LeaderEpochs
from broker.engine.move.moving import MovingLog
from broker.storage.layout import SWAP_NOTE_FILE
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveState as RowState
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.moved import (
    SMALL,
    copied,
    copying,
    held,
    let_go,
    move_rows,
)
from tests.broker.engine.node import Node
from tests.broker.engine.transactions import aborted_of, read, three_transactions, write


async def moved(node: Node) -> None:
    async with asyncio.timeout(30):
        while node.replica().future is not None:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.01)


@pytest.mark.scenario(127, 142)
async def test_a_future_log_ahead_of_its_source_is_cut(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    future.move.state = MoveState.COPYING
    copied(future).next_offset = copied(future).log_end_offset = 20
    await node.logs.truncate(node.replica(), 5)
    assert future.move.state is MoveState.TRUNCATING
    let_go(node)
    await moved(node)
    assert offsets_of(await node.fetch(0)) == [0, 1, 2, 3, 4]


async def test_what_was_copied_of_an_epoch_that_its_log_never_had_is_cut(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    future.move.state, future.move.fallback_offset = MoveState.TRUNCATING, 20
    copied(future).next_offset = copied(future).log_end_offset = 20
    copied(future).epochs = LeaderEpochs([(0, 0), (7, 3)])
    while future.move.state is MoveState.TRUNCATING:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.01)
    assert copied(future).log_end_offset == 3


@pytest.mark.scenario(141)
async def test_a_source_that_is_cut_again_meanwhile_has_its_copy_cut_again() -> None:
    """A slow disk still cuts the future log when the current one loses more and is written anew."""
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await held(lab)
        replica, future = node.replica(), node.replica().future
        assert future is not None
        let_go(node)
        while copied(future).log_end_offset < 14:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
        node.workers[node.paths[1]].delay_s = 1.0
        await node.logs.truncate(replica, 10)
        while copied(future).log_end_offset != 10:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.01)
        await node.logs.truncate(replica, 5)
        await lab.elect(ORDERS, 1, [1])
        for number in range(20):
            await node.produce("y" * 200 + str(number))
        written = node.disk_bytes()
        await moved(node)
        assert await node.dir_of() == node.paths[1]
        assert node.disk_bytes() == written


@pytest.mark.scenario(142)
async def test_a_source_that_starts_anew_starts_the_copy_anew(alone: Lab) -> None:
    node = await held(alone)
    await node.logs.restart_at(node.replica(), 50)
    await node.produce("after")
    let_go(node)
    await moved(node)
    assert offsets_of(await node.fetch(50)) == [50]
    assert node.replica().log.files.log_start_offset == 50


@pytest.mark.scenario(143)
async def test_records_that_are_deleted_between_two_reads_of_a_step_are_not_asked_for() -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await held(lab)
        future = node.replica().future
        assert future is not None
        let_go(node)
        while copied(future).log_end_offset == 0:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
        node.logs.raise_log_start(node.replica(), 15)
        await moved(node)
        assert future.move.state is MoveState.SWAPPED
        assert offsets_of(await node.fetch(15)) == [15, 16, 17, 18, 19]


@pytest.mark.scenario(143)
async def test_records_that_are_deleted_while_the_last_ones_are_copied_stay_deleted(
    alone: Lab,
) -> None:
    """Beyond the end of the future log, which nobody empties any more."""
    node = await held(alone)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    node.workers[node.paths[1]].delay_s = 0.1
    let_go(node)
    while copied(future).log_end_offset < 20:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    for _ in range(5):
        await node.produce("late")
    while replica.log.swapping.ended is None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)
    assert copied(future).log_end_offset == 20
    node.logs.raise_log_start(replica, 23)
    await moved(node)
    assert replica.log.files.log_start_offset == replica.partition.log_start_offset == 23


async def test_no_less_is_committed_of_a_copy_than_where_it_begins() -> None:
    """As after a kill when only the destination had written that records were deleted."""
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await held(lab)
        future = node.replica().future
        assert future is not None
        let_go(node)
        while copied(future).log_end_offset < 5:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
        copied(future).raise_log_start(3)
        node.replica().partition.high_watermark = 0
        while copied(future).log_end_offset < 14:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
        assert copied(future).high_watermark == 3


async def test_producers_wait_for_the_swap_and_no_longer(alone: Lab) -> None:
    node = await held(alone)
    let_go(node)
    while node.replica().log.swapping.ended is None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    node.workers[node.paths[1]].hangs = True
    waiting = alone.begin(node.produce("during"))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    await asyncio.sleep(10)
    assert (await waiting).error_code == ErrorCode.NONE
    assert [told.path for told in node.events.failed] == [node.paths[1]]
    assert await node.dir_of() == node.paths[0]


async def promoting(lab: Lab) -> Node:
    """Broker 1 follows, and the log that its replica moves to is just being promoted."""
    node = lab[1]
    await lab.create(replicas=[2, 1, 3])
    for number in range(20):
        await lab[2].produce("x" * 200 + str(number))
    replica = node.replica()
    node.workers[node.paths[1]].delay_s = 0.05
    await node.engine.moves.alter([(ORDERS, node.paths[1])])
    while replica.future is None or not replica.future.is_promoting:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    return node


async def in_sync_after_all(lab: Lab, node: Node) -> None:
    """What one log dir lost costs no other one, and the replica is the same as the others."""
    await lab.elect(ORDERS, 2, [2, 3])
    async with asyncio.timeout(30):
        while 1 not in lab.led[ORDERS].isr:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.01)
    assert (await lab[2].produce("after")).error_code == ErrorCode.NONE
    await asyncio.sleep(20)
    assert [told.path for told in node.events.failed] == [node.paths[0]]
    disk = node.memory[node.replica().log_dir]
    names = [name for name in disk.list_dir("orders-0") if name.endswith(".log")]
    served = b"".join(disk.read_file(f"orders-0/{name}") for name in names)
    assert served == lab[2].disk_bytes()


async def test_a_source_that_fails_during_the_promotion_leaves_the_promoted_log(lab: Lab) -> None:
    node = await promoting(lab)
    source, target = node.paths[:2]
    node.log_dirs[source].fail("test", OSError("broken"))
    await asyncio.sleep(1)
    assert await node.dir_of() == target
    assert await node.dir_of(is_future=True) is None
    assert not node.state.hosted.is_offline(ORDERS)
    await in_sync_after_all(lab, node)
    returned = await node.bring_back(source, ReturnRule())
    assert returned.strays == (ORDERS,)
    await in_sync_after_all(lab, node)
    assert await node.dir_of() == target


async def test_a_source_that_returns_before_the_promoted_log_is_known_keeps_it_out(
    lab: Lab,
) -> None:
    node = await promoting(lab)
    source, target = node.paths[:2]
    node.log_dirs[source].fail("test", OSError("broken"))
    returned = await node.bring_back(source, ReturnRule())
    assert returned.found == (ORDERS,)
    await in_sync_after_all(lab, node)
    assert await node.dir_of() == source
    (left,) = (name for name in node.memory[target].list_dir("") if name.startswith("orders-0"))
    assert left.endswith("-delete")
    assert node.state.log_dir_states.log_count(target) == 0


@pytest.mark.scenario(147)
@pytest.mark.parametrize("hung", [0, 1])
async def test_a_kill_in_the_middle_of_a_swap_loses_nothing(alone: Lab, hung: int) -> None:
    """Whichever disk stops first: the next start finds one current log with everything."""
    node = await held(alone)
    let_go(node)
    while node.replica().log.swapping.ended is None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    for _ in range(6):
        await asyncio.sleep(0)
    node.workers[node.paths[hung]].hangs = True
    for _ in range(20):
        await asyncio.sleep(0)
    node = await alone.restart(1, is_clean=False)
    await alone.elect(ORDERS, 1, [1])
    assert offsets_of(await node.fetch(0, max_bytes=1 << 20)) == list(range(20))
    await asyncio.sleep(65)
    left = [name for disk in node.memory.values() for name in disk.list_dir("") if "orders" in name]
    assert left == ["orders-0"]
    assert not any(disk.exists(f"orders-0/{SWAP_NOTE_FILE}") for disk in node.memory.values())


async def test_a_source_that_fails_while_it_is_retired_changes_nothing(alone: Lab) -> None:
    node = await held(alone)
    source = node.paths[0]
    future_dir = node.log_dirs[node.paths[1]]
    let_go(node)
    while node.replica().log.dir is not future_dir:
        node.workers[source].hangs = node.replica().future is not None and (
            node.replica().future.is_promoting  # type: ignore[union-attr]
        )
        await asyncio.sleep(0)
    node.log_dirs[source].fail("rename", OSError("broken"))
    assert offsets_of(await node.fetch(0)) == list(range(20))
    assert node.engine.gauges().offline_replica_count == 0


async def test_a_throttled_move_swaps_only_when_little_is_missing() -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await held(lab)
        node.state.quotas.moves.__init__()
        node.set_move_limit(2_000)
        await asyncio.sleep(1.5)
        assert node.replica().future is not None
        assert node.replica().log.swapping.ended is None
        await moved(node)
        assert offsets_of(await node.fetch(0)) == list(range(20))


async def test_two_partitions_swap_independently(alone: Lab) -> None:
    other = TopicPartition("other", 0)
    node = await held(alone)
    await alone.create(other, replicas=[1])
    await node.engine.moves.alter([(other, node.paths[2])])
    let_go(node)
    await moved(node)
    await asyncio.sleep(1)
    assert await node.dir_of(other) == node.paths[2]


@pytest.mark.scenario(151)
async def test_a_move_keeps_what_was_aborted_and_who_wrote(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    await three_transactions(node)
    before = await read(node)
    await node.engine.moves.alter([(ORDERS, node.paths[1])])
    await moved(node)
    log = node.replica().log.files
    on_disk = log.read(0, 1 << 20, up_to=6, with_aborted=True)
    assert [(one.producer_id, one.first_offset) for one in on_disk.aborted] == [(1, 0)]
    after = await read(node)
    assert (offsets_of(after), after.aborted) == (offsets_of(before), before.aborted)
    assert (await write(node, 9, 1, transactional=False)).base_offset == 7
    assert log.producer_entries == node.engine.describe.producers(ORDERS)
    node = await alone.restart(1)
    await alone.elect(ORDERS, 1, [1])
    assert aborted_of(await read(node)) == [(1, 0)]
    assert (await write(node, 9, 1, transactional=False)).base_offset == 7


async def test_a_copy_keeps_nothing_that_a_log_made_anew_has_not() -> None:
    """Neither what was committed and its leader has lost since; while it waits for its turn, too.

    The other log grows beyond it meanwhile (seed 758109).
    """
    async with Lab.running(broker_count=3, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        source, target = await copying(lab, lab[2], until=14)
        node = lab[2]
        node.log_dirs[source].fail("test", OSError("broken"))
        await node.bring_back(source, ReturnRule(), is_empty=True)
        await lab[1].logs.truncate(lab[1].replica(), 5)
        await lab.elect(ORDERS, 1, [1])
        for number in range(20):
            await lab[1].produce("y" * 200 + str(number))
        while node.replica().partition.log_end_offset < 25:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.01)
        assert await node.dir_of(is_future=True) == target
        let_go(node)
        await moved(node)
        assert await node.dir_of() == target
        assert node.disk_bytes() == lab[1].disk_bytes()


async def test_a_move_that_an_error_ends_is_counted_once(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    moving = MovingLog(node.state, node.moves.tools, node.replica(), future)
    await moving.truncate()
    for _ in range(2):
        moving.fail()
    node.log_dirs[node.paths[1]].fail("append", OSError("broken"))
    assert node.metrics.counters.moves_failed.value == 1
    assert move_rows(node)[-2].state is RowState.FAILED


async def test_a_move_that_was_taken_back_while_it_waited_for_its_turn_changes_nothing(
    alone: Lab,
) -> None:
    """Its future log waits to be removed by then."""
    node = await held(alone)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    future.move.state = MoveState.COPYING
    moving = MovingLog(node.state, node.moves.tools, replica, future)
    async with node.moves.tools.turns.of(*node.paths):
        let_go(node)
        copy = alone.begin(moving.copy())
        await asyncio.sleep(0)
        node.logs.raise_log_start(replica, 5)
        node.moves.abandon(replica)
    await copy
    assert copied(future).log_end_offset == 0


async def test_a_copy_that_begins_with_a_whole_batch_empties_nothing(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    assert future.log is not None
    token = future.log.token
    let_go(node)
    while copied(future).log_end_offset == 0:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    assert future.log.is_still(token)


async def test_a_copy_that_has_everything_is_no_copy_to_begin_anew(alone: Lab) -> None:
    """As after a swap that was given up because more came in meanwhile."""
    node = await held(alone, count=0)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    assert future.log is not None
    future.move.state, token = MoveState.COPYING, future.log.token
    moving = MovingLog(node.state, node.moves.tools, replica, future)
    node.moves.suspend(replica)
    let_go(node)
    await moving.copy()
    assert future.log.is_still(token)
