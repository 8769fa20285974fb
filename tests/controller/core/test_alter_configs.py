"""Configurations change: journaled, told to the brokers concerned, one answer per resource."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.core.step import TELL_TIMEOUT_MS
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    ListConfigResourcesRequest,
)
from protocol.messages.control import UpdateMetadataRequest
from tests.controller.core.altering import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    Entry,
    alter,
    incremental,
    replace_all,
)
from tests.controller.core.cluster import Cluster, settings, three_brokers

SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"


def cluster_with_topic() -> Cluster:
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs={"retention.ms": "5"})
    cluster.take()
    return cluster


def told(cluster: Cluster) -> dict[int, list[str]]:
    """Return the names whose configs each broker was told to ask for."""
    return {
        broker_id: [
            row.topic_name
            for request in requests
            if isinstance(request, UpdateMetadataRequest)
            for row in request.topic_states
            if not row.partition_states
        ]
        for broker_id, requests in cluster.take().items()
    }


def test_a_topics_settings_change_and_every_broker_is_told() -> None:
    cluster = cluster_with_topic()

    answer = alter(cluster, TOPIC, "t", ("segment.ms", SET, "9"), ("retention.ms", DELETE, None))

    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.resource_type, answer.resource_name) == (TOPIC, "t")
    assert cluster.state.topics["t"].configs == {"segment.ms": "9"}
    assert told(cluster) == {1: ["t"], 2: ["t"], 3: ["t"]}


def test_nothing_is_set_of_a_topic_that_is_being_deleted() -> None:
    (cluster := cluster_with_topic()).fail_log_dir(1, 1, ["t-0"])
    cluster.delete("t")
    assert alter(cluster, TOPIC, "t", ("segment.ms", SET, "9")).error_code == 3


def test_a_brokers_own_settings_are_told_to_it_alone() -> None:
    cluster = cluster_with_topic()

    alter(cluster, BROKER, "2", ("log.segment.bytes", SET, "100"))
    assert told(cluster) == {2: [""]}

    alter(cluster, BROKER, "", ("log.segment.bytes", SET, "200"))
    assert told(cluster) == {1: [""], 2: [""], 3: [""]}
    assert cluster.state.dynamic_configs == {
        "2": {"log.segment.bytes": "100"},
        "": {"log.segment.bytes": "200"},
    }


@pytest.mark.parametrize("name", ["02", "+2"])
def test_a_broker_has_one_name_whatever_it_is_written_like(name: str) -> None:
    cluster = cluster_with_topic()

    answer = alter(cluster, BROKER, name, ("log.segment.bytes", SET, "100"))

    assert (answer.error_code, answer.resource_name) == (0, name)
    assert told(cluster) == {2: [""]}
    assert cluster.state.dynamic_configs == {"2": {"log.segment.bytes": "100"}}


@pytest.mark.parametrize("name", [" 2", "x", "2_0", "2.0"])
def test_a_broker_is_named_by_a_number(name: str) -> None:
    answer = alter(cluster_with_topic(), BROKER, name, ("log.segment.bytes", SET, "100"))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST,
        f"Node id must be an integer, but it is: {name}",
    )


def test_the_journal_brings_settings_back() -> None:
    cluster = cluster_with_topic()
    alter(cluster, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
    alter(cluster, BROKER, "1", ("cordoned.log.dirs", SET, "*"))
    alter(cluster, BROKER, "", ("log.retention.ms", SET, "9"))
    alter(cluster, BROKER, "", ("log.retention.ms", DELETE, None))

    after = cluster.replay()

    assert after.topics["t"].configs == {
        "retention.ms": "5",
        "cleanup.policy": "delete,compact",
    }
    assert after.dynamic_configs == {"1": {"cordoned.log.dirs": "*"}}


def test_validation_changes_nothing() -> None:
    cluster = cluster_with_topic()
    asked = incremental(
        (TOPIC, "t", [("segment.ms", SET, "9")]),
        (TOPIC, "t2", [("segment.ms", SET, "9")]),
        (BROKER, "1", [("log.dirs", SET, "/x")]),
        validate_only=True,
    )

    codes = [one.error_code for one in cluster.call(asked, 1).responses]

    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST]
    assert cluster.state.topics["t"].configs == {"retention.ms": "5"}
    assert told(cluster) == {}


def test_setting_what_is_set_tells_nobody() -> None:
    cluster = cluster_with_topic()
    assert alter(cluster, TOPIC, "t", ("retention.ms", SET, "5")).error_code == 0
    assert alter(cluster, TOPIC, "t", ("segment.ms", DELETE, None)).error_code == 0
    assert alter(cluster, TOPIC, "t").error_code == 0
    assert told(cluster) == {}


@pytest.mark.parametrize(
    ("kind", "name", "key", "code", "message"),
    [
        (TOPIC, "", "retention.ms", 42, "Default topic resources are not allowed."),
        (TOPIC, "zz", "retention.ms", 3, "The topic 'zz' does not exist."),
        (BROKER, "x", "log.segment.bytes", 42, "Node id must be an integer, but it is: x"),
        (BROKER, "9", "log.segment.bytes", 102, "No broker with id 9 found."),
        (0, "1", "retention.ms", 42, "Unknown resource type 0"),
        (64, "1", "retention.ms", 42, "Unknown resource type 64"),
        (
            16,
            "1",
            "retention.ms",
            42,
            "AlterConfigs is only supported for topics and brokers, "
            "but resource type is CLIENT_METRICS",
        ),
    ],
)
def test_each_resource_is_refused_by_itself(
    kind: int, name: str, key: str, code: int, message: str
) -> None:
    cluster = cluster_with_topic()
    asked = incremental((kind, name, [(key, SET, "1000")]), (TOPIC, "t", [("segment.ms", 0, "9")]))

    bad, good = cluster.call(asked, 1).responses

    assert (bad.error_code, bad.error_message) == (code, message)
    assert good.error_code == 0
    assert cluster.state.topics["t"].configs["segment.ms"] == "9"


def test_a_resource_named_twice_is_refused_each_time() -> None:
    cluster = cluster_with_topic()
    asked = incremental(
        (TOPIC, "t", [("segment.ms", SET, "9")]), (TOPIC, "t", [("segment.ms", SET, "8")])
    )

    answers = cluster.call(asked, 1).responses

    assert [(a.error_code, a.error_message) for a in answers] == [
        (42, "Each resource must appear at most once.")
    ] * 2


def test_alter_configs_replaces_everything() -> None:
    cluster = cluster_with_topic()

    assert replace_all(cluster, TOPIC, "t", segment_ms="9").error_code == 0
    assert cluster.state.topics["t"].configs == {"segment.ms": "9"}
    assert replace_all(cluster, TOPIC, "t", segment_ms="0").error_code == ErrorCode.INVALID_CONFIG

    replace_all(cluster, BROKER, "1", log_segment_bytes="100", log_retention_ms="7")
    replace_all(cluster, BROKER, "1", log_retention_ms="8")
    assert cluster.state.dynamic_configs == {"1": {"log.retention.ms": "8"}}


def test_a_brokers_file_counts_when_its_threads_change() -> None:
    cluster = three_brokers(config=settings(num_replica_fetchers="4"))

    refused = alter(cluster, BROKER, "1", ("num.replica.fetchers", SET, "9"))
    taken = alter(cluster, BROKER, "", ("num.replica.fetchers", SET, "8"))
    grown = alter(cluster, BROKER, "1", ("num.replica.fetchers", SET, "16"))

    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert (taken.error_code, grown.error_code) == (0, 0)


def test_the_answer_waits_until_brokers_were_told_but_not_for_ever() -> None:
    cluster = cluster_with_topic()
    cluster.held = [3]
    token = cluster.ask(incremental((TOPIC, "t", [("segment.ms", SET, "9")])), 1)
    cluster.settle()
    assert token not in cluster.answers

    cluster.advance(TELL_TIMEOUT_MS)

    assert cluster.answers[token].responses[0].error_code == 0


def test_new_topics_and_elections_follow_what_all_brokers_have() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2])
    cluster.expire(2)
    cluster.start_broker(2)
    cluster.expire(1)
    assert cluster.partition("t-0").leader == -1, "only broker 1 is in the Isr"

    alter(cluster, BROKER, "", ("unclean.leader.election.enable", SET, "true"))
    cluster.settle()

    assert cluster.partition("t-0").leader == 2


def answers_of_3_9_2() -> list[tuple[int, list[Entry], int, str | None]]:
    """Return what a 3.9.2 broker said to changes that it was to validate only.

    Its topic is called a. Keys that are not known here, and answers that are meant to differ, are
    left out; so is what Java's exceptions put around some texts.
    """
    lines = Path(__file__).with_name("altered_on_3_9_2.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        (kind, [tuple(entry) for entry in entries], code, _bare(message))
        for kind, entries, code, message in rows
    ]


def _bare(message: str | None) -> str | None:
    head = "Invalid value org.apache.kafka.common.config.ConfigException: "
    tail = " for configuration Invalid dynamic configuration"
    return message and message.removeprefix(head).removesuffix(tail)


def test_changes_are_answered_as_by_a_3_9_2_broker() -> None:
    cluster = three_brokers()
    cluster.create("a", [1, 2])
    names = {TOPIC: "a", BROKER: "1"}
    expected = answers_of_3_9_2()
    assert len(expected) > 250
    found: list[tuple[int, list[Entry], int, str | None]] = []
    for kind, entries, _, _ in expected:
        request = incremental((kind, names[kind], entries), validate_only=True)
        (answer,) = cluster.call(request, 1).responses
        found.append((kind, entries, int(answer.error_code), answer.error_message))
    assert found == expected


def listed(cluster: Cluster, *types: int) -> list[tuple[str, int]]:
    answer = cluster.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    return [(each.resource_name, each.resource_type) for each in answer.config_resources]


def test_a_groups_settings_change_and_every_broker_is_told() -> None:
    cluster = three_brokers()
    cluster.take()
    answer = alter(cluster, GROUP, "g", (SESSION, SET, "50000"), (HEARTBEAT, SET, "6000"))
    assert (answer.error_code, answer.error_message) == (0, None)
    assert cluster.state.group_configs == {"g": {SESSION: "50000", HEARTBEAT: "6000"}}
    assert told(cluster) == {1: [":groups"], 2: [":groups"], 3: [":groups"]}


def test_a_group_without_settings_is_forgotten() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    assert listed(cluster, GROUP, TOPIC) == [("g", GROUP)]
    alter(cluster, GROUP, "g", (SESSION, DELETE, None))
    assert cluster.state.group_configs == {}
    assert listed(cluster, GROUP) == []


def test_all_settings_of_a_group_are_replaced() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    replace_all(cluster, GROUP, "g", consumer_heartbeat_interval_ms="7000")
    assert cluster.state.group_configs == {"g": {HEARTBEAT: "7000"}}


def test_nothing_new_is_told_to_nobody() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    cluster.take()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    assert told(cluster) == {}


def test_what_is_only_tried_changes_nothing() -> None:
    cluster = three_brokers()
    request = incremental((GROUP, "g", [(SESSION, SET, "50000")]), validate_only=True)
    assert cluster.call(request, 1).responses[0].error_code == 0
    assert cluster.state.group_configs == {}


@pytest.mark.parametrize(
    ("name", "key", "value", "code", "message"),
    [
        ("", SESSION, "50000", 42, "Default group resources are not allowed."),
        ("g", "no.such", "1", 40, "Unknown group config name: no.such"),
        (
            "g",
            SESSION,
            "1",
            40,
            f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
    ],
)
def test_a_change_that_may_not_be_is_refused(
    name: str, key: str, value: str, code: int, message: str
) -> None:
    cluster = three_brokers()
    answer = alter(cluster, GROUP, name, (key, SET, value))
    assert (answer.error_code, answer.error_message) == (code, message)
    assert cluster.state.group_configs == {}


@pytest.mark.parametrize("name", ["g", ""])
def test_zookeeper_keeps_no_settings_of_groups_and_the_refusal_is_kafkas(name: str) -> None:
    cluster = three_brokers(config=replace(settings(), has_zookeeper=True))
    answer = alter(cluster, GROUP, name, (SESSION, SET, "50000"))
    words = "AlterConfigs is only supported for topics and brokers, but resource type is GROUP"
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, words)


def test_settings_of_groups_are_described_with_their_source() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    resource = DescribeConfigsResource(
        resource_type=GROUP, resource_name="g", configuration_keys=None
    )
    (result,) = cluster.call(DescribeConfigsRequest(resources=[resource]), 4).results
    assert result.error_code == ErrorCode.NONE
    found = {entry.name: (entry.value, entry.config_source) for entry in result.configs}
    assert found[SESSION] == ("50000", 8)
    assert found[HEARTBEAT] == ("5000", 5)


def test_settings_of_groups_survive_a_restart() -> None:
    cluster = three_brokers()
    alter(cluster, GROUP, "g", (SESSION, SET, "50000"))
    assert cluster.replay().group_configs == {"g": {SESSION: "50000"}}
    state = ClusterState()
    for record in snapshot(cluster.state):
        record.apply(state)
    assert state.group_configs == {"g": {SESSION: "50000"}}


PASSWORD = "listener.name.clients.ssl.key.password"


def test_a_password_is_told_to_its_broker_and_to_no_log() -> None:
    cluster = three_brokers()
    assert alter(cluster, BROKER, "1", (PASSWORD, SET, "secret")).error_code == 0
    assert [note.text for note in cluster.notes][-1].endswith(f"{PASSWORD}=[hidden]")
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name="1")
    (told,) = cluster.call(DescribeConfigsRequest(resources=[asked]), 4).results
    assert [(each.name, each.value) for each in told.configs] == [(PASSWORD, "secret")]


def test_a_password_that_anybody_could_ask_for_is_not_kept() -> None:
    location = "listener.name.clients.ssl.keystore.location"
    cluster = three_brokers(config=replace(settings(), tells_nodes_apart=False))
    refused = alter(cluster, BROKER, "1", (PASSWORD, SET, "secret"))
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert (
        alter(cluster, BROKER, "1", (location, SET, "/a"), (PASSWORD, DELETE, None)).error_code == 0
    )
    zookeeper = three_brokers(config=replace(settings(), has_zookeeper=True))
    refused = alter(zookeeper, BROKER, "1", (PASSWORD, SET, "secret"))
    assert "is a password, which ZooKeeper would keep in plain text" in str(refused.error_message)
