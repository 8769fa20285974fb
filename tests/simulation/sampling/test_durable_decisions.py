"""What goes beyond the journal is said; what is older than it is not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.reassignment_records import RemovalsPending
from controller.core.records import (
    BrokerRegistered,
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    ProducerIdsAllocated,
    TopicCreated,
    TopicDeleted,
)
from controller.core.state import Endpoint
from protocol.errors import ErrorCode
from protocol.ids import LEADER_DURING_DELETE, NO_LEADER, ZERO_UUID, TopicPartition
from protocol.messages.control import (
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.messages.lifecycle import BrokerRegistrationRequest, BrokerRegistrationResponse
from protocol.messages.producer_ids import AllocateProducerIdsResponse
from protocol.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsResponse,
)
from simulation.sampling.durable_decisions import DurableDecisions

ID, OTHER_ID = b"a" * 16, b"b" * 16
REGISTERED = BrokerRegistered(1, 7, b"i" * 16, (Endpoint("PLAINTEXT", "h", 1, 0),), None, ())


@pytest.fixture
def durable() -> DurableDecisions:
    """Topic ``orders`` with one partition on brokers 1 and 2, led by 1 at epochs 3 and 5."""
    made = DurableDecisions()
    made.take([REGISTERED, TopicCreated("orders", ID, {}, ((1, 2),)), ProducerIdsAllocated(1000)])
    made.take([LeadershipChanged((Leadership("orders", 0, 1, 3, (1, 2), 5, 1, False),))])
    return made


def _said(durable: DurableDecisions, request: Any, response: Any = None) -> list[str]:
    return list(durable.ahead(request, response))


def _leader_and_isr(
    leader: int, leader_epoch: int, partition_epoch: int, *isr: int, topic_id: bytes = ID
) -> LeaderAndIsrRequest:
    state = LeaderAndIsrPartitionState(
        partition_index=0,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=isr,
        partition_epoch=partition_epoch,
    )
    topic = LeaderAndIsrTopicState(topic_name="orders", topic_id=topic_id, partition_states=[state])
    return LeaderAndIsrRequest(topic_states=[topic])


def test_what_is_in_the_journal_may_be_told(durable: DurableDecisions) -> None:
    assert _said(durable, _leader_and_isr(1, 3, 5, 1, 2)) == []


def test_what_is_older_waited_in_a_queue(durable: DurableDecisions) -> None:
    assert _said(durable, _leader_and_isr(2, 2, 4, 2)) == []


@pytest.mark.parametrize("epochs", [(4, 6), (3, 6), (4, 5)])
def test_leadership_that_is_newer(durable: DurableDecisions, epochs: tuple[int, int]) -> None:
    assert _said(durable, _leader_and_isr(2, *epochs, 2)) == [
        f"LeaderAndIsrRequest tells of orders-0 at epochs {epochs}, and the journal has (3, 5)"
    ]


def test_another_isr_at_the_same_epochs(durable: DurableDecisions) -> None:
    assert _said(durable, _leader_and_isr(1, 3, 5, 1)) == [
        "LeaderAndIsrRequest tells of orders-0 at epochs (3, 5) leader 1 and Isr [1], and the "
        "journal has 1 and [1, 2]"
    ]


def test_a_topic_that_is_not_there_yet(durable: DurableDecisions) -> None:
    assert len(_said(durable, _leader_and_isr(1, 0, 0, 1, topic_id=OTHER_ID))) == 1


def test_one_that_is_there_no_more_was(durable: DurableDecisions) -> None:
    durable.take([DeletionQueued("orders"), TopicDeleted("orders")])
    assert _said(durable, _leader_and_isr(1, 9, 9, 1)) == []


def test_what_only_brokers_know_is_not_the_journals(durable: DurableDecisions) -> None:
    durable.take([DeletionQueued("orders"), TopicDeleted("orders")])
    assert _said(durable, _leader_and_isr(NO_LEADER, 9, 0, 1, topic_id=OTHER_ID)) == []


def _metadata(leader: int, leader_epoch: int, zk_version: int) -> UpdateMetadataRequest:
    state = UpdateMetadataPartitionState(
        partition_index=0,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=[1, 2],
        zk_version=zk_version,
    )
    topic = UpdateMetadataTopicState(topic_name="orders", topic_id=ID, partition_states=[state])
    return UpdateMetadataRequest(topic_states=[topic])


def test_metadata_is_held_alike(durable: DurableDecisions) -> None:
    assert _said(durable, _metadata(1, 3, 5)) == []
    assert len(_said(durable, _metadata(1, 4, 6))) == 1
    assert _said(durable, _metadata(LEADER_DURING_DELETE, 0, 0)) == []


def test_a_broker_that_is_called_alive(durable: DurableDecisions) -> None:
    known, unknown = (
        UpdateMetadataRequest(live_brokers=[UpdateMetadataBroker(id=each)]) for each in (1, 9)
    )
    assert _said(durable, known) == []
    assert len(_said(durable, unknown)) == 1


def _stop(leader_epoch: int, broker_epoch: int = 7) -> StopReplicaRequest:
    state = StopReplicaPartitionState(
        partition_index=0, leader_epoch=leader_epoch, delete_partition=True
    )
    topic = StopReplicaTopicState(topic_name="orders", partition_states=[state])
    return StopReplicaRequest(broker_epoch=broker_epoch, topic_states=[topic])


def test_a_replica_is_deleted_that_stays(durable: DurableDecisions) -> None:
    assert _said(durable, _stop(3)) == [
        "StopReplicaRequest deletes orders-0 on broker 1, which the journal keeps there"
    ]
    assert len(_said(durable, _stop(-2))) == 1


def test_replicas_that_are_deleted_rightly(durable: DurableDecisions) -> None:
    assert _said(durable, _stop(2)) == []
    assert _said(durable, _stop(3, broker_epoch=6)) == []
    durable.take([DeletionQueued("orders")])
    assert _said(durable, _stop(-2)) == []


def test_what_was_said_of_a_deleted_topic_leaves_after_another_one_of_its_name_was_made(
    durable: DurableDecisions,
) -> None:
    made = TopicCreated("orders", OTHER_ID, {}, ((1, 2),))
    durable.take([TopicDeleted("orders"), made])
    assert _said(durable, _stop(-2)) == []
    assert len(_said(durable, _stop(-1))) == 1


def test_a_replica_reassigned_away_is_removed_after_another_topic_of_its_name_was_made(
    durable: DurableDecisions,
) -> None:
    """Seed 981011: a life before this one deleted the topic, and its removal waited in a queue."""
    durable.take([TopicDeleted("orders"), RemovalsPending(1, (TopicPartition("orders", 0),))])
    durable.take([TopicCreated("orders", OTHER_ID, {}, ((1, 2),))])
    assert _said(durable, _stop(-1)) == []
    assert len(_said(durable, _stop(0))) == 1


@pytest.mark.parametrize(("epoch", "count"), [(5, 0), (6, 1)])
def test_an_answer_to_alter_partition(durable: DurableDecisions, epoch: int, count: int) -> None:
    part = AlterPartitionResponsePartitionData(
        partition_index=0, leader_id=1, leader_epoch=3, isr=[1, 2], partition_epoch=epoch
    )
    topic = AlterPartitionResponseTopicData(topic_id=ID, partitions=[part])
    assert len(_said(durable, None, AlterPartitionResponse(topics=[topic]))) == count
    part.error_code = ErrorCode.FENCED_LEADER_EPOCH
    assert _said(durable, None, AlterPartitionResponse(topics=[topic])) == []


def test_a_block_of_producer_ids(durable: DurableDecisions) -> None:
    given = AllocateProducerIdsResponse(producer_id_start=0, producer_id_len=1000)
    assert _said(durable, None, given) == []
    given.producer_id_start = 1000
    assert _said(durable, None, given) == [
        "AllocateProducerIdsResponse gives ids up to 2000, and the journal up to 1000"
    ]


def test_a_registration(durable: DurableDecisions) -> None:
    asked = BrokerRegistrationRequest(broker_id=1, cluster_id="c", incarnation_id=ID, rack=None)
    assert _said(durable, asked, BrokerRegistrationResponse(broker_epoch=7)) == []
    assert len(_said(durable, asked, BrokerRegistrationResponse(broker_epoch=8))) == 1


def test_topics_that_are_said_to_be_created(durable: DurableDecisions) -> None:
    def said(name: str, topic_id: bytes, *, validate_only: bool = False) -> list[str]:
        request = CreateTopicsRequest(validate_only=validate_only)
        row = CreatableTopicResult(name=name, topic_id=topic_id, error_message=None)
        return _said(durable, request, CreateTopicsResponse(topics=[row]))

    assert said("orders", ID) == []
    assert len(said("payments", OTHER_ID)) == 1
    assert said("payments", ZERO_UUID, validate_only=True) == []


def test_topics_that_are_said_to_be_deleted(durable: DurableDecisions) -> None:
    answer = DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders", topic_id=ID)])
    assert len(_said(durable, None, answer)) == 1
    durable.take([DeletionQueued("orders")])
    assert _said(durable, None, answer) == []
    durable.take([TopicDeleted("orders"), TopicCreated("orders", OTHER_ID, {}, ((1,),))])
    assert _said(durable, None, answer) == []


def test_partitions_that_are_said_to_be_there(durable: DurableDecisions) -> None:
    def said(count: int) -> list[str]:
        wanted = CreatePartitionsTopic(name="orders", count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted])
        row = CreatePartitionsTopicResult(name="orders")
        return _said(durable, request, CreatePartitionsResponse(results=[row]))

    assert said(1) == []
    assert len(said(2)) == 1


def test_other_messages_are_passed_over(durable: DurableDecisions) -> None:
    assert _said(durable, object()) == []
