"""What the contracts of the engine say of wrong rules, in scenarios where the right ones hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.leader_epochs import EpochEnd
from broker.engine.control.leadership import Leadership
from broker.engine.follow.follower import FollowedLog
from broker.engine.log.logs import Logs
from broker.engine.move.moves import Moves
from broker.engine.replica import Replica
from broker.engine.types import EpochAnswer
from jbodlab.worlds.scenario_files import load_plan
from protocol.errors import ErrorCode
from protocol.messages.control import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from simulation.core.plan import Plan
from simulation.simulated_run import Options, SimulatedRun, simulate
from tests.simulation.contracts.wrong_rules import answers, plant, told_of, wrong_once

HOST_NEW: Final = Logs.host_new
RESTART: Final = Logs.restart_at
DROP: Final = Moves.drop
UPDATE: Final = Leadership.update_metadata
LEADER_AND_ISR: Final = Leadership.leader_and_isr
RECONCILE: Final = FollowedLog.reconcile
RETURN: Final = FollowedLog.return_to_range
TAKE_ROLE: Final = Leadership.take_role
LEADER_FAILS: Final = "kip-112-leader-log-dir-fails"
KNOWS_LESS: Final = "move-goes-on-under-a-new-leader-that-knows-less"
SOURCE_FAILS: Final = "source-fails-while-a-replica-moves"


async def forgets_who_told_it(leadership: Any, request: LeaderAndIsrRequest) -> object:
    response = await LEADER_AND_ISR(leadership, request)
    leadership.state.controller_epoch = 0
    return response


async def forgets_where_leaders_are(leadership: Any, request: LeaderAndIsrRequest) -> object:
    response = await LEADER_AND_ISR(leadership, request)
    leadership.state.leader_addresses.clear()
    return response


def stays_stopped(leadership: Any, replica: Replica, decision: Any) -> None:
    TAKE_ROLE(leadership, replica, decision)
    replica.is_stopped = True


def is_copied_at_a_limit(leadership: Any, replica: Replica, decision: Any) -> None:
    TAKE_ROLE(leadership, replica, decision)
    leadership.state.rebuilds.begin(replica.log_dir, [replica.tp], 1)


def hosts_another_topic(logs: Any, *made: Any) -> Replica:
    replica = HOST_NEW(logs, *made)
    replica.topic_id = b"another topic id"
    return replica


def drops_its_future_log(moves: Any, replica: Replica) -> None:
    DROP(moves, replica)


def restarts_behind(logs: Any, replica: Replica, offset: int) -> Any:
    return RESTART(logs, replica, offset + 1)


def cuts_and_tells_nobody(_: Any, replica: Replica, offset: int) -> Any:
    return replica.log.cut(offset, on_producers=replica.partition.producers.reload)


def skips_its_first_cut() -> Callable[..., object]:
    skipped: list[EpochEnd] = []

    def rule(followed: FollowedLog, answer: EpochEnd) -> tuple[Any, bool]:
        is_cut = 0 <= answer.end_offset < followed.replica.partition.next_offset
        if is_cut and not skipped:
            skipped.append(answer)
            return None, True
        return RECONCILE(followed, answer)

    return rule


def takes_an_older_controller(
    leadership: Leadership, request: UpdateMetadataRequest
) -> UpdateMetadataResponse:
    response = UPDATE(leadership, request)
    leadership.state.controller_epoch = 0
    return response


WRONG_RULES: Final[list[tuple[str, Callable[..., object], str]]] = [
    ("Leadership.update_metadata", takes_an_older_controller, LEADER_FAILS),
    ("Leadership.leader_and_isr", forgets_who_told_it, LEADER_FAILS),
    ("Leadership.leader_and_isr", forgets_where_leaders_are, LEADER_FAILS),
    ("Failures.on_log_dir_failed", answers(None), LEADER_FAILS),
    ("Leadership.take_role", stays_stopped, LEADER_FAILS),
    ("Leadership.take_role", is_copied_at_a_limit, LEADER_FAILS),
    ("Logs.host_new", hosts_another_topic, LEADER_FAILS),
    ("Moves.on_leader_epoch", answers(None), KNOWS_LESS),
    ("Moves.drop", drops_its_future_log, SOURCE_FAILS),
    ("Moves.abandon", answers(None), "move-is-cancelled-by-an-order-to-stay"),
    ("Logs.restart_at", restarts_behind, "follower-begins-anew-while-it-moves"),
    ("Logs.truncate", cuts_and_tells_nobody, KNOWS_LESS),
    (
        "FollowedLog.return_to_range",
        wrong_once(RETURN, None),
        "follower-begins-anew-while-it-moves",
    ),
    ("FollowedLog.reconcile", skips_its_first_cut(), KNOWS_LESS),
    ("FollowedLog.note_high_watermark", answers(True), LEADER_FAILS),
    (
        "Offsets.offset_for_leader_epoch",
        answers(EpochAnswer(ErrorCode.NONE, 0, 0)),
        "kip-112-log-dir-repaired",
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "scenario"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], scenario: str
) -> None:
    assert is_well(scenario)
    assert told_by(load_plan(scenario), rule, wrong).startswith(f"{rule} breaks its promise")


def test_a_run_that_broke_a_contract_and_comes_to_no_end_is_told() -> None:
    plan, runs = load_plan(KNOWS_LESS), list[SimulatedRun]()
    assert told_by(plan, "FollowedLog.reconcile", answers((None, True)), runs)
    assert runs[0].verdict.story
    assert runs[0].steps < 500_000


@cache
def is_well(scenario: str) -> bool:
    """Tell whether nothing is found where all rules are right."""
    return simulate(load_plan(scenario), 1).verdict.is_ok


def told_by(
    plan: Plan,
    rule: str,
    wrong: Callable[..., object] | property,
    runs: list[SimulatedRun] | None = None,
) -> str:
    """Return what the contract of a wrong rule tells first; nothing: it does not."""
    with ExitStack() as planted:
        plant(planted, rule, wrong)
        run = simulate(plan, 1, Options(steps_after_broken=1_000))
    if runs is not None:
        runs.append(run)
    texts = [each.text for each in run.verdict.violations]
    return next((text for text in texts if text.startswith(f"{rule} ")), "")


@pytest.mark.parametrize(
    ("code", "is_offline", "is_told"),
    [
        (ErrorCode.NONE, True, True),
        (ErrorCode.NONE, False, False),
        (ErrorCode.KAFKA_STORAGE_ERROR, True, False),
    ],
)
def test_no_offline_replica_is_answered_as_well(
    code: ErrorCode, *, is_offline: bool, is_told: bool
) -> None:
    row = LeaderAndIsrPartitionError(topic_name="", partition_index=0, error_code=code)
    topic = LeaderAndIsrTopicError(topic_id=bytes(16), partition_errors=[row])
    request: Any = SimpleNamespace(
        topic_states=[SimpleNamespace(topic_id=bytes(16), topic_name="orders")]
    )
    hosted = SimpleNamespace(is_offline=answers(is_offline))
    leadership: Any = object.__new__(Leadership)
    leadership.state = SimpleNamespace(hosted=hosted)

    async def takes_roles(*_: object) -> LeaderAndIsrResponse:
        return LeaderAndIsrResponse(error_code=ErrorCode.NONE, partition_errors=[], topics=[topic])

    def use() -> None:
        asyncio.run(leadership._leader_and_isr(request))

    assert bool(told_of(takes_roles, "Leadership._leader_and_isr", use)) is is_told
