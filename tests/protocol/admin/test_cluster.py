"""Metadata requests as brokers take them, and their answers as views."""

from __future__ import annotations

import pytest

from protocol.admin.cluster import BrokerView, cluster_view, metadata_request, topic_views
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tests.protocol.admin.views import topic

ID = bytes(range(16))


def partition(number: int, leader: int) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=0,
        partition_index=number,
        leader_id=leader,
        leader_epoch=4,
        replica_nodes=[1, 2],
        isr_nodes=[2],
        offline_replicas=[1],
    )


ANSWER = MetadataResponse(
    brokers=[
        MetadataResponseBroker(node_id=each, host=f"h{each}", port=each, rack=rack)
        for each, rack in ((2, None), (1, "r1"))
    ],
    controller_id=2,
    topics=[
        MetadataResponseTopic(
            error_code=0, name="u", topic_id=ID, partitions=[partition(1, -1), partition(0, 2)]
        ),
        MetadataResponseTopic(error_code=3, name="gone", topic_id=ZERO_UUID, partitions=[]),
        MetadataResponseTopic(error_code=0, name="t", topic_id=ID, partitions=[partition(0, 2)]),
    ],
)


def test_nothing_is_created_by_asking_for_all_some_or_no_topics() -> None:
    for names in (None, ["t", "u"], []):
        request = metadata_request(names)
        asked = None if request.topics is None else [(t.name, t.topic_id) for t in request.topics]
        assert asked == (None if names is None else [(name, ZERO_UUID) for name in names])
        assert not request.allow_auto_topic_creation
        assert not request.include_topic_authorized_operations


def test_topics_are_asked_for_by_id_without_a_name() -> None:
    request = metadata_request(ids=[ID])
    assert [(each.name, each.topic_id) for each in request.topics or ()] == [(None, ID)]


def test_brokers_are_sorted_and_topics_come_as_answered_with_partitions_by_number() -> None:
    view = cluster_view(ANSWER, told_by=1)
    assert (view.broker, view.controller_id, view.broker_ids) == (1, 2, (1, 2))
    assert view.brokers == {1: BrokerView(1, "h1", 1, "r1"), 2: BrokerView(2, "h2", 2, None)}
    assert [str(each.tp) for each in view.partitions] == ["u-0", "u-1", "t-0"]
    assert [str(tp) for tp in view.by_partition] == ["t-0", "u-0", "u-1"]
    found = view.partition("u", 1)
    assert (found.leader, found.leader_epoch, found.replicas) == (-1, 4, (1, 2))
    assert (found.isr, found.offline_replicas, found.elr) == ((2,), (1,), None)
    with pytest.raises(KeyError, match="t-9"):
        view.partition("t", 9)


def test_only_topics_that_are_there_have_ids() -> None:
    view = cluster_view(ANSWER)
    assert view.topic_ids == {"u": ID, "t": ID}
    assert [each.error for each in view.topics if each.name == "gone"] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]


def test_an_unknown_id_is_a_topic_without_a_name() -> None:
    unknown = MetadataResponseTopic(error_code=100, name=None, topic_id=ID, partitions=[])
    (found,) = topic_views(MetadataResponse(topics=[unknown]))
    assert (found.name, found.error) == ("", ErrorCode.UNKNOWN_TOPIC_ID)


def test_a_page_tells_eligible_leaders_where_brokers_know_them() -> None:
    partitions = [
        DescribeTopicPartitionsResponsePartition(
            error_code=0,
            partition_index=number,
            leader_id=-1,
            replica_nodes=[1, 2],
            isr_nodes=[],
            eligible_leader_replicas=eligible,
            last_known_elr=None if eligible is None else [1],
            offline_replicas=[],
        )
        for number, eligible in enumerate(([2], None))
    ]
    told = DescribeTopicPartitionsResponseTopic(
        error_code=0, name="t", topic_id=ID, is_internal=True, partitions=partitions
    )
    (found,) = topic_views(DescribeTopicPartitionsResponse(topics=[told]))
    assert (found.name, found.topic_id, found.is_internal) == ("t", ID, True)
    assert [(each.elr, each.last_known_elr) for each in found.partitions] == [
        ((2,), (1,)),
        (None, None),
    ]
    assert found.partitions[0].tp == TopicPartition("t", 0)


def test_a_topic_has_partitions_by_number() -> None:
    found = topic("t", (1, 2))
    assert found.partition(0) is found.partitions[0]
    assert found.partition(1) is None
