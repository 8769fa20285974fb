"""Questions about transactions: to coordinators, leaders, or the replica that is named."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.properties import ClientSettings
from jbodlab.kafka_tools.transaction_questions import (
    PARTITIONS_OF_A_REQUEST_MAX,
    abort,
    describe_producers,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.producer_ids import DescribeProducersRequest
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.fake_transactions import FakeTransactions
from tests.protocol.admin.views import topic


def client_of(cluster: FakeCluster) -> ClusterClient:
    settings = ClientSettings(
        bootstrap=cluster.bootstrap, client_id="test", request_timeout_ms=1_000, api_timeout_ms=500
    )
    return ClusterClient(settings, pause=lambda _s: None)


def test_many_partitions_are_asked_for_in_pieces(cluster: FakeCluster) -> None:
    count = PARTITIONS_OF_A_REQUEST_MAX + 1
    cluster.topics["wide"] = topic("wide", *[(1,)] * count)
    transactions = FakeTransactions()
    transactions.offer(cluster)
    reply = cluster.replies[DescribeProducersRequest]
    sizes: list[tuple[int, int]] = []

    def counted(broker: int, request: DescribeProducersRequest) -> object:
        sizes.append((broker, len(request.topics[0].partition_indexes)))
        return reply(broker, request)

    cluster.replies[DescribeProducersRequest] = counted
    tps = [TopicPartition("wide", index) for index in range(count)]
    with client_of(cluster) as client:
        assert list(describe_producers(client, tps, None)) == tps
        describe_producers(client, tps[:1], 3)
    assert sizes == [(1, PARTITIONS_OF_A_REQUEST_MAX), (1, 1), (3, 1)]


def test_a_leader_that_moves_is_asked_again(cluster: FakeCluster) -> None:
    transactions = FakeTransactions(refusals=[ErrorCode.NOT_LEADER_OR_FOLLOWER])
    transactions.offer(cluster)
    tp = TopicPartition("foo", 0)
    with client_of(cluster) as client:
        abort(client, tp, producer_id=1, producer_epoch=0, coordinator_epoch=0)
        assert [aborted[1:] for aborted in transactions.aborted] == [(tp, 1)]
        with pytest.raises(KafkaError) as caught:
            describe_producers(client, [TopicPartition("nope", 0)], None)
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
