"""Delegation tokens: kept for brokers, told to all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.step import TELL_TIMEOUT_MS
from protocol.configs.messages import CHANGED_DELEGATION_TOKENS, DELEGATION_TOKENS, TOKEN
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    ListConfigResourcesRequest,
)
from protocol.messages.control import UpdateMetadataRequest
from tests.controller.core.cluster import Cluster, registered, settings


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster([record for broker in (1, 2) for record in registered(broker, broker)])
    made.take()
    return made


def putting(
    text: str | None, token_id: str = "t", kind: int = DELEGATION_TOKENS
) -> IncrementalAlterConfigsRequestAlterConfigsResource:
    config = IncrementalAlterConfigsRequestAlterableConfig(
        name=TOKEN, config_operation=0 if text else 1, value=text
    )
    return IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind, resource_name=token_id, configs=[config]
    )


def request(
    *resources: IncrementalAlterConfigsRequestAlterConfigsResource,
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(resources=resources, validate_only=False)


def codes(
    cluster: Cluster, *resources: IncrementalAlterConfigsRequestAlterConfigsResource
) -> list[int]:
    return [each.error_code for each in cluster.call(request(*resources), 1).responses]


def told(cluster: Cluster) -> list[int]:
    return sorted(
        broker_id
        for broker_id, requests in cluster.take().items()
        for each in requests
        if isinstance(each, UpdateMetadataRequest)
        and CHANGED_DELEGATION_TOKENS in [row.topic_name for row in each.topic_states]
    )


def described(cluster: Cluster) -> dict[str, list[str]]:
    listed = cluster.call(ListConfigResourcesRequest(resource_types=[DELEGATION_TOKENS]), 1)
    resources = [
        DescribeConfigsResource(resource_type=DELEGATION_TOKENS, resource_name=each.resource_name)
        for each in listed.config_resources
    ]
    answer = cluster.call(DescribeConfigsRequest(resources=resources), 4)
    return {each.resource_name: [it.value for it in each.configs] for each in answer.results}


def test_a_token_is_kept_told_to_every_broker_replaced_and_removed(cluster: Cluster) -> None:
    for text, left in (("one", {"t": ["one"]}), ("two", {"t": ["two"]}), (None, {})):
        assert codes(cluster, putting(text)) == [0]
        assert told(cluster) == [1, 2]
        assert described(cluster) == left


def test_what_is_as_it_was_or_gone_already_is_told_to_nobody(cluster: Cluster) -> None:
    codes(cluster, putting("one"))
    told(cluster)
    assert codes(cluster, putting("one"), putting(None, "other")) == [0, 0]
    assert told(cluster) == []


def test_what_is_no_token_is_refused_beside_one_that_is(cluster: Cluster) -> None:
    topic = putting("x", "orders", kind=2)
    assert codes(cluster, putting("one"), topic) == [0, ErrorCode.INVALID_REQUEST]
    asked = DescribeConfigsResource(resource_type=DELEGATION_TOKENS, resource_name="gone")
    (gone,) = cluster.call(DescribeConfigsRequest(resources=[asked]), 4).results
    assert gone.configs == []


def test_the_answer_waits_for_a_broker_that_does_not_answer_but_not_for_ever(
    cluster: Cluster,
) -> None:
    cluster.held = [2]
    token = cluster.ask(request(putting("one")), 1)
    cluster.settle()
    assert token not in cluster.answers
    cluster.advance(TELL_TIMEOUT_MS)
    assert [each.error_code for each in cluster.answers[token].responses] == [0]


def test_at_plaintext_tokens_are_neither_kept_nor_told() -> None:
    records = [record for broker in (1, 2) for record in registered(broker, broker)]
    open_to_all = Cluster(records, config=replace(settings(), tells_nodes_apart=False))
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert codes(open_to_all, putting("one")) == [refused]
    asked = DescribeConfigsResource(resource_type=DELEGATION_TOKENS, resource_name="t")
    (told,) = open_to_all.call(DescribeConfigsRequest(resources=[asked]), 4).results
    assert (told.error_code, list(told.configs)) == (refused, [])
