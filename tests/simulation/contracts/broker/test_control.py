"""What the contracts of LeaderAndIsr and StopReplica say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core import control_rules as rules
from broker.core.control_rules import (
    LeaderAndIsrDecision,
    ReplicaAction,
    StopAction,
    StopReplicaDecision,
)
from broker.core.hosted import ReplicaView
from protocol.errors import ErrorCode
from tests.broker.core.test_control_rules import (
    ABSENT,
    ID,
    ME,
    OTHER_ID,
    T0,
    decide,
    offline,
    online,
    request,
    state,
    stop,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

LEAD, FOLLOW, REFUSE = ReplicaAction.LEAD, ReplicaAction.FOLLOW, ReplicaAction.REFUSE


def decides(action: ReplicaAction, *, create_log: bool = False) -> Callable[..., object]:
    def rule(asked: Any, **_: object) -> list[LeaderAndIsrDecision]:
        told = asked.topic_states[0].partition_states[0]
        return [LeaderAndIsrDecision(T0, ID, told, action, ErrorCode.NONE, create_log)]

    return rule


def stops(action: StopAction, code: ErrorCode = ErrorCode.NONE) -> Callable[..., object]:
    return answers([StopReplicaDecision(T0, action, code)])


def epochs(broker_epoch: int, controller_epoch: int) -> ErrorCode:
    return rules.check_control_epochs(
        broker_epoch=broker_epoch,
        own_broker_epoch=5,
        controller_epoch=controller_epoch,
        seen_controller_epoch=3,
    )


def made_anew(replica: ReplicaView) -> None:
    rules.topics_made_anew(request(state(is_new=True)), broker_id=ME, view=lambda _: replica)


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("check_control_epochs", answers(ErrorCode.NONE), lambda: epochs(4, 3)),
    ("check_control_epochs", answers(ErrorCode.NONE), lambda: epochs(5, 2)),
    ("check_control_epochs", answers(ErrorCode.STALE_BROKER_EPOCH), lambda: epochs(-1, 3)),
    ("decide_leader_and_isr", decides(FOLLOW), lambda: decide(offline(), state())),
    (
        "decide_leader_and_isr",
        decides(FOLLOW),
        lambda: decide(online(topic_id=OTHER_ID), state(epoch=6)),
    ),
    ("decide_leader_and_isr", decides(LEAD), lambda: decide(online(), state(leader=1, epoch=5))),
    (
        "decide_leader_and_isr",
        decides(FOLLOW, create_log=True),
        lambda: decide(ABSENT, state(), any_offline=True),
    ),
    ("decide_leader_and_isr", decides(FOLLOW), lambda: decide(ABSENT, state())),
    ("decide_leader_and_isr", answers([]), lambda: decide(online(), state())),
    ("topics_made_anew", answers([]), lambda: made_anew(online(topic_id=OTHER_ID))),
    (
        "topics_made_anew",
        stops(StopAction.DELETE),
        lambda: made_anew(online()),
    ),
    (
        "decide_stop_replica",
        stops(StopAction.DELETE_FILES),
        lambda: stop(offline(), 6, delete=True),
    ),
    ("decide_stop_replica", stops(StopAction.DELETE), lambda: stop(online(), 4, delete=True)),
    ("decide_stop_replica", stops(StopAction.STOP), lambda: stop(online(), 6, delete=True)),
    (
        "decide_stop_replica",
        stops(StopAction.DELETE_FILES),
        lambda: stop(ABSENT, 6, delete=True, any_unread=True),
    ),
    (
        "decide_stop_replica",
        stops(StopAction.DELETE),
        lambda: stop(online(), 6, delete=True, any_unread=True, others=True),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, f"control_rules.{rule}", use) == []
    assert told_of(wrong, f"control_rules.{rule}", use)
