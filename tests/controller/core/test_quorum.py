"""The journal as a metadata log: who writes it, how far it is, who has heard how much."""

from __future__ import annotations

import pytest

from controller.core.state import ClusterState
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.cluster import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from protocol.messages.journal import JournalReport, put_report
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from protocol.wire.fast import codec
from tests.controller.core.cluster import Cluster, three_brokers


def describe(cluster: Cluster, *partitions: tuple[str, int]) -> DescribeQuorumResponse:
    topics = [
        TopicData(topic_name=name, partitions=[PartitionData(partition_index=index)])
        for name, index in partitions
    ]
    answer: DescribeQuorumResponse = cluster.call(DescribeQuorumRequest(topics=topics), 2)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, "")
    return answer


def test_the_controller_is_the_only_voter_and_decisions_are_its_log() -> None:
    cluster = three_brokers()
    before = cluster.state.journal_number
    cluster.create("t", [1])
    answer = describe(cluster, ("__cluster_metadata", 0))
    [quorum] = answer.topics[0].partitions
    state: ClusterState = cluster.state
    assert quorum.error_code == ErrorCode.NONE
    assert quorum.leader_epoch == state.controller_epoch
    assert quorum.high_watermark == state.journal_number > before
    [voter] = quorum.current_voters
    assert (voter.replica_id, voter.log_end_offset) == (quorum.leader_id, state.journal_number)
    assert [node.node_id for node in answer.nodes] == [quorum.leader_id]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_answer_has_what_its_version_has(version: int) -> None:
    asked = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData()])
    answer = three_brokers().call(DescribeQuorumRequest(topics=[asked]), version)
    assert len(answer.nodes) == (version >= 2)
    assert codec(DescribeQuorumResponse, version).encode(answer)


@pytest.mark.parametrize(
    "asked",
    [
        [("__cluster_metadata", 1)],
        [("orders", 0)],
        [("__cluster_metadata", 0), ("orders", 0)],
    ],
)
def test_asked_for_another_partition_none_is_known(asked: list[tuple[str, int]]) -> None:
    answer = describe(three_brokers(), *asked)
    found = [(topic.topic_name, each) for topic in answer.topics for each in topic.partitions]
    assert [(name, each.partition_index) for name, each in found] == asked
    text = "This server does not host this topic-partition."
    told = {(each.error_code, each.error_message) for _, each in found}
    assert told == {(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)}
    assert answer.nodes == []


def test_asked_for_nothing_nothing_is_told() -> None:
    assert describe(three_brokers()).topics == []


def test_brokers_observe_and_have_what_they_said_that_they_heard() -> None:
    cluster = three_brokers()
    cluster.create("t", [1])
    end = cluster.state.journal_number
    for broker_id, heard in ((1, end), (2, end - 1)):
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=cluster.state.brokers[broker_id].broker_epoch
        )
        report = JournalReport(
            journal_id=ZERO_UUID,
            controller_epoch=cluster.state.controller_epoch,
            journal_number=heard,
            producer_ids_end=0,
        )
        put_report(request, report)
        cluster.call(request)
    [quorum] = describe(cluster, ("__cluster_metadata", 0)).topics[0].partitions
    found = [(each.replica_id, each.log_end_offset) for each in quorum.observers]
    assert found[:2] == [(1, end), (2, end - 1)]
