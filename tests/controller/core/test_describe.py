"""Answers that change nothing."""

from __future__ import annotations

import pytest

from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.errors import ErrorCode
from protocol.messages.cluster import DescribeClusterRequest
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
    ListConfigResourcesRequest,
)
from tests.controller.core.altering import GROUP, SET, alter
from tests.controller.core.cluster import Cluster, settings, three_brokers

TOPIC, BROKER, LOGGER = 2, 4, 8


def describe(
    cluster: Cluster,
    name: str,
    *,
    kind: int = TOPIC,
    keys: list[str] | None = None,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    result: DescribeConfigsResult = cluster.call(request, version).results[0]
    return result


def cluster_with_topic() -> Cluster:
    cluster = three_brokers(config=settings(min_insync_replicas="2"))
    cluster.create("t", [1], configs={"retention.ms": "5"})
    return cluster


def test_a_topics_settings_come_with_their_source() -> None:
    result = describe(cluster_with_topic(), "t")

    found = {c.name: (c.value, c.config_source, c.is_default) for c in result.configs}
    assert result.error_message == ""
    assert found["retention.ms"] == ("5", 1, False)
    assert found["min.insync.replicas"] == ("2", 4, False)
    assert found["cleanup.policy"] == ("delete", 5, False)


def test_only_the_named_keys_are_described_and_none_means_all() -> None:
    cluster = cluster_with_topic()

    assert [c.name for c in describe(cluster, "t", keys=["retention.ms"]).configs] == [
        "retention.ms"
    ]
    assert len(describe(cluster, "t", keys=[]).configs) > 20


def test_synonyms_and_documentation_come_when_asked_for() -> None:
    cluster = cluster_with_topic()

    plain = describe(cluster, "t", keys=["min.insync.replicas"]).configs[0]
    full = describe(
        cluster, "t", keys=["min.insync.replicas"], synonyms=True, documentation=True
    ).configs[0]

    assert (list(plain.synonyms), plain.documentation) == ([], None)
    assert [(s.value, s.source) for s in full.synonyms] == [("2", 4), ("1", 5)]
    assert full.documentation


def test_version_0_says_what_is_a_default() -> None:
    result = describe(cluster_with_topic(), "t", version=0)

    found = {c.name: c.is_default for c in result.configs}
    assert (found["retention.ms"], found["cleanup.policy"]) == (False, True)


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("none", TOPIC, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", TOPIC, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("1", LOGGER, ErrorCode.INVALID_REQUEST),
    ],
)
def test_other_resources_are_refused(name: str, kind: int, code: ErrorCode) -> None:
    assert describe(cluster_with_topic(), name, kind=kind).error_code == code


def test_of_a_broker_the_dynamic_settings_are_known() -> None:
    cluster = cluster_with_topic()
    alter(cluster, BROKER, "", ("log.segment.bytes", 0, "100"))
    alter(cluster, BROKER, "1", ("log.retention.ms", 0, "7"))

    found = {
        name: [(c.name, c.value, c.config_source) for c in describe(cluster, name, kind=4).configs]
        for name in ("", "1", "2")
    }

    assert found == {
        "": [("log.segment.bytes", "100", 3)],
        "1": [("log.retention.ms", "7", 2)],
        "2": [],
    }
    topic = {c.name: (c.value, c.config_source) for c in describe(cluster, "t").configs}
    assert topic["segment.bytes"] == ("100", 3), "what all brokers have counts for topics"
    assert topic["min.insync.replicas"] == ("2", 4)


def test_the_cluster_is_its_live_brokers_unless_asked_for_all() -> None:
    cluster = three_brokers()
    cluster.expire(2)

    live = cluster.call(DescribeClusterRequest(), 1)
    everyone = cluster.call(DescribeClusterRequest(include_fenced_brokers=True), 2)

    assert [b.broker_id for b in live.brokers] == [1, 3]
    assert [(b.broker_id, b.is_fenced) for b in everyone.brokers] == [
        (1, False),
        (2, True),
        (3, False),
    ]
    assert (live.cluster_id, live.controller_id) == ("cluster-under-test", 100)


def test_only_what_is_asked_for_is_listed() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "readers", ("consumer.session.timeout.ms", SET, "50000"))
    cluster.state.scram_credentials["alice"] = {}
    listed = [
        [
            (found.resource_type, found.resource_name)
            for found in cluster.call(
                ListConfigResourcesRequest(resource_types=[kind]), 1
            ).config_resources
        ]
        for kind in (GROUP, SCRAM_CREDENTIALS, TOPIC)
    ]
    assert listed == [[(GROUP, "readers")], [(SCRAM_CREDENTIALS, "alice")], []]
