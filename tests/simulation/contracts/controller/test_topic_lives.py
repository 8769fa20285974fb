"""What contracts say of wrong rules about topics that are made, grow and go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

import pytest

from controller.core import placement, throttles
from controller.core.alter_configs import change_broker_configs, change_topic_configs
from controller.core.create_partitions import create_partitions
from controller.core.create_topics import create_topics
from controller.core.delete_topics import delete_topics
from controller.core.placement import Start, UsableBroker
from controller.core.reassignment_rules import Assignment
from controller.core.records import DeletionQueued, PartitionsAdded, TopicCreated
from controller.core.step import Step
from controller.core.topic_rules import check_name
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from tests.controller.core.cluster import Cluster, tp
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    asked,
    led,
    misanswer,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers

BROKERS: Final = [UsableBroker(each, None) for each in (1, 2, 3)]
RACKED: Final = [UsableBroker(1, "a"), UsableBroker(2, "a"), UsableBroker(3, "b")]
MADE: Final = CreateTopicsRequest(
    topics=[CreatableTopic(name="u", num_partitions=3, replication_factor=2)], timeout_ms=60_000
)
BY_HAND: Final = CreateTopicsRequest(
    topics=[
        CreatableTopic(
            name="v",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[3])],
        )
    ],
    timeout_ms=60_000,
)
GROWN_BY_HAND: Final = CreatePartitionsRequest(
    topics=[
        CreatePartitionsTopic(
            name="t", count=2, assignments=[CreatePartitionsAssignment(broker_ids=[3, 1])]
        )
    ],
    timeout_ms=60_000,
)
GROWN: Final = CreatePartitionsRequest(
    topics=[CreatePartitionsTopic(name="t", count=4)], timeout_ms=60_000
)
DELETED: Final = DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000)
LISTS: Final = {
    "leader.replication.throttled.replicas": "0:1,0:2",
    "follower.replication.throttled.replicas": "0:3",
}


def two_replicas(request: Any, version: int) -> Callable[[], Act]:
    return asked(request, version, [1, 2], [2, 1])


def throttled() -> Act:
    cluster = led([1, 2], [2, 1])
    step = _step(cluster)
    change_topic_configs(step, "t", dict(LISTS))
    change_broker_configs(step, "3", {"follower.replication.throttled.rate": "1000"})
    wanted = {tp("t-0"): Assignment((1, 3, 2), (3,), (2,))}
    return lambda: throttles.claim(_step(cluster), wanted)


def _step(cluster: Cluster) -> Step:
    return Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)


def a_disk_is_full() -> Act:
    cluster = led([1, 2])
    cluster.beat(3, cordoned=[1, 2])
    return lambda: placement.check_room(cluster.state, (1, 3))


def full(request: Any, version: int) -> Callable[[], Act]:
    """Return that this is asked for while broker 3 has no room."""

    def prepare() -> Act:
        cluster = led([1, 2])
        cluster.beat(3, cordoned=[1, 2])
        return lambda: cluster.call(request, version)

    return prepare


def refused(act: Callable[[], object]) -> Act:
    def run() -> None:
        with suppress(KafkaError):
            act()

    return run


def always_refuses(*_: object, **__: object) -> None:
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "no")


def makes_it_all_the_same(step: Step) -> None:
    step.change(TopicCreated("v", b"v" * 16, {}, ((3,),)))
    misanswer(topics=[CreatableTopicResult(name="v")])(step)


def grows_all_the_same(step: Step) -> None:
    step.change(PartitionsAdded("t", ((3, 1),)))
    misanswer(results=[CreatePartitionsTopicResult(name="t")])(step)


def queues_another(step: Step) -> None:
    step.change(DeletionQueued("t"))


def makes_another(step: Step) -> None:
    step.change(TopicCreated("v", b"v" * 16, {}, ((1,),)))


def grows_too_far(step: Step) -> None:
    step.change(PartitionsAdded("t", ((1, 2),)))


PLACE, START = "placement.place", "placement.start_for_growth"
CASES: Final[list[Case]] = [
    (PLACE, answers([(1, 1)]), lambda: lambda: placement.place(BROKERS, 1, 2, Start(0, 0, 0))),
    (PLACE, answers([(2, 1)]), lambda: lambda: placement.place(BROKERS, 1, 2, Start(0, 0, 0))),
    (PLACE, answers([(1, 2)]), lambda: lambda: placement.place(RACKED, 1, 2, Start(0, 0, 0))),
    (PLACE, answers([(1, 2)] * 3), lambda: lambda: placement.place(BROKERS, 3, 2, Start(0, 0, 0))),
    (START, answers(Start(0, 0, 1)), lambda: lambda: placement.start_for_growth(BROKERS, 2, 1)),
    (
        "placement.check_counts",
        answers(None),
        lambda: refused(lambda: placement.check_counts(1, 4, 3)),
    ),
    ("placement.check_counts", always_refuses, lambda: lambda: placement.check_counts(1, 3, 3)),
    ("placement.check_room", answers(None), lambda: refused(a_disk_is_full())),
    ("topic_rules.check_name", answers(None), lambda: refused(lambda: check_name("a.b", ["a_b"]))),
    ("topic_rules.check_name", always_refuses, lambda: lambda: check_name("ab", ["ac"])),
    ("topics.usable_brokers", answers([]), two_replicas(MADE, 7)),
    ("topics.start_partitions", answers(None), two_replicas(MADE, 7)),
    ("create_topics.create_topics", spoiled(create_topics, makes_another), two_replicas(MADE, 7)),
    (
        "create_topics.create_topics",
        spoiled(create_topics, makes_it_all_the_same),
        full(BY_HAND, 7),
    ),
    (
        "create_partitions.create_partitions",
        spoiled(create_partitions, grows_all_the_same),
        full(GROWN_BY_HAND, 3),
    ),
    (
        "create_topics.create_topics",
        spoiled(create_topics, misanswer(topics=[])),
        two_replicas(MADE, 7),
    ),
    (
        "create_partitions.create_partitions",
        spoiled(create_partitions, grows_too_far),
        two_replicas(GROWN, 3),
    ),
    ("delete_topics.delete_topics", answers(None), two_replicas(DELETED, 5)),
    (
        "delete_topics.delete_topics",
        spoiled(delete_topics, queues_another),
        two_replicas(DeleteTopicsRequest(topic_names=["x"], timeout_ms=60_000), 5),
    ),
    ("deletion.stop_replica_answered", answers(None), two_replicas(DELETED, 5)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
