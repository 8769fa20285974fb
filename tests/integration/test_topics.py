"""Topics are made, grown, described and deleted at the oldest and the newest version served."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jbodlab.asking.admin import ClusterAdmin
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.cluster import DescribeClusterRequest
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from tests.integration.labs import Lab
from tests.integration.test_kip_18 import break_dir, wait_for_return

TIMEOUT_MS = 30_000
ANY = -1


def wanted(
    name: str,
    partitions: int = 1,
    factor: int = 2,
    *,
    replicas: Sequence[Sequence[int]] = (),
    **configs: str,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=ANY if replicas else partitions,
        replication_factor=ANY if replicas else factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in enumerate(replicas)
        ],
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


def create(lab: Lab, version: int, *topics: CreatableTopic) -> dict[str, int]:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=TIMEOUT_MS)
    response = lab.ask(request, version, broker=2)
    return {result.name: result.error_code for result in response.topics}


def grow(
    lab: Lab, version: int, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> dict[str, int]:
    request = CreatePartitionsRequest(
        topics=list(topics), timeout_ms=TIMEOUT_MS, validate_only=validate_only
    )
    response = lab.ask(request, version, broker=3)
    return {result.name: result.error_code for result in response.results}


def more(name: str, count: int, replicas: Sequence[Sequence[int]] = ()) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in replicas]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments or None)


def delete_by_name(lab: Lab, version: int, *names: str) -> list[int]:
    """Return the codes; from version 6 on names are told as topics."""
    request = DeleteTopicsRequest(timeout_ms=TIMEOUT_MS)
    if version >= 6:
        request.topics = [DeleteTopicState(name=name) for name in names]
    else:
        request.topic_names = list(names)
    response = lab.ask(request, version)
    assert [result.name for result in response.responses] == list(names)
    return [result.error_code for result in response.responses]


def wait_until_free(lab: Lab, topic: CreatableTopic) -> None:
    """Create a topic as soon as the deletion of the old one has ended on every disk."""

    def is_created(_: ClusterAdmin) -> bool:
        (code,) = create(lab, 7, topic).values()
        assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        return code == ErrorCode.NONE

    lab.cluster.wait_until(is_created, f"the name {topic.name} is free again")


def delete_by_id(lab: Lab, *states: DeleteTopicState) -> list[tuple[str | None, int]]:
    response = lab.ask(DeleteTopicsRequest(topics=list(states), timeout_ms=TIMEOUT_MS), 6)
    return [(result.name, result.error_code) for result in response.responses]


def pages(lab: Lab, names: Sequence[str], limit: int) -> list[list[tuple[str, int]]]:
    """Page through topics; return the partitions of each page."""
    found: list[list[tuple[str, int]]] = []
    cursor: Cursor | None = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        response = lab.ask(request, 0)
        found.append([(t.name, p.partition_index) for t in response.topics for p in t.partitions])
        cursor = response.next_cursor
        if cursor is None:
            return found


@pytest.mark.parametrize("version", [0, 7])
def test_each_topic_is_created_or_refused_by_itself(shared_lab: Lab, version: int) -> None:
    name = f"made-{version}"
    codes = create(
        shared_lab,
        version,
        wanted(name, 3, 2, retention_ms="9"),
        wanted(f"{name}.hand", replicas=[[3, 1], [1, 2]]),
        wanted(f"{name}-none", 0),
        wanted(f"{name}-many", 1, 4),
        wanted(f"{name}-uneven", replicas=[[1], [1, 2]]),
        wanted(f"{name}-config", 1, 1, no_such_key="1"),
        wanted("no/name"),
    )

    assert codes == {
        name: ErrorCode.NONE,
        f"{name}.hand": ErrorCode.NONE,
        f"{name}-none": ErrorCode.INVALID_PARTITIONS,
        f"{name}-many": ErrorCode.INVALID_REPLICATION_FACTOR,
        f"{name}-uneven": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        f"{name}-config": ErrorCode.INVALID_CONFIG,
        "no/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    for broker in (1, 2, 3):
        assert shared_lab.partition(name, 2, by=broker).leader > 0, "every broker knows it already"
    hand = shared_lab.partition(f"{name}.hand", 0)
    assert (hand.replicas, hand.leader) == ((3, 1), 3)
    assert create(shared_lab, version, wanted(name)) == {name: ErrorCode.TOPIC_ALREADY_EXISTS}


@pytest.mark.parametrize("version", [0, 3])
def test_topics_grow_or_are_told_why_not(shared_lab: Lab, version: int) -> None:
    name = f"grown-{version}"
    create(shared_lab, 7, wanted(name, 2), wanted(f"{name}-hand", replicas=[[1, 2]]))

    codes = grow(
        shared_lab,
        version,
        more(name, 4),
        more(f"{name}-hand", 2, [[3, 1]]),
        more(f"{name}-missing", 2),
    )

    assert codes == {
        name: ErrorCode.NONE,
        f"{name}-hand": ErrorCode.NONE,
        f"{name}-missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert [shared_lab.partition(name, n).leader > 0 for n in range(4)] == [True] * 4
    assert shared_lab.partition(f"{name}-hand", 1).replicas == (3, 1)
    assert grow(shared_lab, version, more(name, 4)) == {name: ErrorCode.INVALID_PARTITIONS}
    assert grow(shared_lab, version, more(name, 5, [[1, 9]])) == {
        name: ErrorCode.INVALID_REPLICA_ASSIGNMENT
    }
    assert grow(shared_lab, version, more(name, 5), more(name, 6)) == {
        name: ErrorCode.INVALID_REQUEST
    }
    assert grow(shared_lab, version, more(name, 5), validate_only=True) == {name: ErrorCode.NONE}
    assert pages(shared_lab, [name], 100) == [[(name, n) for n in range(4)]]


@pytest.mark.parametrize("version", [0, 5, 6])
def test_topics_are_deleted_by_name(shared_lab: Lab, version: int) -> None:
    name = f"gone-{version}"
    create(shared_lab, 7, wanted(name))

    codes = delete_by_name(shared_lab, version, name, f"{name}-missing")

    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    for broker in (1, 2, 3):
        partitions = shared_lab.admin.view(broker, [name]).partitions
        assert partitions == (), "every broker has forgotten it already"
    wait_until_free(shared_lab, wanted(name))


def test_topics_are_deleted_by_id(shared_lab: Lab) -> None:
    request = CreateTopicsRequest(
        topics=[wanted("by-id"), wanted("by-both")], timeout_ms=TIMEOUT_MS
    )
    made = {topic.name: topic.topic_id for topic in shared_lab.ask(request, 7).topics}
    assert ZERO_UUID not in made.values()

    assert delete_by_id(
        shared_lab,
        DeleteTopicState(name=None, topic_id=made["by-id"]),
        DeleteTopicState(name=None, topic_id=b"?" * 16),
    ) == [("by-id", ErrorCode.NONE), (None, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert delete_by_id(shared_lab, DeleteTopicState(name="by-both", topic_id=made["by-both"])) == [
        ("by-both", ErrorCode.INVALID_REQUEST)
    ]
    assert shared_lab.partition("by-both").leader > 0


@pytest.mark.scenario(185)
def test_a_deletion_is_told_at_once_and_ends_when_the_broken_log_dir_is_back(lab: Lab) -> None:
    """KIP-112: the name stays taken while a replica lies on an offline log dir."""
    assert create(lab, 7, wanted("doomed", replicas=[[1, 2]])) == {"doomed": ErrorCode.NONE}
    path = break_dir(lab, 1, "doomed")

    assert delete_by_name(lab, 6, "doomed") == [ErrorCode.NONE]

    for broker in (1, 2, 3):
        assert lab.admin.view(broker, ["doomed"]).partitions == ()
    assert create(lab, 7, wanted("doomed")) == {"doomed": ErrorCode.TOPIC_ALREADY_EXISTS}
    assert delete_by_name(lab, 6, "doomed") == [ErrorCode.NONE], "marked already"
    lab.control(1).heal(path)
    lab.control(1).restart(path)
    wait_for_return(lab, 1, path)

    wait_until_free(lab, wanted("doomed", replicas=[[1, 3]]))
    assert lab.partition("doomed").replicas == (1, 3)
    held = [r.topic for broker in (1, 2) for d in lab.admin.log_dirs(broker) for r in d.replicas]
    assert held == ["doomed"]


def test_large_topics_are_described_page_by_page(shared_lab: Lab) -> None:
    create(shared_lab, 7, wanted("page-a", 5), wanted("page-b", 3))
    names = ["page-b", "page-a"]
    everything = [("page-a", n) for n in range(5)] + [("page-b", n) for n in range(3)]

    for limit in (1, 2, 3, 5, 100):
        found = pages(shared_lab, names, limit)
        assert all(len(page) <= limit for page in found)
        assert [row for page in found for row in page] == everything

    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="page-b")], cursor=Cursor(topic_name="page-a", partition_index=0)
    )
    (refused,) = shared_lab.ask(request, 0).topics
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="nowhere")])
    (unknown,) = shared_lab.ask(request, 0).topics
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [0, 1])
def test_the_cluster_is_described_by_each_of_its_brokers(shared_lab: Lab, version: int) -> None:
    ports = {broker.id: broker.advertised_port for broker in shared_lab.cluster.spec.brokers}
    for asked in (1, 2, 3):
        response = shared_lab.ask(DescribeClusterRequest(), version, broker=asked)
        assert response.error_code == ErrorCode.NONE
        assert response.cluster_id == shared_lab.cluster.spec.cluster_id
        assert {broker.broker_id: broker.port for broker in response.brokers} == ports
        assert response.controller_id in ports, "an admin client sends its requests there"
    if version >= 1:
        response = shared_lab.ask(DescribeClusterRequest(endpoint_type=2), version)
        assert response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
