"""Clients' quotas: altered and described as a broker of Apache Kafka 4.3.1 answered, and told.

``tests/golden/quotas.jsonl.gz`` has what that broker was asked, in order, and its answers.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.step import TELL_TIMEOUT_MS
from protocol.configs.messages import CHANGED_CLIENT_QUOTAS
from protocol.messages.control import UpdateMetadataRequest
from tests.controller.core.cluster import Cluster, registered
from tests.golden.make_quotas import (
    VERSION,
    alter_request,
    answered,
    describe_request,
    described,
)
from tests.golden.vectors import load_vectors

RECORDED = load_vectors("quotas")
ALICE = [["user", "alice"]]


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster([record for broker in (1, 2) for record in registered(broker, broker)])
    made.take()
    return made


def alter(cluster: Cluster, entries: Any, *, is_tried: bool = False) -> list[Any]:
    return answered(cluster.call(alter_request(entries, is_tried=is_tried), VERSION))


def describe(cluster: Cluster, components: Any, *, strict: bool = False) -> list[Any]:
    return described(cluster.call(describe_request(components, strict=strict), VERSION))


def test_all_is_answered_as_apache_kafka_did() -> None:
    cluster = Cluster([])
    cluster.take()
    for row in RECORDED:
        if "alter" in row:
            answer = alter(cluster, row["alter"], is_tried=row["is_tried"])
        else:
            answer = describe(cluster, row["describe"], strict=row["strict"])
        assert answer == row["answer"], row


def test_only_validated_it_changes_nothing(cluster: Cluster) -> None:
    assert alter(cluster, [(ALICE, [("producer_byte_rate", 1.0)])], is_tried=True)[0][1] == 0
    assert describe(cluster, [])[2] == []


def test_an_entity_with_a_wrong_limit_keeps_all_it_had(cluster: Cluster) -> None:
    alter(cluster, [(ALICE, [("producer_byte_rate", 1.0)])])
    alter(cluster, [(ALICE, [("producer_byte_rate", 2.0), ("no_such_key", 1.0)])])
    assert describe(cluster, [])[2] == [[ALICE, [["producer_byte_rate", 1.0]]]]


def test_brokers_are_told_to_ask_before_the_client_is_answered(cluster: Cluster) -> None:
    cluster.held = [2]
    token = cluster.ask(alter_request([(ALICE, [("producer_byte_rate", 1.0)])], is_tried=False), 1)
    cluster.settle()
    assert token not in cluster.answers
    told = [
        broker_id
        for broker_id, requests in cluster.take().items()
        for each in requests
        if isinstance(each, UpdateMetadataRequest)
        and CHANGED_CLIENT_QUOTAS in [row.topic_name for row in each.topic_states]
    ]
    assert told == [1, 2]
    cluster.advance(TELL_TIMEOUT_MS)
    assert answered(cluster.answers[token]) == [[ALICE, 0, None]]


def test_a_limit_that_is_not_there_is_removed_without_a_decision(cluster: Cluster) -> None:
    alter(cluster, [(ALICE, [("producer_byte_rate", 1.0)])])
    before = len(cluster.records)
    removed = [(ALICE, [("consumer_byte_rate", None)])]
    assert alter(cluster, removed) == [[ALICE, 0, None]]
    assert len(cluster.records) == before
