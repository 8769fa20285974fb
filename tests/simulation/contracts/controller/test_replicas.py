"""What contracts say of replicas and partitions that go astray."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest

from controller.core import partition_moves, replica_moves
from controller.core.effects import Send
from controller.core.phases import ReplicaPhase
from controller.core.records import LeadershipChanged, ProducerIdsAllocated
from controller.core.replica_moves import Replica
from controller.core.step import Step
from protocol.messages.control import (
    LeaderAndIsrRequest,
)
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    led,
    moved,
    mute,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers

REPLICAS, PARTITIONS = "replica_moves.move_replicas", "partition_moves.move_partitions"


def a_broker_comes() -> Act:
    cluster = led()
    cluster.expire(1)
    return lambda: cluster.start_broker(1)


def a_broker_stops() -> Act:
    cluster = led()
    return lambda: cluster.shut_down(3)


def a_topic_is_made() -> Act:
    cluster = led()
    return lambda: cluster.create("u", [1, 2])


def a_topic_goes() -> Act:
    cluster = led()
    return lambda: cluster.delete("t")


def each_partition(**fields: Any) -> Callable[[Any], None]:
    def spoil(request: Any) -> None:
        for topic in request.topic_states:
            for each in topic.partition_states:
                for name, value in fields.items():
                    setattr(each, name, value)

    return spoil


def decides(step: Step) -> None:
    step.change(ProducerIdsAllocated(step.state.next_producer_id + 1))


def stays(step: Step, replicas: Iterable[Replica], target: ReplicaPhase) -> None:
    """Send all, and note nothing."""
    for tp, broker_id in replicas:
        batch = step.new_batch()
        batch.add_stop_replica(broker_id, tp, delete=target is ReplicaPhase.DELETION_STARTED)
        step.send_batch(batch)


def is_always_new() -> Callable[..., None]:
    right = replica_moves.move_replicas

    def move(step: Step, replicas: Iterable[Replica], target: ReplicaPhase) -> None:
        count = len(step.effects)
        right(step, replicas, target)
        for effect in step.effects[count:]:
            if isinstance(effect, Send) and isinstance(effect.request, LeaderAndIsrRequest):
                each_partition(is_new=True)(effect.request)

    return move


def clings_to_the_isr() -> Callable[..., None]:
    right = replica_moves.move_replicas

    def move(step: Step, replicas: Iterable[Replica], target: ReplicaPhase) -> None:
        own = list(replicas)
        before = {tp: step.state.partition(tp) for tp, _ in own}
        right(step, own, target)
        for record in step.records:
            if isinstance(record, LeadershipChanged) and target is ReplicaPhase.OFFLINE:
                for tp, one in before.items():
                    step.state.topics[tp.topic].partitions[tp.partition] = one

    return move


CASES: Final[list[Case]] = [
    (REPLICAS, answers(None), a_topic_is_made),
    (REPLICAS, stays, a_topic_goes),
    (REPLICAS, is_always_new(), a_broker_comes),
    (REPLICAS, clings_to_the_isr(), a_broker_stops),
    (REPLICAS, spoiled(replica_moves.move_replicas, mute), moved("t-0", 2, 3)),
    (PARTITIONS, answers(None), a_topic_goes),
    (PARTITIONS, spoiled(partition_moves.move_partitions, decides), a_topic_goes),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
