"""The answers of CreateTopics, in Kafka's order of checks."""

from __future__ import annotations

import pytest

from controller.core.records import TopicCreated
from protocol.errors import ErrorCode
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from tests.controller.core.cluster import Cluster, settings, three_brokers, tp


def topic(
    name: str = "t",
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    assignment: dict[int, list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
            for number, replicas in (assignment or {}).items()
        ],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )


def create(
    cluster: Cluster, *topics: CreatableTopic, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return list(cluster.call(request, 7).topics)


def test_replicas_are_spread_and_led_by_their_first() -> None:
    cluster = three_brokers()

    (result,) = create(cluster, topic(partitions=6, replication_factor=2))

    assert (result.num_partitions, result.replication_factor) == (6, 2)
    assert result.error_message is None
    assert result.topic_id == cluster.state.topics["t"].topic_id
    partitions = cluster.state.topics["t"].partitions
    assert all(p.leader == p.replicas[0] and p.isr == p.replicas for p in partitions)
    assert sorted(p.leader for p in partitions) == [1, 1, 2, 2, 3, 3]


def test_the_journal_knows_topics_by_their_whole_assignment() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])

    (created,) = [r for r in cluster.records if isinstance(r, TopicCreated)]
    assert created.assignment == ((1, 2),)


def test_minus_one_takes_the_brokers_defaults() -> None:
    cluster = three_brokers(config=settings(num_partitions="4", default_replication_factor="2"))

    (result,) = create(cluster, topic(partitions=-1, replication_factor=-1))

    assert (result.num_partitions, result.replication_factor) == (4, 2)


def test_configs_are_kept_and_described() -> None:
    cluster = three_brokers(config=settings(min_insync_replicas="2"))

    (result,) = create(cluster, topic(configs={"retention.ms": "1000"}))

    described = {c.name: (c.value, c.config_source) for c in result.configs or ()}
    assert described["retention.ms"] == ("1000", 1)
    assert described["min.insync.replicas"] == ("2", 4)
    assert cluster.state.topics["t"].configs == {"retention.ms": "1000"}


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, "internal topic"),
        (topic("old"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'old' already exists."),
        (
            topic(configs={"a": None, "b": None}),
            ErrorCode.INVALID_CONFIG,
            "Null value not supported for topic configs: a,b",
        ),
        (topic(assignment={0: [1]}), ErrorCode.INVALID_REQUEST, "Both cannot be used"),
        (
            topic(partitions=0),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions must be larger than 0.",
        ),
        (
            topic(replication_factor=4),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor: 4 larger than available brokers: 3.",
        ),
        (
            topic(partitions=-1, replication_factor=-1, assignment={0: [1, 1]}),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate replica assignment found",
        ),
        (
            topic(partitions=-1, replication_factor=-1, assignment={0: [9]}),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "includes broker 9, but no such broker is registered",
        ),
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid"),
        (topic("old.er"), ErrorCode.NONE, ""),
        (topic(configs={"no.such.key": "1"}), ErrorCode.INVALID_CONFIG, "no.such.key"),
        (topic(configs={"min.insync.replicas": "0"}), ErrorCode.INVALID_CONFIG, "min.insync"),
    ],
)
def test_what_is_wrong_is_answered_in_kafkas_words(
    wanted: CreatableTopic, code: ErrorCode, message: str
) -> None:
    cluster = three_brokers()
    cluster.create("old", [1])

    (result,) = create(cluster, wanted)

    assert result.error_code == code
    assert message in (result.error_message or "")
    assert len(cluster.state.topics) == 1 + (code is ErrorCode.NONE)


def test_a_name_listed_twice_is_refused_twice_and_the_others_are_created() -> None:
    cluster = three_brokers()

    results = create(cluster, topic("t"), topic("u"), topic("t"))

    assert [(r.name, r.error_code) for r in results] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", ErrorCode.NONE),
        ("t", ErrorCode.INVALID_REQUEST),
    ]
    assert list(cluster.state.topics) == ["u"]


@pytest.mark.parametrize("partitions", [10_001, 2**31 - 1])
def test_a_request_for_too_many_partitions_is_refused_as_a_whole(partitions: int) -> None:
    """The controller would place them while nobody else is served, until its memory ends."""
    cluster = three_brokers()
    results = create(cluster, topic("small"), topic("large", partitions=partitions))
    assert [(r.name, r.error_code, r.error_message) for r in results] == [
        (name, ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
        for name in ("small", "large")
    ]
    assert cluster.state.topics == {}


def test_names_that_collide_within_one_request_are_refused() -> None:
    cluster = three_brokers()

    results = create(cluster, topic("a.b"), topic("a_b"))

    assert [r.error_code for r in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_validation_alone_creates_nothing_and_answers_at_once() -> None:
    cluster = three_brokers()
    cluster.held = [1, 2, 3]

    (result,) = create(cluster, topic(partitions=2), validate_only=True)

    assert (result.error_code, result.num_partitions, result.topic_id) == (0, 2, bytes(16))
    assert cluster.state.topics == {}
    assert cluster.take() == {}


def test_fenced_and_leaving_brokers_get_no_replicas() -> None:
    cluster = three_brokers()
    cluster.expire(2)

    (result,) = create(cluster, topic(replication_factor=3))
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    create(cluster, topic(partitions=4, replication_factor=2))

    assert all(2 not in p.replicas for p in cluster.state.topics["t"].partitions)


@pytest.mark.scenario(243)
def test_fully_cordoned_brokers_get_no_replicas() -> None:
    cluster = three_brokers()
    cluster.beat(1, cordoned=[1, 2])
    cluster.beat(2, cordoned=[1])

    (result,) = create(cluster, topic(replication_factor=3))

    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert result.error_message == "Replication factor: 3 larger than available brokers: 2."
    manual = cluster.create("t", [2, 3], [3, 1])
    assert manual.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert manual.error_message is not None
    assert manual.error_message.endswith("all cordoned or offline: 1")
    assert cluster.create("t", [2, 3]).error_code == ErrorCode.NONE


def test_racks_are_spread_over() -> None:
    cluster = Cluster()
    for broker_id, rack in ((1, "a"), (2, "a"), (3, "b")):
        cluster.start_broker(broker_id, rack=rack)

    create(cluster, topic(partitions=6, replication_factor=2))

    assert all(3 in p.replicas for p in cluster.state.topics["t"].partitions)


def test_the_answer_waits_until_every_broker_knows_the_topic() -> None:
    cluster = three_brokers()
    cluster.held = [3]
    token = cluster.ask(CreateTopicsRequest(topics=[topic()]), 7)
    cluster.settle()
    assert token not in cluster.answers

    cluster.held = []
    cluster.settle()

    assert cluster.answers[token].topics[0].error_code == ErrorCode.NONE


def test_the_answer_is_late_when_a_broker_does_not_answer() -> None:
    cluster = three_brokers()
    cluster.held = [3]
    token = cluster.ask(CreateTopicsRequest(topics=[topic(), topic("a b")], timeout_ms=700), 7)

    cluster.advance(700)

    codes = [r.error_code for r in cluster.answers[token].topics]
    assert codes == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert list(cluster.state.topics) == ["t"]


def test_a_broker_that_dies_is_not_waited_for() -> None:
    cluster = three_brokers()
    cluster.held = [3]
    token = cluster.ask(CreateTopicsRequest(topics=[topic()], timeout_ms=60_000), 7)

    cluster.expire(3)

    assert cluster.answers[token].topics[0].error_code == ErrorCode.NONE


def test_without_time_the_topic_is_created_and_answered_late() -> None:
    cluster = three_brokers()

    result = cluster.call(CreateTopicsRequest(topics=[topic()], timeout_ms=0), 7).topics[0]

    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert cluster.partition("t-0").leader_epoch == 0


def test_a_manual_assignment_may_be_listed_in_any_order() -> None:
    cluster = three_brokers()

    create(
        cluster,
        topic(partitions=-1, replication_factor=-1, assignment={1: [2, 3], 0: [1, 2]}),
    )

    assert [p.replicas for p in cluster.state.topics["t"].partitions] == [(1, 2), (2, 3)]


def test_all_topics_of_a_request_go_out_in_one_batch() -> None:
    cluster = three_brokers()

    create(cluster, *(topic(f"t{number}", replication_factor=3) for number in range(5)))

    assert [len(requests) for requests in cluster.take().values()] == [2, 2, 2]
    assert cluster.state.find(tp("t4-0")) is not None
