"""The metadata cache as UpdateMetadata fills it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.metadata_image import LiveBroker, MetadataImage
from protocol.ids import ZERO_UUID, BrokerId, TopicPartition
from protocol.messages.control import (
    FULL_METADATA,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

ID, OTHER_ID = bytes(range(16)), bytes(range(1, 17))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def broker(
    broker_id: int, *, listener: str = "PLAINTEXT", rack: str | None = None
) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=9090 + broker_id,
                host=f"host{broker_id}",
                listener=listener,
                security_protocol=0,
            )
        ],
        rack=rack,
    )


def partition(
    index: int, leader: int = 1, *, epoch: int = 0, offline: tuple[int, ...] = ()
) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=1,
        leader=leader,
        leader_epoch=epoch,
        isr=[1, 2],
        zk_version=4,
        replicas=[1, 2],
        offline_replicas=list(offline),
    )


def topic(
    *states: UpdateMetadataPartitionState, name: str = "t", topic_id: bytes = ID
) -> UpdateMetadataTopicState:
    return UpdateMetadataTopicState(
        topic_name=name, topic_id=topic_id, partition_states=list(states)
    )


def request(
    *topics: UpdateMetadataTopicState,
    brokers: list[UpdateMetadataBroker] | None = None,
    controller: int = 100,
) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        controller_id=controller,
        controller_epoch=1,
        broker_epoch=-1,
        topic_states=list(topics),
        live_brokers=[broker(1), broker(2)] if brokers is None else brokers,
    )


def image(*topics: UpdateMetadataTopicState) -> MetadataImage:
    filled = MetadataImage(broker_id=BrokerId(2))
    filled.update(request(*topics))
    return filled


def test_brokers_are_listed_by_id_with_their_racks() -> None:
    filled = MetadataImage(broker_id=BrokerId(2))
    filled.update(request(brokers=[broker(2, rack="b"), broker(1)]))
    assert filled.live_brokers() == [
        LiveBroker(BrokerId(1), "host1", 9091, None),
        LiveBroker(BrokerId(2), "host2", 9092, "b"),
    ]
    assert filled.live_broker(3) is None


def test_each_request_replaces_the_brokers_and_merges_the_partitions() -> None:
    filled = image(topic(partition(0)))
    change = filled.update(request(topic(partition(1)), brokers=[broker(2)]))
    assert [row.id for row in filled.live_brokers()] == [2]
    assert change.brokers_changed
    assert filled.has_partition(T0)
    assert filled.has_partition(T1)
    assert not filled.update(request(brokers=[broker(2)])).brokers_changed


def test_what_a_request_of_everything_does_not_name_is_gone() -> None:
    other = topic(partition(0), name="other", topic_id=OTHER_ID)
    filled = image(topic(partition(0), partition(1)), other)
    everything = replace(request(topic(partition(1, epoch=3))), type=FULL_METADATA)

    change = filled.update(everything)

    assert change.deleted == (T0, TopicPartition("other", 0))
    assert [each.name for each in filled.topics()] == ["t"]
    assert filled.leader_of(T1) == (1, 3)
    assert not filled.has_partition(T0)
    assert filled.topic_name(OTHER_ID) is None


def test_a_known_partition_without_a_replica_on_a_broker_is_elsewhere() -> None:
    filled = image(topic(replace(partition(0), replicas=[1, 2])))
    assert [filled.is_elsewhere(T0, each) for each in (1, 2, 3)] == [False, False, True]
    assert not filled.is_elsewhere(T1, 3)


def test_a_partition_is_kept_as_it_was_sent() -> None:
    filled = image(topic(partition(0, leader=2, epoch=7, offline=(1,))))
    known = filled.partition(T0)
    assert known is not None
    assert (known.leader, known.leader_epoch, known.partition_epoch) == (2, 7, 4)
    assert (known.replicas, known.isr, known.offline_replicas) == ((1, 2), (1, 2), (1,))
    assert filled.leader_of(T0) == (2, 7)
    assert filled.leader_of(T1) == (-1, -1)


@pytest.mark.scenario(90)
def test_leader_minus_2_removes_a_partition_and_the_last_one_the_topic() -> None:
    filled = image(topic(partition(0), partition(1)))
    change = filled.update(request(topic(partition(0, leader=-2))))
    assert change.deleted == (T0,)
    assert not filled.has_partition(T0)
    assert filled.has_topic("t")
    filled.update(request(topic(partition(1, leader=-2))))
    assert not filled.has_topic("t")
    assert filled.topic_name(ID) is None
    assert filled.topic_id("t") == ZERO_UUID
    assert list(filled.topics()) == []


def test_removing_what_is_not_there_is_no_error() -> None:
    filled = image()
    filled.update(request(topic(partition(0, leader=-2))))
    assert not filled.has_topic("t")


def test_topic_ids_lead_both_ways() -> None:
    filled = image(topic(partition(0)))
    assert filled.topic_id("t") == ID
    assert filled.topic_name(memoryview(ID)) == "t"
    filled.update(request(topic(partition(0), topic_id=OTHER_ID)))
    assert filled.topic_name(ID) is None
    assert filled.topic_name(OTHER_ID) == "t"


def test_a_row_without_an_id_removes_the_id() -> None:
    filled = image(topic(partition(0)))
    filled.update(request(topic(partition(0), topic_id=ZERO_UUID)))
    assert filled.topic_id("t") == ZERO_UUID
    assert filled.topic_name(ID) is None
    assert filled.topic_name(ZERO_UUID) is None


def test_the_old_id_of_a_name_does_not_remove_the_new_one_s() -> None:
    filled = image(topic(partition(0)), topic(partition(0), name="u", topic_id=OTHER_ID))
    filled.update(request(topic(partition(0, leader=-2))))
    assert filled.topic_name(OTHER_ID) == "u"


def test_clients_are_sent_to_this_broker_as_controller_while_it_is_alive() -> None:
    filled = image()
    assert filled.client_controller_id() == 2
    filled.update(request(brokers=[broker(3), broker(1)]))
    assert filled.client_controller_id() == 1
    filled.update(request(brokers=[], controller=-1))
    assert filled.client_controller_id() == -1
    assert filled.controller_id == -1


def test_a_broker_on_another_listener_is_alive_but_out_of_reach() -> None:
    filled = MetadataImage(broker_id=BrokerId(2))
    filled.update(request(brokers=[broker(1, listener="INTERNAL"), broker(2, listener="")]))
    assert filled.is_alive(1)
    assert filled.live_broker(1) is None
    assert filled.live_broker(2) is not None


def test_the_oldest_layout_has_host_and_port_in_the_row() -> None:
    filled = MetadataImage(broker_id=BrokerId(2))
    old = UpdateMetadataBroker(id=1, v0_host="h", v0_port=9, endpoints=[], rack=None)
    bare = UpdateMetadataBroker(id=2, endpoints=[], rack=None)
    filled.update(request(brokers=[old, bare]))
    assert filled.live_broker(1) == LiveBroker(BrokerId(1), "h", 9, None)
    assert filled.live_broker(2) is None


def test_generations_say_what_changed_last() -> None:
    filled = image(topic(partition(0)))
    assert (filled.generation, filled.brokers_generation) == (1, 1)
    filled.update(request(topic(partition(0), name="u", topic_id=OTHER_ID)))
    assert (filled.generation, filled.brokers_generation) == (2, 1)
    assert filled.topic_generations == {"t": 1, "u": 2}


def test_brokers_are_known_by_each_listener_that_they_have_and_by_others_not() -> None:
    inner, outer = broker(1, listener="INNER"), broker(2, listener="OUTER")
    filled = MetadataImage(broker_id=BrokerId(1), listener="INNER")
    filled.update(request(brokers=[inner, outer]))
    assert [one.id for one in filled.live_brokers()] == [1]
    assert [one.id for one in filled.live_brokers("INNER")] == [1]
    for _ in range(2):
        assert [one.id for one in filled.live_brokers("OUTER")] == [2]
        assert filled.live_broker(2, "OUTER") == LiveBroker(BrokerId(2), "host2", 9092, None)
    assert filled.live_broker(1, "OUTER") is None
    assert filled.live_brokers("NOBODY'S") == []
    moved = replace(outer, endpoints=[replace(outer.endpoints[0], port=1)])
    change = filled.update(request(brokers=[inner, moved]))
    assert change.brokers_changed, "where clients reach one has changed"
    assert filled.brokers_generation == filled.generation == 2
    found = filled.live_broker(2, "OUTER")
    assert found is not None
    assert found.port == 1


def test_topics_are_as_old_as_their_last_change_and_have_no_age_once_they_are_gone() -> None:
    filled = image(topic(partition(0)), topic(partition(0), name="u", topic_id=OTHER_ID))
    filled.update(request(topic(partition(0, epoch=1))))
    assert filled.topic_generations == {"t": 2, "u": 1}
    filled.update(request(topic(partition(0, leader=-2))))
    assert filled.topic_generations == {"u": 1}
    assert filled.is_replica(TopicPartition("u", 0), 2)
    assert not filled.is_replica(TopicPartition("u", 0), 3)
    assert not filled.is_replica(T0, 2)


def test_of_the_brokers_left_the_first_is_told_to_clients_as_controller() -> None:
    filled = image()
    filled.update(request(controller=1))
    assert filled.client_controller_id() == 1
    filled.update(request(controller=-5, brokers=[broker(3), broker(4)]))
    assert (filled.controller_id, filled.client_controller_id()) == (-1, 3)
