"""Checkpoints and the regular looks at each disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from broker.core.hosted import ReturnRule
from broker.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    parse_offsets,
    render_offsets,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.control.test_loaded_log_dirs import failed_dir
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, update_metadata
from tests.broker.engine.moved import begin, held
from tests.broker.engine.node import Node

OTHER = TopicPartition("other", 0)


def checkpoint(node: Node, name: str) -> dict[TopicPartition, int]:
    known: dict[TopicPartition, int] = {}
    for disk in node.memory.values():
        if disk.exists(name):
            known.update(parse_offsets(disk.read_file(name)))
    return known


@pytest.mark.scenario(214)
async def test_high_watermarks_are_written_every_five_seconds_beside_their_logs(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    for _ in range(3):
        await alone[1].produce("a", tp=OTHER)
    await asyncio.sleep(5.1)
    assert checkpoint(alone[1], "replication-offset-checkpoint") == {ORDERS: 0, OTHER: 3}
    disk = alone[1].memory[await alone[1].dir_of(OTHER) or ""]
    assert parse_offsets(disk.read_file("replication-offset-checkpoint")) == {OTHER: 3}


@pytest.mark.kafka_bug("KAFKA-6604")
async def test_logs_nobody_named_yet_keep_their_high_watermark(alone: Lab) -> None:
    """KAFKA-6604: Kafka drops them from the file."""
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    node = await alone.restart(1)
    await asyncio.sleep(5.1)
    assert checkpoint(node, "replication-offset-checkpoint") == {ORDERS: 1}


@pytest.mark.scenario(216)
async def test_recovery_points_are_written_every_minute(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await asyncio.sleep(61)
    assert checkpoint(alone[1], "recovery-point-offset-checkpoint") == {ORDERS: 0}
    assert checkpoint(alone[1], "log-start-offset-checkpoint") == {}


async def flushed(lab: Lab, tps: Sequence[TopicPartition]) -> Node:
    """One broker that leads partitions with three synced records each."""
    node = lab[1]
    for tp in tps:
        await lab.create(tp, replicas=[1])
        for value in "abc":
            await node.produce(value, tp=tp)
        log = node.replica(tp).log.files
        await node.replica(tp).log.dir.queue.submit("flush", log.flush)
    await asyncio.sleep(61)
    return node


async def test_a_recovery_point_that_falls_is_written_before_the_next_append(alone: Lab) -> None:
    node = await flushed(alone, [ORDERS])
    disk = node.memory[await node.dir_of() or ""]
    changes: list[str] = []
    disk.before_change = lambda operation, name: changes.append(f"{operation} {name}")
    await node.logs.truncate(node.replica(), 1)
    await node.produce("d")
    written = changes.index("rename recovery-point-offset-checkpoint.tmp")
    appended = changes.index("append orders-0/00000000000000000000.log")
    assert written < appended
    assert checkpoint(node, "recovery-point-offset-checkpoint") == {ORDERS: 1}


async def test_truncations_share_one_recovery_point_checkpoint(alone: Lab) -> None:
    tps = [TopicPartition("orders", index) for index in range(6)]
    node = await flushed(alone, tps)
    path = await node.dir_of() or ""
    changes: list[str] = []
    node.memory[path].before_change = lambda _, name: changes.append(name)
    here = [tp for tp in tps if node.replica(tp).log_dir == path]
    cuts = [node.logs.truncate(node.replica(tp), 1) for tp in here]
    assert len(cuts) > 1
    assert [await cut for cut in cuts] == [True] * len(cuts)
    await asyncio.sleep(0.01)
    assert changes.count("recovery-point-offset-checkpoint.tmp") == 3, "write, sync and rename"


async def test_a_cut_above_the_recovery_point_writes_no_checkpoint(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    node = alone[1]
    changes: list[str] = []
    node.memory[await node.dir_of() or ""].before_change = lambda _, name: changes.append(name)
    assert await node.logs.truncate(node.replica(), 1) is False
    await asyncio.sleep(0.01)
    assert "recovery-point-offset-checkpoint.tmp" not in changes


async def test_a_log_that_the_checkpoints_have_forgotten_costs_its_successor_no_write(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone.stop_replica(1, ORDERS, delete=True)
    await asyncio.sleep(5.1)
    changes: list[str] = []
    for disk in alone[1].memory.values():
        disk.before_change = lambda _, name: changes.append(name)
    await alone.create(replicas=[1])
    assert "orders-0/partition.metadata" in "".join(changes)
    assert "recovery-point-offset-checkpoint.tmp" not in changes


@pytest.mark.kafka_bug("KAFKA-10723")
@pytest.mark.scenario(34)
async def test_a_clean_stop_marks_the_good_log_dirs_only(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    node = alone[1]
    node.log_dirs[node.paths[1]].fail("test", OSError("broken"))
    await node.engine.stop()
    marked = [path for path, disk in node.memory.items() if disk.exists(".kafka_cleanshutdown")]
    assert marked == [node.paths[0], node.paths[2]]
    assert checkpoint(node, "recovery-point-offset-checkpoint") == {ORDERS: 1}


async def test_an_idle_broker_leaves_its_disks_almost_alone(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await asyncio.sleep(10)
    log_dir = alone[1].log_dirs[alone[1].paths[0]]
    jobs = log_dir.queue.jobs_count
    await asyncio.sleep(50)
    assert log_dir.queue.jobs_count - jobs <= 50 * 5 + 24, "five looks a second and little more"


async def test_an_idle_dir_renamed_away_is_noticed_by_the_regular_look(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await asyncio.sleep(3)
    alone[1].memory[await alone[1].dir_of() or ""].detach()
    await asyncio.sleep(0.25)
    assert len(alone[1].events.failed) == 1


async def test_a_disk_whose_look_takes_long_gets_no_other_one_meanwhile(alone: Lab) -> None:
    log_dir = alone[1].log_dirs[alone[1].paths[0]]
    alone[1].workers[log_dir.path].delay_s = 3
    await asyncio.sleep(1)
    begun = log_dir.queue.queue_depth
    await asyncio.sleep(1.5)
    assert begun == log_dir.queue.queue_depth == 1


async def test_an_idle_disk_that_cannot_be_written_is_noticed_by_the_regular_probe(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("read_only")
    await asyncio.sleep(5.1)
    assert len(alone[1].events.failed) == 1


async def test_space_is_known_at_the_start_and_looked_at_regularly(alone: Lab) -> None:
    node = alone[1]
    assert set(node.state.usage) == set(node.paths)
    before = node.state.usage[node.paths[0]].usable_bytes
    await alone.create(replicas=[1])
    await node.produce("x" * 10_000)
    await asyncio.sleep(5.1)
    assert node.state.usage[node.paths[0]].usable_bytes < before


async def test_the_flusher_syncs_what_flush_ms_asks_for() -> None:
    overrides = {"log_flush_scheduler_interval_ms": "1000", "log_initial_task_delay_ms": "0"}
    async with Lab.running(broker_count=1, dir_count=1, **overrides) as lab:
        await lab.create(replicas=[1], flush_ms="5000")
        await lab[1].produce("a")
        await asyncio.sleep(4)
        assert lab[1].replica().log.files.recovery_point == 0
        await asyncio.sleep(2.1)
        assert lab[1].replica().log.files.recovery_point == 1


async def test_log_starts_are_checkpointed_on_their_own_timer() -> None:
    overrides = {
        "log_flush_start_offset_checkpoint_interval_ms": "2000",
        "log_initial_task_delay_ms": "1000",
    }
    async with Lab.running(broker_count=1, dir_count=1, **overrides) as lab:
        await lab.create(replicas=[1])
        await lab[1].produce(["a", "b", "c"])
        lab[1].logs.raise_log_start(lab[1].replica(), 2)
        await asyncio.sleep(3.1)
        assert checkpoint(lab[1], "log-start-offset-checkpoint") == {ORDERS: 2}


async def test_what_is_written_of_a_log_that_is_set_aside_is_not_true_of_the_next_one(
    lab: Lab,
) -> None:
    """Seed 860712: after a crash the next one there would begin, and be durable, as far."""
    path = await failed_dir(lab)
    lab[2].state.hosted._offline.clear()  # pyright: ignore[reportPrivateUsage] - as after a deletion
    assert (await lab.tell(ORDERS, is_new=True))[2] == ErrorCode.NONE
    lab[2].memory[path].write_atomic(LOG_START_OFFSET_CHECKPOINT, render_offsets({ORDERS: 3}))
    returned = await lab[2].bring_back(path, ReturnRule())
    assert returned.strays == (ORDERS,)

    assert await begin(lab[2], path) == ErrorCode.NONE

    written = lab[2].memory[path].read_file(LOG_START_OFFSET_CHECKPOINT)
    assert parse_offsets(written).get(ORDERS, 0) == 0


async def test_checkpoints_that_are_being_written_know_nothing_of_a_log_that_leaves_meanwhile(
    alone: Lab,
) -> None:
    log_dir, checkpoints = alone[1].log_dirs[alone[1].paths[0]], alone[1].checkpoints
    checkpoints.log_gone(log_dir.path, ORDERS)
    checkpoints.write_at_once(log_dir)
    checkpoints.log_gone(log_dir.path, OTHER)
    await log_dir.queue.submit("wait", lambda: None)
    assert not checkpoints.before_new_log(log_dir, ORDERS)
    assert checkpoints.before_new_log(log_dir, OTHER)


@pytest.mark.parametrize("is_nobodys", [False, True])
async def test_what_is_written_of_a_future_log_is_not_true_of_a_new_log_beside_it(
    alone: Lab, *, is_nobodys: bool
) -> None:
    """Seed 1069601: the disk of the current log was away, and its replica added once more.

    Where the replica was deleted meanwhile, the future log is renamed just then.
    """
    node = await held(alone)
    source, path, other = node.paths
    node = await alone.restart(1, change=lambda loaded: loaded.pop(source))
    for away in (source, other):
        node.log_dirs[away].fail("load", OSError("broken"))
    node.memory[path].write_atomic(RECOVERY_POINT_CHECKPOINT, render_offsets({ORDERS: 3}))
    if is_nobodys:
        node.engine.leadership.update_metadata(update_metadata({ORDERS: Led([2], 2, [2])}, [1]))
    assert is_nobodys is (not node.state.orphan_future_logs)

    assert (await alone.tell(ORDERS, is_new=True))[1] == ErrorCode.NONE

    assert await node.dir_of() == path
    written = node.memory[path].read_file(RECOVERY_POINT_CHECKPOINT)
    assert parse_offsets(written).get(ORDERS, 0) == 0
