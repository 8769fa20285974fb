"""What contracts say of a controller whose orders are not told, or answered before they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from controller.core.decision import Decision, Durable
from controller.core.effects import Effect, Send
from controller.core.events import Event, RequestArrived
from controller.core.machine import Machine
from protocol.messages.control import UpdateMetadataRequest
from protocol.messages.scram import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from protocol.messages.topics import DeleteTopicsRequest
from simulation.contracts.contract import Contract, Contracts
from simulation.contracts.controller import orders_told
from tests.controller.core.altering import BROKER, GROUP, SET, TOPIC, incremental
from tests.controller.core.cluster import create_request
from tests.golden.make_quotas import alter_request
from tests.simulation.contracts.controller.controlled import led

Twist = Callable[[Machine, list[Effect]], list[Effect]]
_BOB: Final = ScramCredentialUpsertion(
    name="bob", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
)
_UNSAFE: Final = [("unclean.leader.election.enable", SET, "true")]
# Any: one of Kafka's requests.
ORDERS: Final[dict[str, tuple[Any, int]]] = {
    "scram": (AlterUserScramCredentialsRequest(deletions=[], upsertions=[_BOB]), 0),
    "quotas": (
        alter_request([([["user", "alice"]], [("producer_byte_rate", 1.0)])], is_tried=False),
        1,
    ),
    "group": (incremental((GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")])), 1),
    "topic": (incremental((TOPIC, "t", _UNSAFE)), 1),
    "broker": (incremental((BROKER, "2", [("log.retention.ms", SET, "50000")])), 1),
    "all brokers": (incremental((BROKER, "", _UNSAFE)), 1),
    "new topic": (create_request("u", [1, 2]), 7),
    "gone topic": (DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000), 5),
}


def found(contract: Contract, order: str, twist: Twist = lambda _, effects: effects) -> list[str]:
    """Return what is told while an order is taken and brokers do not answer yet."""
    cluster = led([1, 2, 3])
    request, version = ORDERS[order]
    right = Machine.step

    def step(machine: Machine, event: Event, now_ms: int) -> Decision:
        decision = right(machine, event, now_ms)
        effects = list(decision.effects(Durable(decision.journal_number)))
        return Decision(decision.journal_number, decision.records, twist(machine, effects))

    setattr(Machine, "step", step)  # noqa: B010 -- a wrong rule is planted
    try:
        with Contracts([contract], now_us=lambda: 0) as contracts:
            cluster.machine.step(RequestArrived(99, request, version), cluster.now_ms)
    finally:
        setattr(Machine, "step", right)  # noqa: B010
    return [each.text for each in contracts.found]


def untold(broker_id: int) -> Twist:
    """Return what sends nothing to a broker."""

    def twist(_: Machine, effects: list[Effect]) -> list[Effect]:
        return [e for e in effects if not (isinstance(e, Send) and e.broker_id == broker_id)]

    return twist


def told_nothing(_: Machine, effects: list[Effect]) -> list[Effect]:
    """Send the requests, and nothing in them."""
    for each in effects:
        if isinstance(each, Send) and isinstance(each.request, UpdateMetadataRequest):
            each.request.topic_states = []
    return effects


def told_as_before(_: Machine, effects: list[Effect]) -> list[Effect]:
    """Tell of partitions as they were before the last change."""
    for each in effects:
        if isinstance(each, Send) and isinstance(each.request, UpdateMetadataRequest):
            for topic in each.request.topic_states:
                for row in topic.partition_states:
                    row.zk_version -= 1
    return effects


def answered_now(machine: Machine, effects: list[Effect]) -> list[Effect]:
    held, machine.run.waiting = machine.run.waiting, []
    return [*effects, *(each.done for each in held)]


def behind_the_others(machine: Machine, effects: list[Effect]) -> list[Effect]:
    machine.run.waiting = [replace(each, told={}) for each in machine.run.waiting]
    return effects


@pytest.mark.parametrize("order", ORDERS)
def test_who_is_not_told_of_an_order_is_named(order: str) -> None:
    assert found(orders_told.told_at_once, order) == []
    (text,) = found(orders_told.told_at_once, order, untold(2))
    assert "broker 2 is not told" in text
    assert found(orders_told.told_at_once, order, told_nothing)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("twist", [answered_now, behind_the_others])
def test_an_answer_that_does_not_wait_is_told(order: str, twist: Twist) -> None:
    assert found(orders_told.answered_behind, order) == []
    assert found(orders_told.answered_behind, order, twist)


def test_other_brokers_need_not_hear_of_the_configs_of_one() -> None:
    assert found(orders_told.told_at_once, "broker", untold(1)) == []


def test_who_is_told_what_was_before_is_named() -> None:
    assert found(orders_told.told_at_once, "new topic", told_as_before)
