"""How much a step of a move copies, when it is synced, and how near is near enough to swap."""

# Steps are looked at one by one, before a mover would take the next.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from broker.core.future_log import MoveState
from broker.core.replication_quota import ReplicationQuota
from broker.engine.future import FutureReplica
from broker.engine.move.move_source import MoveSource
from broker.engine.move.moving import MovingLog
from broker.storage.checkpoints import parse_offsets
from protocol.errors import KafkaError
from protocol.ids import ZERO_UUID
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import SMALL, copied, held, let_go, until_moved
from tests.broker.engine.node import Node

MIB = 1 << 20


def log_of(end_offset: int, size_bytes: int) -> Any:
    positions = SimpleNamespace(log_end_offset=end_offset)
    return SimpleNamespace(positions=positions, files=SimpleNamespace(size_bytes=size_bytes))


def moving(
    *, missing_bytes: int = 0, missing: int = 1, read_bytes: int = MIB, limit: int | None = None
) -> MovingLog:
    """Return a move of a log of 1 GiB."""
    size_bytes, throttle = 1 << 30, ReplicationQuota()
    if limit is not None:
        throttle.limit_bytes_per_second = limit
    config = SimpleNamespace(replica_fetch_max_bytes=read_bytes)
    replica: Any = SimpleNamespace(
        partition=SimpleNamespace(log_end_offset=100), log=log_of(100, size_bytes)
    )
    future: Any = SimpleNamespace(log=log_of(100 - missing, size_bytes - missing_bytes))
    state: Any = SimpleNamespace(config=config)
    tools: Any = SimpleNamespace(throttle=throttle)
    return MovingLog(state, tools, replica, future)


@pytest.mark.parametrize(
    ("one", "is_close"),
    [
        (moving(missing_bytes=4 * MIB), True),
        (moving(missing_bytes=4 * MIB + 1), False),
        (moving(missing_bytes=4 * MIB + 1, missing=0), True),
        (moving(missing_bytes=1_001, limit=4_000), False),
        (moving(missing_bytes=1_000, limit=4_000), True),
    ],
)
async def test_a_swap_closes_a_gap_of_4_mib_or_of_a_step_where_that_is_less(
    one: MovingLog, *, is_close: bool
) -> None:
    assert one.is_close() is is_close


def test_a_step_copies_8_mib_or_one_read_where_that_is_more_and_under_a_limit_one_burst() -> None:
    assert moving()._step_bytes == 8 * MIB
    assert moving(read_bytes=9 * MIB)._step_bytes == 9 * MIB
    assert moving(limit=4_000)._step_bytes == 1_000
    assert moving(limit=4_000, read_bytes=10)._step_bytes == 10


async def one_step(lab: Lab) -> tuple[Node, FutureReplica, MovingLog]:
    """Return a move that is looked at here, and copied by nobody else."""
    node = await held(lab)
    replica = node.replica()
    assert replica.future is not None
    await asyncio.sleep(0.1)
    assert replica.future.move.state is MoveState.COPYING
    node.moves.suspend(replica)
    let_go(node)
    await asyncio.sleep(2)
    return node, replica.future, MovingLog(node.state, node.moves.tools, replica, replica.future)


@pytest.mark.parametrize("less", [0, 1])
async def test_a_copy_is_synced_after_each_256_mib(alone: Lab, less: int) -> None:
    node, future, one = await one_step(alone)
    assert future.log is not None
    one._unsynced_bytes = 256 * MIB - node.replica().log.files.size_bytes - less
    await one.copy()
    assert copied(future).log_end_offset == 20
    assert future.log.files.recovery_point == (20 if less == 0 else 0)
    assert one._unsynced_bytes == (0 if less == 0 else 256 * MIB - 1)


async def test_a_step_copies_whole_reads_and_counts_them(alone: Lab) -> None:
    node, future, one = await one_step(alone)
    size_bytes = node.replica().log.files.size_bytes
    await one.copy()
    assert future.copied_bytes == size_bytes
    assert node.metrics.counters.move_bytes.value == size_bytes
    assert (copied(future).log_end_offset, copied(future).high_watermark) == (20, 20)
    await one.copy()
    assert future.copied_bytes == size_bytes, "there is nothing more"


async def test_a_step_of_a_move_that_does_not_copy_any_more_copies_nothing(alone: Lab) -> None:
    node, future, one = await one_step(alone)
    future.move.state = MoveState.TRUNCATING
    await one.copy()
    assert future.copied_bytes == 0
    future.move.state = MoveState.COPYING
    node.replica().future = None
    await one.copy()
    assert future.copied_bytes == 0


async def test_a_copy_without_a_topic_id_gets_it_before_it_is_promoted(alone: Lab) -> None:
    node, future, one = await one_step(alone)
    await one.copy()
    assert future.log is not None
    future.log.topic_id = ZERO_UUID
    names: list[str] = []
    node.memory[node.paths[1]].before_change = lambda what, name: names.append(f"{what} {name}")
    await one.swap()
    await until_moved(node, node.paths[1])
    metadata = next(n for n, name in enumerate(names) if "partition.metadata" in name)
    promoted = next(n for n, name in enumerate(names) if name.startswith("rename orders-0."))
    assert metadata < promoted


async def test_a_swap_that_cannot_close_its_gap_goes_on_copying() -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node, future, one = await one_step(lab)
        assert copied(future).log_end_offset == 0
        node.replica().partition.next_offset += 1  # An append that does not end.
        swap = lab.begin(one.swap())
        await asyncio.sleep(5)
        assert swap.done()
        assert future.move.state is MoveState.COPYING
        assert node.replica().log.swapping.ended is None
        node.replica().partition.next_offset -= 1


async def test_a_cut_of_what_was_durable_is_written_down_before_the_copy_goes_on(
    alone: Lab,
) -> None:
    node, future, one = await one_step(alone)
    await one.copy()
    assert future.log is not None
    await one._sync()
    await one._cut(5)
    disk = node.memory[node.paths[1]]
    assert parse_offsets(disk.read_file("recovery-point-offset-checkpoint")) == {ORDERS: 5}


async def test_a_swap_writes_no_log_start_where_there_is_none(alone: Lab) -> None:
    node, _, one = await one_step(alone)
    await one.copy()
    changed: list[str] = []
    node.memory[node.paths[1]].before_change = lambda what, name: changed.append(f"{what} {name}")
    await one.swap()
    promoted = next(n for n, name in enumerate(changed) if name.startswith("rename orders-0."))
    assert not any("log-start-offset-checkpoint" in name for name in changed[:promoted])


async def test_batches_that_end_elsewhere_than_they_were_looked_for_are_not_copied(
    alone: Lab,
) -> None:
    """A disk that reads elsewhere gives whole batches, too (seed 1065289)."""
    node = await held(alone, count=4)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    moving = MovingLog(node.state, node.moves.tools, replica, future)
    read = await MoveSource(replica, MIB, MIB).read(0)
    with pytest.raises(KafkaError, match="batches up to 4, expected up to 2"):
        moving._write(read._replace(next_offset=2), 0)
    assert copied(future).next_offset == 0
