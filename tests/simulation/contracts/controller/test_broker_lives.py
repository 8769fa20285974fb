"""What contracts say of wrong rules about brokers that register, heartbeat and stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from controller.core import brokers, failures
from controller.core.effects import Answer
from controller.core.events import Tick
from controller.core.records import BrokerFenced, LogDirsFailed, ProducerIdsAllocated
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tests.controller.core.cluster import SESSION_MS, log_dir
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    Wrong,
    isr_wish,
    led,
    misanswer,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers


def a_broker_registers() -> Act:
    cluster = led()
    return lambda: cluster.register(3)


def a_broker_beats(**wants: Any) -> Callable[[], Act]:
    def prepare() -> Act:
        cluster = led()
        return lambda: cluster.beat(2, **wants)

    return prepare


def a_broker_stops() -> Act:
    cluster = led()
    return lambda: cluster.shut_down(1)


def one_who_leads_alone_stops() -> Act:
    cluster = led()
    cluster.call(isr_wish(cluster, "t-0", 1), 3)
    return lambda: cluster.beat(1, want_shut_down=True)


def a_broker_dies() -> Act:
    cluster = led()
    cluster.now_ms += SESSION_MS
    cluster.machine.run.last_seen_ms.update({1: cluster.now_ms, 2: cluster.now_ms})
    return lambda: cluster.feed(Tick(cluster.now_ms))


def a_block_is_asked_for() -> Act:
    cluster = led()
    epoch = cluster.state.brokers[1].broker_epoch
    return lambda: cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch))


def a_block_is_asked_for_while_one_is_unheard() -> Act:
    cluster = led()
    del cluster.machine.run.reports[3]
    epoch = cluster.state.brokers[1].broker_epoch
    return lambda: cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch))


def a_stale_block_is_asked_for() -> Act:
    cluster = led()
    return lambda: cluster.call(AllocateProducerIdsRequest(broker_id=1, broker_epoch=77))


def a_disk_comes_back() -> Act:
    cluster = led()
    cluster.fail_log_dir(2, 1, ["t-0"])
    return lambda: cluster.return_log_dirs(2, [1, 2])


def a_clock_is_late() -> Act:
    cluster = led()
    cluster.now_ms += 60_000
    return lambda: cluster.feed(Tick(1_000))


def fences(broker_id: int) -> Callable[[Step], None]:
    return lambda step: step.change(BrokerFenced(broker_id))


def lets_go(step: Step) -> None:
    failures.brokers_failed(step, (1,), "it may go")


def fails_a_disk(step: Step) -> None:
    step.change(LogDirsFailed(2, (log_dir(2, 2),)))


def is_never_heard(step: Step) -> None:
    step.run.last_seen_ms[2] = 0


def gives_twice(step: Step, event: Any) -> None:
    answer = AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=1000)
    step.effects.append(Answer(event.token, answer))


def moves_on(step: Step) -> None:
    step.change(ProducerIdsAllocated(step.state.next_producer_id + 1000))


def without_a_gap(right: Wrong) -> Wrong:
    """Return a rule that gives the block behind the last one, whoever was heard."""

    def rule(step: Step, event: Any) -> None:
        step.run.has_jumped = True
        right(step, event)
        step.run.has_jumped = False

    return rule


def brings_them_back(step: Step) -> None:
    one = step.state.topics["t"].partitions[0]
    step.state.topics["t"].partitions[0] = replace(one, isr=one.replicas)


REGISTER, BEAT = "brokers.register", "brokers.heartbeat"
STOP, BLOCK = "brokers.controlled_shutdown", "brokers.allocate_producer_ids"
EXPIRE = "brokers.expire_sessions"
REFUSED: Final = ErrorCode.INVALID_REGISTRATION
CASES: Final[list[Case]] = [
    (REGISTER, spoiled(brokers.register, misanswer(error_code=REFUSED)), a_broker_registers),
    (REGISTER, spoiled(brokers.register, misanswer(broker_epoch=1)), a_broker_registers),
    (REGISTER, spoiled(brokers.register, fails_a_disk), a_disk_comes_back),
    (BEAT, spoiled(brokers.heartbeat, misanswer(is_fenced=True)), a_broker_beats()),
    (BEAT, spoiled(brokers.heartbeat, misanswer(should_shut_down=True)), a_broker_beats()),
    (BEAT, spoiled(brokers.heartbeat, fences(2)), a_broker_beats()),
    (BEAT, spoiled(brokers.heartbeat, is_never_heard), a_broker_beats()),
    (BEAT, spoiled(brokers.heartbeat, fails_a_disk), a_broker_beats()),
    (BEAT, spoiled(brokers.heartbeat, lets_go), one_who_leads_alone_stops),
    (BEAT, answers(None), a_broker_beats(cordoned=[1])),
    (STOP, answers(None), a_broker_stops),
    (STOP, spoiled(brokers.controlled_shutdown, brings_them_back), a_broker_stops),
    (
        BLOCK,
        without_a_gap(brokers.allocate_producer_ids),
        a_block_is_asked_for_while_one_is_unheard,
    ),
    (BLOCK, gives_twice, a_stale_block_is_asked_for),
    (BLOCK, spoiled(brokers.allocate_producer_ids, moves_on), a_block_is_asked_for),
    (
        BLOCK,
        spoiled(brokers.allocate_producer_ids, misanswer(producer_id_len=7)),
        a_block_is_asked_for,
    ),
    (EXPIRE, answers(None), a_broker_dies),
    (EXPIRE, answers(None), a_clock_is_late),
    (EXPIRE, spoiled(brokers.expire_sessions, fences(2)), a_clock_is_late),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
