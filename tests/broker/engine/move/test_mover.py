"""The loop that copies moves, one partition after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.core.future_log import Move, MoveEvent, MoveState
from broker.core.log_dirs import LogDirFailed
from broker.core.replication_quota import ReplicationQuota
from broker.engine.move.mover import Mover
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.moved import begin, filled, until_moved
from tests.broker.engine.virtual_loop import VirtualLoop


class Moving:
    """A move that needs ``steps`` copies; every step is noted in ``journal``."""

    def __init__(self, index: int, journal: list[str], *, steps: int = 2) -> None:
        self.tp = TopicPartition("orders", index)
        self.move = Move(
            self.tp, source_dir="/a", target_dir="/b", leader_epoch=0, fallback_offset=0
        )
        self.left = steps
        self.errors: list[Exception] = []
        self.reports_count = 0
        self.throttle: ReplicationQuota | None = None
        self._journal = journal

    async def truncate(self) -> None:
        self._note("truncate")
        self.move.on(MoveEvent.TRUNCATED)

    async def copy(self) -> None:
        await asyncio.sleep(0.01)
        if self.errors:
            raise self.errors.pop(0)
        self._note("copy")
        self.left -= 1
        if self.throttle is not None:
            self.throttle.record(100, int(asyncio.get_running_loop().time() * 1000))

    def is_close(self) -> bool:
        return self.left <= 0

    async def swap(self) -> None:
        self._note("swap")
        self.move.on(MoveEvent.CAUGHT_UP)
        self.move.on(MoveEvent.SWAP_DONE)

    def report(self) -> None:
        self.reports_count += 1

    def fail(self) -> None:
        self.move.on(MoveEvent.ERROR)

    def _note(self, step: str) -> None:
        self._journal.append(f"{self.tp.partition} {step}")


class Running:
    def __init__(self) -> None:
        self.journal: list[str] = []
        self.throttle = ReplicationQuota()
        self.mover = Mover(
            self.throttle,
            backoff_ms=1_000,
            now_ms=lambda: int(asyncio.get_running_loop().time() * 1000),
        )

    def moving(self, index: int, *, steps: int = 2) -> Moving:
        return Moving(index, self.journal, steps=steps)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    made = Running()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.mover.run())
        yield made
        task.cancel()


@pytest.mark.scenario(129, 130)
async def test_each_partition_is_moved_to_its_end_smallest_first(running: Running) -> None:
    for index in (3, 1, 2):
        running.mover.add(running.moving(index))
    await asyncio.sleep(1)
    expected = ["truncate", "copy", "copy", "swap"]
    assert running.journal == [f"{index} {step}" for index in (1, 2, 3) for step in expected]
    assert len(running.mover) == 0


@pytest.mark.scenario(123)
async def test_a_move_that_fails_leaves_and_may_come_back(running: Running) -> None:
    moving = running.moving(1)
    moving.errors = [KafkaError(ErrorCode.FENCED_LEADER_EPOCH)]
    running.mover.add(moving)
    await asyncio.sleep(5)
    assert moving.move.state is MoveState.FAILED
    assert not running.mover.has(moving.tp)
    moving.move.on_leader_epoch(1, fallback_offset=0)
    running.mover.add(moving)
    await asyncio.sleep(1)
    assert moving.move.state is MoveState.SWAPPED


async def test_a_corrupt_batch_is_tried_again_after_the_back_off_while_others_go_on(
    running: Running,
) -> None:
    first, second = running.moving(1), running.moving(2)
    first.errors = [KafkaError(ErrorCode.CORRUPT_MESSAGE)]
    running.mover.add(first)
    running.mover.add(second)
    await asyncio.sleep(0.5)
    assert (first.move.state, second.move.state) == (MoveState.COPYING, MoveState.SWAPPED)
    await asyncio.sleep(1)
    assert first.move.state is MoveState.SWAPPED


async def test_an_error_of_a_copy_from_before_a_new_leader_epoch_fails_no_move(
    running: Running,
) -> None:
    moving = running.moving(1)
    moving.errors = [KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)]
    running.mover.add(moving)
    await asyncio.sleep(0.005)
    moving.move.on_leader_epoch(1, fallback_offset=0)
    await asyncio.sleep(0.5)
    assert moving.move.state is MoveState.TRUNCATING
    await asyncio.sleep(1)
    assert moving.move.state is MoveState.SWAPPED


async def test_a_failed_log_dir_only_takes_the_partition_out(running: Running) -> None:
    moving = running.moving(1)
    moving.errors = [LogDirFailed("/b", "append", OSError("broken"))]
    running.mover.add(moving)
    await asyncio.sleep(1)
    assert len(running.mover) == 0
    assert moving.move.state is MoveState.COPYING, "the engine ends the move"


@pytest.mark.scenario(138, 139)
async def test_the_limit_is_asked_before_each_copy_and_can_be_lifted(running: Running) -> None:
    running.throttle.limit_bytes_per_second = 1
    moving = running.moving(1, steps=3)
    moving.throttle = running.throttle
    running.mover.add(moving)
    await asyncio.sleep(5)
    assert running.journal == ["1 truncate", "1 copy"]
    running.throttle.limit_bytes_per_second = 2**63 - 1
    await asyncio.sleep(1.1)
    assert running.journal[-1] == "1 swap"


async def test_what_the_current_log_lost_is_cut_whatever_the_limit_says(running: Running) -> None:
    running.throttle.limit_bytes_per_second = 1
    moving = running.moving(1, steps=3)
    moving.throttle = running.throttle
    running.mover.add(moving)
    await asyncio.sleep(2)
    moving.move.on_current_truncated(0)
    await asyncio.sleep(2)
    assert running.journal == ["1 truncate", "1 copy", "1 truncate"]


async def test_a_removed_move_is_copied_no_more(running: Running) -> None:
    moving = running.moving(1, steps=1_000)
    running.mover.add(moving)
    await asyncio.sleep(0.1)
    running.mover.remove(moving.tp)
    await asyncio.sleep(0.1)
    count = len(running.journal)
    await asyncio.sleep(1)
    assert len(running.journal) == count < 50


@pytest.mark.scenario(153)
async def test_movers_take_one_partition_after_the_other(alone: Lab) -> None:
    node = alone[1]
    tps = [TopicPartition("orders", number) for number in range(6)]
    for tp in tps:
        await alone.create(tp, replicas=[1])
        await node.produce("x", tp=tp)
    wishes = [(tp, node.paths[2]) for tp in tps]
    answers = await node.engine.moves.alter(wishes)
    assert set(answers.values()) == {ErrorCode.NONE}
    for tp in tps:
        await until_moved(node, node.paths[2], tp)
    assert [node.state.log_dir_states.log_count(path) for path in node.paths] == [0, 0, 6]


@pytest.mark.scenario(138, 139)
async def test_the_limit_holds_and_can_be_lifted(alone: Lab) -> None:
    node = await filled(alone, count=4)
    node.set_move_limit(1)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    assert await begin(node, node.paths[2]) == ErrorCode.NONE
    started_s = asyncio.get_running_loop().time()
    await asyncio.sleep(5)
    assert await node.dir_of(is_future=True) == node.paths[2]
    node.set_move_limit(2**63 - 1)
    await until_moved(node, node.paths[2])
    assert asyncio.get_running_loop().time() - started_s < 7


def timers_count() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.timers_count


async def test_a_move_is_worked_on_to_its_end_before_a_smaller_one_that_came_later(
    running: Running,
) -> None:
    first, later = running.moving(2, steps=3), running.moving(1, steps=1)
    running.mover.add(first)
    await asyncio.sleep(0.015)
    running.mover.add(later)
    await asyncio.sleep(1)
    assert running.journal == [
        *["2 truncate", "2 copy", "2 copy", "2 copy", "2 swap"],
        *["1 truncate", "1 copy", "1 swap"],
    ]
    assert (first.reports_count, later.reports_count) == (3, 1)


async def test_a_move_that_is_removed_while_it_pauses_leaves_no_timer_behind(
    running: Running,
) -> None:
    moving = running.moving(1)
    moving.errors = [KafkaError(ErrorCode.CORRUPT_MESSAGE)]
    running.mover.add(moving)
    await asyncio.sleep(0.1)
    assert timers_count() == 1
    running.mover.remove(moving.tp)
    assert timers_count() == 0
    running.mover.remove(moving.tp)


async def test_a_pausing_move_that_may_go_on_does_so_at_once(running: Running) -> None:
    moving = running.moving(1)
    moving.errors = [KafkaError(ErrorCode.CORRUPT_MESSAGE)]
    running.mover.add(moving)
    await asyncio.sleep(0.1)
    assert "1 copy" not in running.journal
    running.mover.add(moving)
    await asyncio.sleep(0.1)
    assert running.journal[-1] == "1 swap"
    assert timers_count() == 0


async def test_a_pause_for_the_limit_leaves_no_timer_behind(running: Running) -> None:
    moving = running.moving(1)
    running.mover.add(moving)
    running.throttle.limit_bytes_per_second = 1
    running.throttle.record(1_000, int(asyncio.get_running_loop().time() * 1000))
    await asyncio.sleep(0.1)
    assert timers_count() == 1
    running.throttle.limit_bytes_per_second = 2**63 - 1
    running.mover.remove(running.moving(2).tp)  # Something changed.
    await asyncio.sleep(0.1)
    assert running.journal[-1] == "1 swap"
    assert timers_count() == 0


async def test_a_failed_move_is_forgotten_unless_another_one_has_taken_its_place(
    running: Running,
) -> None:
    failing, second = running.moving(1), running.moving(1, steps=1)
    failing.errors = [KafkaError(ErrorCode.FENCED_LEADER_EPOCH)]
    running.mover.add(failing)
    await asyncio.sleep(0.005)
    running.mover.add(second)
    await asyncio.sleep(0.5)
    assert running.journal == ["1 truncate", "1 truncate", "1 copy", "1 swap"]
    failing = running.moving(3)
    failing.errors = [KafkaError(ErrorCode.FENCED_LEADER_EPOCH)]
    running.mover.add(failing)
    await asyncio.sleep(0.5)
    assert not running.mover.has(failing.tp)
