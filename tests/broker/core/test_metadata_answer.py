"""Metadata answers, versions 0 to 13."""

from __future__ import annotations

import pytest

from broker.core.metadata_answer import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    MetadataAnswers,
    by_ids,
    check_names,
)
from broker.core.metadata_image import MetadataImage
from protocol.errors import KafkaError
from protocol.ids import ZERO_UUID, BrokerId
from protocol.messages.control import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataTopicState,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.topic_names import is_topic_name
from protocol.wire.fast import codec
from tests.broker.core.test_metadata_image import (
    ID,
    OTHER_ID,
    broker,
    partition,
    request,
    topic,
)

VERSIONS = range(14)


def answers(
    *topics: UpdateMetadataTopicState, brokers: list[UpdateMetadataBroker] | None = None
) -> tuple[MetadataAnswers, MetadataImage]:
    image = MetadataImage(broker_id=BrokerId(1))
    image.update(request(*topics, brokers=brokers))
    return MetadataAnswers(image), image


def by_name(*names: str | None) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in names],
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def by_id(*ids: bytes) -> MetadataRequest:
    asked = by_name()
    asked.topics = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
    return asked


def test_where_one_topic_has_an_id_ids_alone_count() -> None:
    asked = by_name("orders", "u")
    assert by_ids(asked) is asked
    asked.topics = [*(asked.topics or ()), MetadataRequestTopic(topic_id=ID, name="u")]
    assert by_ids(asked) == by_id(ID)


def all_topics() -> MetadataRequest:
    asked = by_name()
    asked.topics = None
    return asked


def ask(
    served: MetadataAnswers,
    asked: MetadataRequest,
    version: int = 12,
    creating: tuple[str, ...] = (),
) -> MetadataResponse:
    return served.answer(asked, version, cluster_id="demo", creating=creating)


def rows(response: MetadataResponse) -> list[tuple[str | None, int]]:
    return [(row.name, row.error_code) for row in response.topics]


def only_partition(
    state: UpdateMetadataPartitionState,
    version: int,
    brokers: list[UpdateMetadataBroker] | None = None,
) -> MetadataResponsePartition:
    served, _ = answers(topic(state), brokers=brokers)
    [row] = ask(served, by_name("t"), version).topics
    [only] = row.partitions
    return only


def test_the_head_names_cluster_brokers_and_controller() -> None:
    served, _ = answers(brokers=[broker(1, rack="a"), broker(2)])
    response = ask(served, by_name())
    assert (response.cluster_id, response.controller_id) == ("demo", 1)
    assert [(row.node_id, row.host, row.port, row.rack) for row in response.brokers] == [
        (1, "host1", 9091, "a"),
        (2, "host2", 9092, None),
    ]
    assert response.topics == []


def test_null_asks_for_all_topics_and_empty_does_so_only_in_version_0() -> None:
    served, _ = answers(topic(partition(0)), topic(partition(0), name="u", topic_id=OTHER_ID))
    assert rows(ask(served, all_topics())) == [("t", 0), ("u", 0)]
    assert rows(ask(served, by_name(), 0)) == [("t", 0), ("u", 0)]
    assert rows(ask(served, by_name(), 1)) == []


def test_topics_are_answered_once_in_the_order_asked() -> None:
    served, _ = answers(topic(partition(0)), topic(partition(0), name="u", topic_id=OTHER_ID))
    assert rows(ask(served, by_name("u", "t", "u"))) == [("u", 0), ("t", 0)]


def test_partitions_are_in_order() -> None:
    served, _ = answers(topic(partition(2), partition(0), partition(1)))
    [row] = ask(served, by_name("t")).topics
    assert [part.partition_index for part in row.partitions] == [0, 1, 2]
    assert row.topic_id == ID


@pytest.mark.scenario(90)
def test_an_unknown_topic_is_unknown_invalid_or_being_created() -> None:
    served, _ = answers()
    asked = by_name("u", "a b", "")
    assert rows(ask(served, asked)) == [("u", 3), ("a b", 17), ("", 17)]
    assert rows(ask(served, asked, creating=("u",))) == [("u", 5), ("a b", 17), ("", 17)]
    assert served.unknown_topics(by_name("u", "a b", "u", None)) == ["u"]


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("a", True),
        ("A.b_c-9", True),
        ("x" * 249, True),
        ("x" * 250, False),
        ("", False),
        (".", False),
        ("..", False),
        ("...", True),
        ("a/b", False),
        ("ä", False),
    ],
)
def test_topic_names(name: str, *, allowed: bool) -> None:
    assert is_topic_name(name) is allowed


def test_ids_are_for_version_12() -> None:
    served, _ = answers(topic(partition(0)))
    assert rows(ask(served, by_id(ID, OTHER_ID, ID), 12)) == [("t", 0), (None, 100)]
    check_names(by_id(ID), 12)
    check_names(by_name("t"), 11)
    for asked, version in ((by_id(ID), 10), (by_name("t", None), 11)):
        with pytest.raises(KafkaError, match="INVALID_REQUEST"):
            check_names(asked, version)


def test_internal_topics_are_marked() -> None:
    served, _ = answers(topic(partition(0), name="__consumer_offsets"))
    [row] = ask(served, by_name("__consumer_offsets")).topics
    assert row.is_internal


@pytest.mark.scenario(89)
def test_offline_replicas_are_told_as_sent_and_are_no_error() -> None:
    only = only_partition(partition(0, leader=1, epoch=4, offline=(2,)), 12)
    assert (only.error_code, only.leader_id, only.leader_epoch) == (0, 1, 4)
    assert list(only.offline_replicas) == [2]
    assert list(only.replica_nodes) == [1, 2]


def test_a_partition_without_a_leader_has_none_available_and_keeps_its_epoch() -> None:
    only = only_partition(partition(0, leader=-1, epoch=6), 12)
    assert (only.error_code, only.leader_id, only.leader_epoch) == (5, -1, 6)


def test_a_dead_leader_is_not_available() -> None:
    only = only_partition(partition(0, leader=1), 12, [broker(2)])
    assert (only.error_code, only.leader_id) == (5, -1)


def test_a_leader_on_another_listener_is_told_from_version_6_on() -> None:
    brokers = [broker(1, listener="INTERNAL"), broker(2)]
    codes = [only_partition(partition(0), version, brokers).error_code for version in VERSIONS]
    assert codes == [5] * 6 + [72] * 8


def test_clients_are_told_of_the_listener_that_they_came_in_by() -> None:
    brokers, _ = answers(brokers=[broker(1, listener="OUTSIDE")])
    clients = brokers.at("OUTSIDE")
    assert brokers.at("OUTSIDE") is clients
    told = [len(ask(each, all_topics(), 9).brokers) for each in (brokers, clients)]
    assert told == [0, 1]


def test_only_version_0_misses_replicas() -> None:
    only = only_partition(partition(0), 0, [broker(1)])
    assert (only.error_code, list(only.replica_nodes), list(only.isr_nodes)) == (9, [1], [1])
    only = only_partition(partition(0), 1, [broker(1)])
    assert (only.error_code, list(only.replica_nodes), list(only.isr_nodes)) == (0, [1, 2], [1, 2])
    only = only_partition(partition(0, leader=2), 0, [broker(1)])
    assert (only.error_code, list(only.replica_nodes)) == (5, [1])


def test_authorized_operations_are_all_when_asked_for_by_name() -> None:
    """Of a topic that is not there, too: it may be made."""
    assert (TOPIC_OPERATIONS, CLUSTER_OPERATIONS) == (3576, 8096)
    served, _ = answers(topic(partition(0)))
    asked = by_name("t", "u")
    asked.include_topic_authorized_operations = True
    asked.include_cluster_authorized_operations = True
    response = ask(served, asked, 8)
    none = -(2**31)
    assert [row.topic_authorized_operations for row in response.topics] == [3576, 3576]
    assert response.cluster_authorized_operations == 8096
    assert ask(served, by_name("t")).topics[0].topic_authorized_operations == none


def test_rows_are_kept_until_the_topic_or_the_brokers_change() -> None:
    served, image = answers(topic(partition(0)), topic(partition(0), name="u", topic_id=OTHER_ID))

    def row(name: str) -> MetadataResponseTopic:
        return ask(served, by_name(name)).topics[0]

    t, u = row("t"), row("u")
    image.update(request())
    assert row("t") is t
    image.update(request(topic(partition(0, leader=2))))
    assert row("t").partitions[0].leader_id == 2
    assert row("u") is u
    image.update(request(brokers=[broker(2)]))
    assert row("u").partitions[0].error_code == 5


def test_rows_of_deleted_topics_do_not_pile_up() -> None:
    served, image = answers()
    for number in range(50):
        name = f"t{number}"
        image.update(request(topic(partition(0), name=name)))
        ask(served, by_name(name))
        image.update(request(topic(partition(0, leader=-2), name=name)))
    assert len(served._rows) <= 4  # pyright: ignore[reportPrivateUsage] -- memory is the point
    image.update(request(topic(partition(0), name="t1")))
    assert rows(ask(served, by_name("t1"))) == [("t1", 0)]


@pytest.mark.scenario(263)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_answer_can_be_sent(version: int) -> None:
    served, _ = answers(topic(partition(0, leader=1, epoch=3, offline=(2,))))
    response = ask(served, by_name("t"), version)
    data = codec(MetadataResponse, version).encode(response)
    decoded = codec(MetadataResponse, version).decode(bytes(data))
    [row] = decoded.topics
    [only] = row.partitions
    assert (row.name, only.leader_id) == ("t", 1)
    assert only.leader_epoch == (3 if version >= 7 else -1)
    assert list(only.offline_replicas) == ([2] if version >= 5 else [])
    assert decoded.cluster_id == ("demo" if version >= 2 else None)
