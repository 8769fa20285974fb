"""DeleteRecords: on the leader, on followers, during moves, and what is left after a restart."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.future_log import MoveState
from broker.engine.move.moving import MovingLog
from broker.engine.types import DeletedRecords
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.log.test_checkpoints import checkpoint
from tests.broker.engine.messages import ORDERS, offsets_of, update_metadata
from tests.broker.engine.moved import held, let_go
from tests.broker.engine.node import Node
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.broker.fake_configs import compaction_rules


async def delete(node: Node, offset: int, *, timeout_ms: int = 10_000) -> DeletedRecords:
    (result,) = await node.engine.record_deletions.delete([(ORDERS, offset)], timeout_ms=timeout_ms)
    return result


async def fill(node: Node, count: int = 10) -> None:
    for number in range(count):
        await node.produce(f"{number}")


async def test_all_replicas_start_there_when_the_answer_comes(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    await asyncio.sleep(1)
    begun_s = asyncio.get_running_loop().time()
    assert await delete(lab[1], 4) == DeletedRecords(ErrorCode.NONE, 4)
    assert asyncio.get_running_loop().time() - begun_s < 0.01, "no fetch waits for its time"
    for node in lab.nodes.values():
        assert node.replica().partition.log_start_offset == 4
        assert node.replica().log.files.log_start_offset == 4
    assert (await lab[1].fetch(3)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets_of(await lab[1].fetch(4))[0] == 4


async def test_all_replicas_wrote_it_down_when_the_answer_comes(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    await delete(lab[1], 4)
    for node in lab.nodes.values():
        assert checkpoint(node, "log-start-offset-checkpoint") == {ORDERS: 4}
        assert node.replica().log_start_write is None


@pytest.mark.parametrize("slow", [1, 2])
async def test_no_deletion_is_answered_before_a_slow_disk_has_it(lab: Lab, slow: int) -> None:
    await lab.create()
    await fill(lab[1])
    await asyncio.sleep(1)
    worker = lab[slow].workers[await lab[slow].dir_of() or ""]
    worker.delay_s = 1.0
    assert await delete(lab[1], 4, timeout_ms=500) == DeletedRecords(ErrorCode.REQUEST_TIMED_OUT, 0)
    assert checkpoint(lab[slow], "log-start-offset-checkpoint") == {}
    assert await delete(lab[1], 4) == DeletedRecords(ErrorCode.NONE, 4)
    assert checkpoint(lab[slow], "log-start-offset-checkpoint") == {ORDERS: 4}


async def test_minus_one_is_the_high_watermark(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    assert await delete(lab[1], -1) == DeletedRecords(ErrorCode.NONE, 10)
    assert (await lab[1].produce("later")).base_offset == 10


async def test_what_is_deleted_already_is_no_error(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await fill(alone[1])
    assert (await delete(alone[1], 6)).low_watermark == 6
    assert await delete(alone[1], 3) == DeletedRecords(ErrorCode.NONE, 6)


async def test_errors_have_no_low_watermark(lab: Lab) -> None:
    await lab.create(replicas=[1, 2], cleanup_policy="compact")
    await fill(lab[1], 2)
    assert await delete(lab[1], 1) == DeletedRecords(ErrorCode.POLICY_VIOLATION)
    assert await delete(lab[2], 1) == DeletedRecords(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert await delete(lab[3], 1) == DeletedRecords(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    unknown = TopicPartition("nothing", 0)
    (result,) = await lab[1].engine.record_deletions.delete([(unknown, 0)], timeout_ms=1)
    assert result == DeletedRecords(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


async def test_beyond_the_high_watermark_is_out_of_range(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await fill(alone[1], 2)
    assert await delete(alone[1], 3) == DeletedRecords(ErrorCode.OFFSET_OUT_OF_RANGE)
    assert alone[1].replica().partition.log_start_offset == 0


@pytest.mark.scenario(63)
async def test_an_offline_replica_answers_so(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1], 2)
    lab[1].replica().log.dir.fail("test", OSError("broken"))
    assert await delete(lab[1], 1) == DeletedRecords(ErrorCode.KAFKA_STORAGE_ERROR)


async def test_a_follower_that_is_away_but_alive_makes_it_time_out(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    lab[3].is_reachable = False
    begun_s = asyncio.get_running_loop().time()
    result = await delete(lab[1], 5, timeout_ms=2_000)
    assert result == DeletedRecords(ErrorCode.REQUEST_TIMED_OUT, 0)
    assert asyncio.get_running_loop().time() - begun_s == pytest.approx(2.0)
    assert lab[1].replica().partition.log_start_offset == 5
    assert len(lab[1].replica().deleted) == 0


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_without_time_it_is_begun_and_not_waited_for(lab: Lab, timeout_ms: int) -> None:
    await lab.create()
    await fill(lab[1])
    begun_s = asyncio.get_running_loop().time()
    result = await delete(lab[1], 5, timeout_ms=timeout_ms)
    assert result == DeletedRecords(ErrorCode.REQUEST_TIMED_OUT, 0)
    assert asyncio.get_running_loop().time() == begun_s
    assert await delete(lab[1], 5) == DeletedRecords(ErrorCode.NONE, 5)


async def test_a_follower_whose_broker_left_is_waited_for_until_it_is_out_of_the_isr(
    lab: Lab,
) -> None:
    """A new controller tells who is dead first, and then who leads: it may be that one (925350)."""
    await lab.create()
    await fill(lab[1])
    lab[3].is_reachable = False
    waiting = lab.begin(delete(lab[1], 5))
    await asyncio.sleep(0.1)
    gone = lab.nodes.pop(3)
    lab.tell_metadata()
    await asyncio.sleep(0.1)
    assert not waiting.done()
    lab.nodes[3] = gone
    await lab.elect(ORDERS, 1, [1, 2])
    lab.nodes.pop(3)
    lab.tell_metadata()
    assert await waiting == DeletedRecords(ErrorCode.NONE, 5)
    lab.nodes[3] = gone


async def test_a_dead_follower_that_its_leader_takes_out_of_the_isr_is_waited_for_no_longer(
    lab: Lab,
) -> None:
    await lab.create()
    await fill(lab[1])
    lab[3].is_reachable = False
    behind = lab.begin(lab[1].produce("which it has not"))
    waiting = lab.begin(delete(lab[1], 5, timeout_ms=120_000))
    lab[1].engine.leadership.update_metadata(update_metadata(lab.led, [1, 2], lab.racks))
    assert await waiting == DeletedRecords(ErrorCode.NONE, 5)
    assert 3 not in lab[1].replica().partition.isr.isr
    await behind


async def test_a_dir_that_fails_ends_the_wait(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    lab[3].is_reachable = False
    waiting = lab.begin(delete(lab[1], 5))
    await asyncio.sleep(0.1)
    lab[1].replica().log.dir.fail("test", OSError("broken"))
    assert await waiting == DeletedRecords(ErrorCode.KAFKA_STORAGE_ERROR)


async def test_a_lost_leadership_ends_the_wait(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    lab[3].is_reachable = False
    waiting = lab.begin(delete(lab[1], 5))
    await asyncio.sleep(0.1)
    await lab.elect(ORDERS, 2, [1, 2])
    assert await waiting == DeletedRecords(ErrorCode.NOT_LEADER_OR_FOLLOWER)


async def test_the_log_start_survives_restarts_of_leader_and_follower(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    await delete(lab[1], 4)
    for broker_id in (1, 2):
        node = await lab.restart(broker_id)
        await lab.elect(ORDERS, 1, [1, 2, 3])
        assert node.replica().partition.log_start_offset == 4
        assert node.replica().partition.epochs.entries[0].start_offset == 4


async def test_a_follower_whose_log_ends_below_the_leaders_start_begins_anew(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1], 4)
    lab[3].is_reachable = False
    await lab.elect(ORDERS, 1, [1, 2])
    await fill(lab[1], 6)
    waiting = lab.begin(delete(lab[1], 9))
    await asyncio.sleep(1)
    lab[3].is_reachable = True
    await lab.tell(ORDERS, to=[3])
    assert await waiting == DeletedRecords(ErrorCode.NONE, 9)
    await asyncio.sleep(1)
    partition = lab[3].replica().partition
    assert (partition.log_start_offset, partition.log_end_offset) == (9, 10)
    assert offsets_of(await lab[1].fetch(9)) == [9]


async def test_a_compacted_follower_whose_log_begins_above_the_leaders_end_begins_anew_there(
    lab: Lab,
) -> None:
    """Seed 801035: it began anew at its own start, out of the leader's range, again and again."""
    await lab.create(replicas=[1, 2])
    await fill(lab[1], 4)
    await delete(lab[1], 3)
    await asyncio.sleep(1)
    replica = lab[2].replica()
    replica.compaction = compaction_rules()
    lab[2].state.cleaner_offsets.put(replica.log_dir, ORDERS, 4)
    await lab[1].logs.restart_at(lab[1].replica(), 0)
    lab.led[ORDERS].leader_epoch += 1
    await lab.tell(ORDERS)
    assert (await lab[1].produce("new")).error_code == ErrorCode.NONE
    assert lab[2].disk_bytes() == lab[1].disk_bytes()
    assert (replica.partition.log_start_offset, replica.partition.log_end_offset) == (0, 1)


async def test_a_diverged_follower_begins_anew_where_the_leaders_log_starts_inside_a_batch(
    lab: Lab,
) -> None:
    """Of its own records the leader knows no more than where its log starts: all of them go."""
    await lab.create()
    await lab[1].produce("both")
    lab[2].is_reachable = lab[3].is_reachable = False
    for number in range(5):
        await lab[1].produce(f"lost {number}", timeout_ms=10)
    lab[1].is_reachable = False
    lab[2].is_reachable = lab[3].is_reachable = True
    await lab.elect(ORDERS, 2, [2, 3])
    assert (await lab[2].produce(["a", "b", "c", "d"])).base_offset == 1
    deleting = lab.begin(delete(lab[2], 3, timeout_ms=30_000))
    await asyncio.sleep(1)
    lab[1].is_reachable = True
    await lab.tell(ORDERS, to=[1])
    await asyncio.sleep(2)
    partition = lab[1].replica().partition
    assert (partition.log_start_offset, partition.log_end_offset) == (3, 5)
    assert await deleting == DeletedRecords(ErrorCode.NONE, 3)
    assert lab.led[ORDERS].isr == [2, 3, 1]


@pytest.mark.kafka_bug("KAFKA-6975")
@pytest.mark.scenario(96)
async def test_a_move_keeps_a_log_start_that_lies_inside_a_batch(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce([str(number) for number in range(100)])
    await delete(alone[1], 3)
    await move(alone)
    replica = alone[1].replica()
    assert (replica.partition.log_start_offset, replica.partition.log_end_offset) == (3, 100)
    assert (replica.log.files.log_start_offset, replica.log.files.log_end_offset) == (3, 100)


@pytest.mark.kafka_bug("KAFKA-6975")
async def test_a_copy_of_deleted_records_alone_begins_anew_inside_a_batch(alone: Lab) -> None:
    """Its source was made anew from the batch that its log start lies in (seed 1060337)."""
    node = await held(alone, count=0)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    assert future.log is not None
    moving = MovingLog(node.state, node.moves.tools, replica, future)
    node.moves.suspend(replica)
    let_go(node)
    await moving.truncate()
    await node.produce(["a", "b"])
    await node.produce(["c", "d", "e"])
    await moving.copy()
    node.logs.raise_log_start(replica, 4)
    await future.log.cut(4)
    await node.logs.restart_at(replica, 2)
    await node.produce(["c", "d", "e"])
    node.logs.raise_log_start(replica, 4)
    files, future.move.state = future.log.files, MoveState.COPYING
    assert files.size_bytes > 0
    assert (files.log_start_offset, files.log_end_offset) == (4, 4)
    await moving.copy()
    await moving.copy()  # It finds nothing to copy, and raises the log start again.
    async with asyncio.timeout(60):
        while files.log_start_offset < 4:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.01)
    assert (files.log_start_offset, files.log_end_offset) == (4, 5)


@pytest.mark.scenario(143)
@pytest.mark.parametrize("copied", [0, 12])
async def test_a_move_follows_the_log_start_and_is_waited_for(copied: int) -> None:
    overrides = {"replica_alter_log_dirs_io_max_bytes_per_second": "1"}
    async with Lab.running(broker_count=1, dir_count=2, **overrides) as lab:
        await lab.create(replicas=[1], segment_bytes="1000")
        node = lab[1]
        await fill(node, 20)
        target = next(path for path in node.paths if path != node.replica().log_dir)
        assert (await node.engine.moves.alter([(ORDERS, target)]))[ORDERS] == 0
        future = node.replica().future
        assert future is not None
        waiting = lab.begin(delete(node, copied))
        await asyncio.sleep(0.5)
        node.set_move_limit(1 << 40)
        assert (await waiting).error_code == ErrorCode.NONE
        await asyncio.sleep(10)
        replica = node.replica()
        assert replica.log_dir == target
        assert replica.log.files.log_start_offset == copied
        assert replica.log.files.log_end_offset == 20


async def move(lab: Lab) -> None:
    node = lab[1]
    target = next(path for path in node.paths if path != node.replica().log_dir)
    assert (await node.engine.moves.alter([(ORDERS, target)]))[ORDERS] == 0
    await asyncio.sleep(10)
    assert node.replica().log_dir == target


async def test_nothing_to_delete_is_answered_at_once(alone: Lab) -> None:
    assert await alone[1].engine.record_deletions.delete([], timeout_ms=1_000) == []


async def test_followers_hear_of_a_deletion_at_once_and_not_when_their_polls_end(lab: Lab) -> None:
    await lab.create()
    await fill(lab[1])
    await asyncio.sleep(1.1)
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    assert await delete(lab[1], 5) == DeletedRecords(ErrorCode.NONE, 5)
    assert loop.time() - begun_s < 0.02


async def test_a_deletion_that_is_answered_or_given_up_leaves_nothing_behind(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    await fill(lab[1])
    lab[2].is_reachable = False
    await asyncio.sleep(1.1)
    loop, replica = asyncio.get_running_loop(), lab[1].replica()
    assert isinstance(loop, VirtualLoop)
    waiting = lab.begin(delete(lab[1], 5, timeout_ms=20_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with_it = loop.timers_count
    waiting.cancel()
    replica.deleted.reached(5, ErrorCode.NONE)  # In the same turn.
    await asyncio.gather(waiting, return_exceptions=True)
    assert (loop.timers_count, len(replica.deleted)) == (with_it - 1, 0)
