"""What the contracts of moves between log dirs say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.future_log import (
    CleaningPauses,
    CopyErrorAction,
    Move,
    MoveDecision,
    MoveEvent,
    MoveState,
    can_swap,
    decide_copy_error,
    mover_index,
)
from broker.core.leader_epochs import LeaderEpochs
from broker.core.log_positions import LogPositions
from broker.core.replication_quota import ReplicationQuota
from broker.engine.move.mover import Mover
from broker.engine.move.moves import Moves
from broker.engine.move.moving import MovingLog
from jbodlab.worlds.scenario_files import load_plan
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.core.test_future_log import decide, online
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.broker.lab_story import told
from tests.simulation.contracts.broker.test_engine import is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
TP = TopicPartition("orders", 0)
ALTER: Final = Moves.alter


def move(state: MoveState = MoveState.COPYING) -> Move:
    one = Move(TP, source_dir="/d1", target_dir="/d2", leader_epoch=3, fallback_offset=9)
    one.state = state
    return one


def ordered(path: str) -> MoveDecision:
    return decide(path, online())


def paused(count: int) -> CleaningPauses:
    pauses = CleaningPauses()
    for _ in range(count):
        pauses.pause(TP)
    return pauses


def goes_on_under_a_newer_epoch(one: Move, leader_epoch: int, *, fallback_offset: int) -> None:
    one.leader_epoch, one.fallback_offset = leader_epoch, fallback_offset


def notes_a_cut_and_copies_on(one: Move, offset: int) -> None:
    one.fallback_offset = min(one.fallback_offset, offset)


def ends_without_its_pause(one: Move, event: MoveEvent) -> bool:
    one.state = MoveState.CANCELLED
    return False


def copies_whatever_happens(one: Move, event: MoveEvent) -> bool:
    one.state = MoveState.COPYING
    return False


class Copied(SimpleNamespace):
    """A replica with a move under way, as far as news of it go."""

    tp = TP
    leader_epoch = 4


def copied() -> Any:
    future = SimpleNamespace(is_promoting=False, move=move(), log=object())
    return Copied(future=future)


def cut_of_a_copied_log() -> None:
    Moves.on_truncated(object.__new__(Moves), copied(), 5)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("future_log.decide_move", answers(MoveDecision(ErrorCode.NONE)), lambda: ordered("/d2")),
    (
        "future_log.decide_move",
        answers(MoveDecision(ErrorCode.NONE, start=True)),
        lambda: ordered("/d1"),
    ),
    ("Move.on", copies_whatever_happens, lambda: move().on(MoveEvent.EPOCH_CHANGED)),
    ("Move.on", ends_without_its_pause, lambda: move().on(MoveEvent.CANCEL)),
    (
        "Move.on_leader_epoch",
        goes_on_under_a_newer_epoch,
        lambda: move().on_leader_epoch(4, fallback_offset=5),
    ),
    (
        "Move.on_current_truncated",
        notes_a_cut_and_copies_on,
        lambda: move().on_current_truncated(5),
    ),
    ("Moves.on_truncated", answers(None), cut_of_a_copied_log),
    ("Moves.on_leader_epoch", answers(None), lambda: Moves.on_leader_epoch(idle(), resumed())),
    (
        "future_log.can_swap",
        answers(True),
        lambda: can_swap(current_end_offset=6, future_end_offset=5),
    ),
    (
        "future_log.decide_copy_error",
        answers(CopyErrorAction.RETRY),
        lambda: decide_copy_error(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            fetch_offset=6,
            current_end_offset=5,
            epoch_is_newer_now=False,
        ),
    ),
    ("CleaningPauses.pause", answers(1), lambda: paused(1)),
    ("CleaningPauses.resume", answers(0), lambda: paused(2).resume(TP)),
    ("future_log.mover_index", answers(9), lambda: mover_index(TP, 2)),
]


def idle() -> Moves:
    moves = object.__new__(Moves)
    moves.state = SimpleNamespace(orphan_future_logs={})  # pyright: ignore[reportAttributeAccessIssue]
    moves._movers = [SimpleNamespace(has=answers(True))]  # pyright: ignore[reportAttributeAccessIssue]
    return moves


def resumed() -> Any:
    one = copied()
    one.future.log = SimpleNamespace(positions=SimpleNamespace(high_watermark=3))
    return one


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def begins_its_swap_anew(_: object, replica: Any) -> None:
    replica.future.move.state = MoveState.TRUNCATING


def test_a_swap_whose_renames_have_begun_is_not_interrupted() -> None:
    def use() -> None:
        one = resumed()
        one.future.is_promoting, one.future.move.state = True, MoveState.SWAPPING
        Moves.on_leader_epoch(idle(), one)

    assert told_of(None, "Moves.on_leader_epoch", use) == []
    assert told_of(begins_its_swap_anew, "Moves.on_leader_epoch", use)


def told_truncated(
    copied_to: int, epoch: int, state: MoveState = MoveState.COPYING, first_kept: int = 0
) -> list[str]:
    """Return what is told of a copy of a log from 0 to 10, of epoch 4 from 5 on.

    What is before ``first_kept`` was compacted away; nothing starts later for it.
    """
    moving: Any = object.__new__(MovingLog)
    own, copy = LogPositions(), LogPositions()
    own.next_offset = own.log_end_offset = 10
    copy.log_end_offset = copied_to
    own.epochs = LeaderEpochs([(3, first_kept), (4, 5)])
    copy.epochs = LeaderEpochs([(epoch, 0)])
    moving._future = SimpleNamespace(
        log=SimpleNamespace(positions=copy), move=SimpleNamespace(state=state)
    )
    moving._replica = SimpleNamespace(tp=TopicPartition("orders", 0), partition=own)

    async def nothing(_: object) -> None:
        return None

    return told_of(nothing, "MovingLog.truncate", lambda: asyncio.run(moving.truncate()))


@pytest.mark.parametrize(
    ("copied_to", "epoch", "is_told"),
    [(5, 3, False), (6, 3, True), (10, 4, False), (11, 4, True), (0, 2, False)],
)
def test_a_copy_that_goes_on_is_the_begin_of_its_log(
    copied_to: int, epoch: int, *, is_told: bool
) -> None:
    assert bool(told_truncated(copied_to, epoch)) is is_told
    assert not told_truncated(copied_to, epoch, MoveState.TRUNCATING)


def test_a_copy_may_hold_what_was_compacted_away_meanwhile() -> None:
    """Seed 981062: a log that was made anew begins where its leader's first record is left."""
    assert not told_truncated(2, 2, first_kept=2)
    assert told_truncated(3, 2, first_kept=2)


class Copying(SimpleNamespace):
    """A move in the line of a mover."""

    tp = TP


def forgets_whoever_is_copied(mover: Mover, moving: Any) -> None:
    mover.remove(moving.tp)


@pytest.mark.parametrize("is_begun_anew", [True, False])
def test_a_mover_forgets_no_move_but_the_one_that_is_over(*, is_begun_anew: bool) -> None:
    def use() -> None:
        mover = Mover(ReplicationQuota(), backoff_ms=1, now_ms=lambda: 0)
        over: Any = Copying()
        mover.add(over)
        if is_begun_anew:
            anew: Any = Copying()
            mover.add(anew)
        mover._drop(over)

    assert told_of(None, "Mover._drop", use) == []
    assert bool(told_of(forgets_whoever_is_copied, "Mover._drop", use)) is is_begun_anew
    assert bool(told_of(answers(None), "Mover._drop", use)) is not is_begun_anew


async def obeys_and_tells_nobody(moves: Any, parts: Any) -> object:
    obeyed = await ALTER(moves, parts)
    moves.state.ports.events._move_throttles._wake.clear()
    return obeyed


def test_an_order_that_was_carried_out_before_it_came_takes_the_throttle_off() -> None:
    scenario = "move-to-where-the-replica-is-does-nothing"
    assert is_well(scenario)
    told = told_by(load_plan(scenario), "Moves.alter", obeys_and_tells_nobody)
    assert told.startswith("Moves.alter breaks its promise")


ON_CREATED: Final = Moves._on_created


async def fulfils_a_wish(lab: Lab) -> None:
    lab[1].set_move_limit(1)
    lab[1].state.quotas.moves.record(1 << 40, lab[1].state.now_ms())
    await lab[1].engine.moves.alter([(ORDERS, lab[1].paths[1])])


def keeps_the_wish(moves: Any, replica: Any, future: Any, *made: Any) -> None:
    ON_CREATED(moves, replica, future, *made)
    moves.state.log_dir_states.prefer(replica.tp, future.dir.path)


def has_no_log(moves: Any, replica: Any, future: Any, *made: Any) -> None:
    ON_CREATED(moves, replica, future, *made)
    future.log = None


@pytest.mark.parametrize("wrong", [keeps_the_wish, has_no_log])
def test_a_wish_that_stays_when_it_is_fulfilled_is_told(wrong: Wrong) -> None:
    assert not told(None, "Moves._on_created", fulfils_a_wish)
    assert told(wrong, "Moves._on_created", fulfils_a_wish)


async def forgets_a_replica_that_moves(lab: Lab) -> None:
    lab[1].set_move_limit(1)
    lab[1].state.quotas.moves.record(1 << 40, lab[1].state.now_ms())
    await lab[1].engine.moves.alter([(ORDERS, lab[1].paths[1])])
    del lab.led[ORDERS]
    await lab.restart(1)


def test_a_future_log_that_stays_of_what_is_no_replica_is_told() -> None:
    assert not told(None, "Moves.remove_nobodys", forgets_a_replica_that_moves)
    assert told(answers(None), "Moves.remove_nobodys", forgets_a_replica_that_moves)
