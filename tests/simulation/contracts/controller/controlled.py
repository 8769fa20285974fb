"""What a controller is asked to do while its rules are wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from controller.core.effects import Answer
from controller.core.step import Step
from protocol.messages.control import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tests.controller.core.cluster import Cluster, three_brokers, tp
from tests.controller.core.reassigning import wish
from tests.simulation.contracts.wrong_rules import told_of

# Any: a rule takes and returns its own.
Wrong: TypeAlias = Callable[..., Any]
Act: TypeAlias = Callable[[], object]
Case: TypeAlias = tuple[str, Wrong, Callable[[], Act]]
"""A rule, one that is wrong in its place, and what makes a world ready and returns what to do."""


def tells(case: Case) -> None:
    """Assert that the wrong rule is told of, and the right one is not."""
    rule, wrong, prepare = case
    assert told_of(None, rule, prepare()) == []
    assert told_of(wrong, rule, prepare())


def spoiled(right: Wrong, spoil: Callable[[Step], object]) -> Wrong:
    """Return a rule that does what is right, and then something to its step that is not."""

    def rule(step: Step, *args: Any, **kwargs: Any) -> Any:
        result = right(step, *args, **kwargs)
        spoil(step)
        return result

    return rule


def mute(step: Step) -> None:
    """Take back what was to be sent and answered."""
    step.effects.clear()


def misanswer(**fields: Any) -> Callable[[Step], None]:
    """Return what answers something else."""

    def spoil(step: Step) -> None:
        for each in (*step.effects, *(held.done for held in step.run.waiting)):
            if isinstance(each, Answer):
                for name, value in fields.items():
                    setattr(each.response, name, value)

    return spoil


def led(*replicas: Sequence[int]) -> Cluster:
    """Return brokers 1 to 3 with a topic ``t``."""
    cluster = three_brokers()
    cluster.create("t", *(replicas or ([1, 2, 3], [2, 1, 3])))
    return cluster


def isr_wish(cluster: Cluster, name: str, *isr: int) -> AlterPartitionRequest:
    """Return that the leader of a partition has this Isr now."""
    one, topic = cluster.partition(name), cluster.state.topics[tp(name).topic]
    data = PartitionData(
        partition_index=tp(name).partition,
        leader_epoch=one.leader_epoch,
        partition_epoch=one.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each) for each in isr],
    )
    return AlterPartitionRequest(
        broker_id=one.leader,
        broker_epoch=cluster.state.brokers[one.leader].broker_epoch,
        topics=[TopicData(topic_id=topic.topic_id, partitions=[data])],
    )


def asked(request: Any, version: int, *replicas: Sequence[int]) -> Callable[[], Act]:
    """Return that a cluster is asked for this."""

    def prepare() -> Act:
        cluster = led(*replicas)
        return lambda: cluster.call(request, version)

    return prepare


def moved(name: str, *target: int) -> Callable[[], Act]:
    """Return that a partition is moved."""
    return asked(wish((name, list(target))), 1)
