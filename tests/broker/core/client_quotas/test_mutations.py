"""Partitions that clients create, add or delete: counted topic by topic, refused when overdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.limits import Asker
from broker.core.client_quotas.mutations import Admission, Mutations
from broker.core.metadata_image import MetadataImage
from protocol.client_quotas.entities import quota_entity
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from tests.broker.fakes import TOPIC_ID, topic_state, update_metadata

ALICE = Asker("alice", "app")
NEW_PARTITIONS = 5


@pytest.fixture
def quotas() -> ClientQuotas:
    """One mutation a second, eleven saved up."""
    made = ClientQuotas(broker_config({}))
    made.replace({quota_entity([("user", "alice")]): {"controller_mutation_rate": 1.0}})
    return made


@pytest.fixture
def mutations(quotas: ClientQuotas) -> Mutations:
    image = MetadataImage(broker_id=BrokerId(1))
    image.update(update_metadata(topic_state()))
    return Mutations(quotas, image, NEW_PARTITIONS)


def create(**partitions: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=count, replication_factor=1)
            for name, count in partitions.items()
        ]
    )


def names(request: Any) -> list[str]:
    return [] if request is None else [topic.name for topic in request.topics]


def admit(mutations: Mutations, request: Any, version: int = 7, now_ms: int = 0) -> Admission:
    return mutations.admit(request, version, ALICE, now_ms)


def test_a_topic_may_overdraw_and_the_next_one_is_refused(mutations: Mutations) -> None:
    admission = admit(mutations, create(a=10, b=4, c=1))
    assert names(admission.admitted) == ["a", "b"]
    assert names(admission.refused) == ["c"]
    assert admission.counts == {"a": 10, "b": 4}
    assert admission.throttle_ms == 3_000
    assert names(admit(mutations, create(c=1), now_ms=3_000).admitted) == ["c"]


def test_who_is_refused_nothing_is_not_throttled(mutations: Mutations) -> None:
    assert admit(mutations, create(a=100)).throttle_ms == 0


def test_old_clients_are_refused_nothing_and_throttled(mutations: Mutations) -> None:
    admission = admit(mutations, create(a=10, b=4, c=1), version=5)
    assert names(admission.admitted) == ["a", "b", "c"]
    assert (admission.refused, admission.throttle_ms) == (None, 4_000)


def test_partitions_are_counted_by_assignment_default_growth_and_by_what_is_there(
    mutations: Mutations,
) -> None:
    assigned = CreatableTopic(
        name="a",
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1])],
    )
    assert admit(mutations, CreateTopicsRequest(topics=[assigned])).counts == {"a": 1}
    assert admit(mutations, create(a=-1)).counts == {"a": NEW_PARTITIONS}
    assert admit(mutations, create(a=0, b=-7)).counts == {"a": 0, "b": 0}
    known = len(topic_state().partition_states)
    grown = CreatePartitionsTopic(name="orders", count=known + 2, assignments=None)
    assert admit(mutations, CreatePartitionsRequest(topics=[grown]), 3).counts == {"orders": 2}
    same = CreatePartitionsTopic(name="orders", count=known, assignments=None)
    assert admit(mutations, CreatePartitionsRequest(topics=[same]), 3).counts == {"orders": 0}
    by_id = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=TOPIC_ID)])
    assert admit(mutations, by_id, 6).counts == {TOPIC_ID: known}
    by_name = DeleteTopicsRequest(topic_names=["orders", "nobody knows it"])
    assert admit(mutations, by_name, 4).counts == {"orders": known, "nobody knows it": 0}


def test_what_the_controller_refused_was_not_counted(
    mutations: Mutations, quotas: ClientQuotas
) -> None:
    counts = admit(mutations, create(a=10, b=10)).counts
    told = [
        CreatableTopicResult(name="a", error_code=ErrorCode.TOPIC_ALREADY_EXISTS),
        CreatableTopicResult(name="b", error_code=ErrorCode.NONE),
    ]
    assert quotas.mutation_wait_ms(ALICE, 0) > 0
    mutations.give_back(CreateTopicsResponse(topics=told), counts, ALICE, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 0


def test_a_topic_that_was_named_by_its_id_is_given_back_by_it(
    mutations: Mutations, quotas: ClientQuotas
) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=TOPIC_ID)])
    quotas.take_mutations(ALICE, 11, 0)
    counts = admit(mutations, request, 6).counts
    refused = DeletableTopicResult(
        name=None, topic_id=TOPIC_ID, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
    )
    assert quotas.mutation_wait_ms(ALICE, 0) > 0
    mutations.give_back(DeleteTopicsResponse(responses=[refused]), counts, ALICE, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 0


@pytest.mark.parametrize(
    ("overdraws", "strict_since"),
    [
        (create(a=30, b=1), 6),
        (DeleteTopicsRequest(topic_names=["orders", "orders"]), 5),
        (
            CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name="orders", count=count) for count in (30, 31)]
            ),
            3,
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_topics_are_refused_from_the_version_on_that_knows_the_error(
    mutations: Mutations, quotas: ClientQuotas, overdraws: Any, strict_since: int
) -> None:
    quotas.take_mutations(ALICE, 11, 0)
    old = admit(mutations, overdraws, strict_since - 1, now_ms=100_000)
    assert (old.refused, old.admitted) == (None, overdraws)
    quotas.take_mutations(ALICE, 11, 100_000)
    assert admit(mutations, overdraws, strict_since, now_ms=100_000).refused is not None


def test_what_is_not_counted_is_never_refused(mutations: Mutations) -> None:
    assert names(admit(mutations, create(a=30, b=0, c=1)).admitted) == ["a", "b"]


def test_what_was_given_back_is_given_back_once(mutations: Mutations, quotas: ClientQuotas) -> None:
    counts = admit(mutations, create(a=30)).counts
    refused = CreatableTopicResult(name="a", error_code=ErrorCode.TOPIC_ALREADY_EXISTS)
    for _ in range(2):
        mutations.give_back(CreateTopicsResponse(topics=[refused]), counts, ALICE, 0)
    assert counts == {}
    assert quotas.mutation_wait_ms(ALICE, 0) == 0
    quotas.take_mutations(ALICE, 12, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 1_000
