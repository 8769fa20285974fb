"""What contracts say of brokers that are told what is not so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from controller.core.collate import RequestBatch
from controller.core.effects import Send
from controller.core.step import Step
from protocol.ids import NO_EPOCH
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.controller.core.cluster import tp
from tests.simulation.contracts.controller.controlled import Act, Case, led, tells
from tests.simulation.contracts.wrong_rules import answers, told_of

BATCH, SEND = "Step.send_batch", "Step.send"


def a_broker_dies() -> Act:
    cluster = led()
    return lambda: cluster.expire(1)


def a_broker_comes() -> Act:
    cluster = led()
    cluster.expire(1)
    return lambda: cluster.start_broker(1)


def a_broker_stops() -> Act:
    cluster = led()
    return lambda: cluster.shut_down(3)


def a_topic_goes() -> Act:
    cluster = led()
    return lambda: cluster.delete("t")


def tells_falsely(kind: type[Any], spoil: Callable[[Any], None]) -> Callable[..., Any]:
    """Return what spoils the requests of a kind in each batch."""
    right = Step.send_batch

    def send_batch(step: Step, batch: RequestBatch) -> None:
        count = len(step.effects)
        right(step, batch)
        for effect in step.effects[count:]:
            if isinstance(effect, Send) and isinstance(effect.request, kind):
                spoil(effect.request)

    return send_batch


def each_partition(**fields: Any) -> Callable[[Any], None]:
    def spoil(request: Any) -> None:
        for topic in request.topic_states:
            for each in topic.partition_states:
                for name, value in fields.items():
                    setattr(each, name, value)

    return spoil


def whole(**fields: Any) -> Callable[[Any], None]:
    def spoil(request: Any) -> None:
        for name, value in fields.items():
            setattr(request, name, value)

    return spoil


def other_id(request: Any) -> None:
    for topic in request.topic_states:
        topic.topic_id = b"?" * 16


def does_not_count(step: Step, broker_id: int, request: Any) -> int:
    step.effects.append(Send(broker_id, 1, request))
    return 1


def counts_all_as_metadata() -> Callable[..., int]:
    right = Step.send

    def send(step: Step, broker_id: int, request: Any) -> int:
        number = right(step, broker_id, request)
        step.run.channels[broker_id].metadata_sent = number
        return number

    return send


CASES: Final[list[Case]] = [
    (BATCH, tells_falsely(LeaderAndIsrRequest, each_partition(leader_epoch=99)), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, each_partition(isr=[1])), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, each_partition(is_new=True)), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, each_partition(replicas=[2])), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, whole(live_leaders=[])), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, whole(controller_epoch=7)), a_broker_dies),
    (BATCH, tells_falsely(LeaderAndIsrRequest, other_id), a_broker_dies),
    (
        BATCH,
        tells_falsely(UpdateMetadataRequest, each_partition(offline_replicas=[])),
        a_broker_dies,
    ),
    (BATCH, tells_falsely(UpdateMetadataRequest, each_partition(leader=1)), a_broker_dies),
    (BATCH, tells_falsely(UpdateMetadataRequest, whole(live_brokers=[])), a_broker_dies),
    (BATCH, tells_falsely(UpdateMetadataRequest, whole(topic_states=[])), a_broker_comes),
    (BATCH, tells_falsely(UpdateMetadataRequest, each_partition(leader=1)), a_topic_goes),
    (
        BATCH,
        tells_falsely(StopReplicaRequest, each_partition(delete_partition=True)),
        a_broker_stops,
    ),
    (BATCH, tells_falsely(StopReplicaRequest, each_partition(leader_epoch=0)), a_topic_goes),
    (SEND, does_not_count, a_broker_dies),
    (SEND, counts_all_as_metadata(), a_broker_dies),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


@pytest.mark.parametrize("is_led", [True, False])
def test_of_a_leadership_that_nobody_decided_no_replica_is_told(*, is_led: bool) -> None:
    cluster = led()
    epoch = 0 if is_led else NO_EPOCH
    partitions = cluster.state.topics["t"].partitions
    partitions[0] = replace(partitions[0], leader_epoch=epoch)
    batch = RequestBatch(cluster.state, 100)

    def use() -> None:
        batch.add_leader_and_isr((1,), tp("t-0"), is_new=True)

    found = told_of(answers(None), "RequestBatch.add_leader_and_isr", use)
    assert bool(found) is not is_led
