"""What a term cannot begin with; ``tests/controller/zookeeper/test_store.py`` has the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import UNSET

from controller.core.state import Endpoint
from controller.core.znode_state import Registration, ZnodesRead, registration_of, state_of
from protocol.ids import TopicPartition
from protocol.zookeeper.znodes import BrokerZnode, MalformedZnode, PartitionStateZnode, TopicZnode

TOPIC_ID = "S5Pqvb00RhWZfVrCEUNGhA"
READ = ZnodesRead(
    cluster_id="c",
    controller_epoch=4,
    next_producer_id=0,
    registrations=(),
    topics={},
    states={},
    topic_configs={},
    broker_configs={},
)


@pytest.mark.parametrize(
    ("znode", "why"),
    [
        (TopicZnode(partitions={"0": [1], "2": [1]}, topic_id=TOPIC_ID), r"partitions \[0, 2\]"),
        (TopicZnode(partitions={"0": [1]}, topic_id=UNSET), "no topic id: have a controller"),
    ],
    ids=["gap", "no-id"],
)
def test_a_topic_that_cannot_be_led_is_named(znode: TopicZnode, why: str) -> None:
    with pytest.raises(MalformedZnode, match=f"/brokers/topics/t has {why}"):
        state_of(replace(READ, topics={"t": znode}))


def test_two_topics_with_one_id_are_both_named() -> None:
    znode = TopicZnode(partitions={"0": [1]}, topic_id=TOPIC_ID)
    why = f"/brokers/topics/u has the topic id of topic t, {TOPIC_ID}: write another id"
    with pytest.raises(MalformedZnode, match=why):
        state_of(replace(READ, topics={"t": znode, "u": znode}))


def test_a_reassignment_goes_on_and_a_leader_recovers() -> None:
    topic = TopicZnode(
        partitions={"0": [3, 1], "1": [1]},
        topic_id=TOPIC_ID,
        adding_replicas={"0": [3]},
        removing_replicas={"0": [1]},
    )
    recovering = PartitionStateZnode(
        controller_epoch=4, leader=1, leader_epoch=5, isr=[1], leader_recovery_state=1
    )
    configs = {"t": {"retention.ms": "9"}}
    read = replace(READ, topics={"t": topic}, topic_configs=configs)
    state = state_of(replace(read, states={"t": {0: (recovering, 9)}}))

    first, second = state.topics["t"].partitions
    assert (first.adding_replicas, first.removing_replicas) == ((3,), (1,))
    assert (first.partition_epoch, first.leader_epoch, first.is_recovering) == (9, 5, True)
    assert list(state.reassigning) == [TopicPartition("t", 0)]
    assert not second.has_leadership
    assert state.journal_number == 0
    assert state.topics["t"].configs == {"retention.ms": "9"}


def test_a_deletion_goes_on_with_the_topics_that_are_still_there() -> None:
    topic = TopicZnode(partitions={"0": [1]}, topic_id=TOPIC_ID)
    other = TopicZnode(partitions={"0": [1]}, topic_id="T5Pqvb00RhWZfVrCEUNGhA")
    state = state_of(replace(READ, topics={"t": topic, "u": other}, deletions=["gone", "t"]))
    assert [name for name in ("t", "u", "gone") if state.is_deleting(name)] == ["t"]


def test_the_first_endpoint_is_the_one_by_which_brokers_speak() -> None:
    znode = BrokerZnode(
        listener_security_protocol_map={"OUT": "SSL", "IN": "PLAINTEXT"},
        endpoints=["OUT://example:1", "IN://[::1]:2"],
    )
    found = registration_of(7, znode, 33, "IN")
    assert [(each.name, each.host, each.port) for each in found.endpoints] == [
        ("IN", "::1", 2),
        ("OUT", "example", 1),
    ]
    assert (found.broker_id, found.broker_epoch, found.rack) == (7, 33, None)
    with pytest.raises(MalformedZnode, match=r"/brokers/ids/7 has listeners .* none is OTHER"):
        registration_of(7, znode, 33, "OTHER")


def test_a_term_begins_with_the_brokers_configurations_and_clients_of_before() -> None:
    endpoints = (Endpoint("PLAINTEXT", "example", 9092, 0),)
    read = replace(
        READ,
        next_producer_id=7_000,
        registrations=(Registration(2, 33, endpoints, "r"),),
        broker_configs={"2": {"log.segment.bytes": "100"}, "3": {}},
        client_configs={
            "ips/10.0.0.1": {"another": "1"},
            "users/alice": {"request_percentage": "50.0"},
        },
    )

    state = state_of(read)

    assert (state.cluster_id, state.controller_epoch, state.next_producer_id) == ("c", 4, 7_000)
    assert state.reachable_brokers() == [2]
    assert (state.brokers[2].broker_epoch, state.brokers[2].endpoints) == (33, endpoints)
    assert state.dynamic_configs == {"2": {"log.segment.bytes": "100"}}
    assert state.client_quotas == {(("user", "alice"),): {"request_percentage": 50.0}}
