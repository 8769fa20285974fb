"""What is seen in ZooKeeper: brokers come and go, log dirs fail, settings change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.events import (
    AclsRead,
    ClientConfigsRead,
    ConfigsRead,
    LogDirEventsRead,
    Registration,
    RegistrationsRead,
    TopicRead,
    TopicsRead,
)
from controller.core.state import Endpoint, Partition
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.acls import DescribeAclsRequest
from protocol.messages.configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)
from protocol.messages.control import LeaderAndIsrRequest, UpdateMetadataRequest
from protocol.security.scram import credential_of, credential_text
from tests.controller.core.cluster import Cluster, registered, settings, topic_records, tp

LED = Partition(replicas=(1, 2, 3), leader=1, leader_epoch=0, isr=(1, 2, 3), partition_epoch=0)


def beside_zookeeper(**configs: str) -> Cluster:
    """A controller that has just been elected, with three brokers and a topic."""
    records = [each for broker_id in (1, 2, 3) for each in registered(broker_id, 10 + broker_id)]
    return Cluster(
        [*records, *topic_records("t", [LED])],
        config=replace(settings(**configs), has_zookeeper=True),
    )


def seen(**epochs: int) -> RegistrationsRead:
    """These brokers, ``b1=11``, with their broker epochs."""
    return RegistrationsRead(
        tuple(
            Registration(
                int(name[1:]), epoch, (Endpoint("PLAINTEXT", f"host{name[1:]}", 9092, 0),), None
            )
            for name, epoch in epochs.items()
        )
    )


def test_it_acts_at_once_in_the_epoch_behind_the_one_that_was_read() -> None:
    cluster = beside_zookeeper()
    assert cluster.machine.run.hearing_is_over
    assert (cluster.state.controller_epoch, cluster.state.journal_id) == (1, b"")
    assert cluster.machine.run.last_seen_ms == {}
    first = cluster.sent[1][0]
    assert isinstance(first, UpdateMetadataRequest)
    assert (first.broker_epoch, first.topic_states[0].topic_name) == (11, "t")


def test_nothing_follows_from_brokers_that_are_known() -> None:
    cluster = beside_zookeeper()
    before = cluster.state.journal_number
    cluster.feed(seen(b1=11, b2=12, b3=13))
    assert cluster.state.journal_number == before


def test_another_leads_where_the_broker_is_not_registered_any_more() -> None:
    cluster = beside_zookeeper()
    cluster.feed(seen(b2=12, b3=13))
    partition = cluster.state.partition(tp("t-0"))
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 1, (2, 3))


def test_a_broker_that_is_registered_anew_was_gone_and_gets_everything() -> None:
    cluster = beside_zookeeper()
    cluster.sent[1].clear()
    cluster.feed(seen(b1=20, b2=12, b3=13))
    assert cluster.state.brokers[1].broker_epoch == 20
    assert cluster.state.partition(tp("t-0")).leader == 2
    assert {type(each) for each in cluster.sent[1]} >= {UpdateMetadataRequest, LeaderAndIsrRequest}


def test_a_new_broker_is_taken_in() -> None:
    cluster = beside_zookeeper()
    cluster.feed(seen(b1=11, b2=12, b3=13, b4=14))
    assert cluster.state.reachable_brokers() == [1, 2, 3, 4]
    assert isinstance(cluster.sent[4][0], UpdateMetadataRequest)


def test_a_broker_whose_log_dir_failed_is_asked_for_all_its_replicas() -> None:
    cluster = beside_zookeeper()
    cluster.sent[1].clear()
    cluster.feed(LogDirEventsRead((1, 9)))
    asked = cluster.sent[1][0]
    assert isinstance(asked, LeaderAndIsrRequest)
    assert [each.topic_name for each in asked.topic_states] == ["t"]
    assert cluster.state.partition(tp("t-0")).leader == 1


@pytest.mark.parametrize(
    ("event", "found"),
    [
        (ConfigsRead(ResourceType.TOPIC, "t", {"retention.ms": "5"}, 0), ("t", "retention.ms")),
        (ConfigsRead(ResourceType.BROKER, "", {"log.cleaner.threads": "2"}, 0), ("", "log.")),
    ],
    ids=["topic", "brokers"],
)
def test_settings_are_those_that_others_wrote(event: ConfigsRead, found: tuple[str, str]) -> None:
    cluster = beside_zookeeper()
    before = cluster.state.journal_number
    cluster.feed(event)
    name, key = found
    kept = cluster.state.topics["t"].configs if name else cluster.state.dynamic_configs[name]
    assert any(each.startswith(key) for each in kept)
    cluster.feed(event)
    assert cluster.state.journal_number == before + 1
    cluster.feed(replace(event, configs={}))
    assert cluster.state.dynamic_configs == {}
    assert cluster.state.topics["t"].configs == {}


def test_a_topic_that_a_broker_made_itself_is_led_by_its_first_replicas_that_live() -> None:
    cluster = beside_zookeeper()
    cluster.feed(seen(b1=11, b2=12))
    cluster.sent[2].clear()
    configs = {"cleanup.policy": "compact"}
    found = TopicRead("made", bytes([7]) * 16, ((3, 2), (1, 2)), configs)
    cluster.feed(TopicsRead((found,)))
    topic = cluster.state.topics["made"]
    assert (topic.topic_id, topic.configs) == (found.topic_id, configs)
    assert [cluster.state.partition(tp(f"made-{n}")).leader for n in (0, 1)] == [2, 1]
    assert any(isinstance(each, LeaderAndIsrRequest) for each in cluster.sent[2])
    before = cluster.state.journal_number
    cluster.feed(TopicsRead((found,)))
    assert cluster.state.journal_number == before


def test_a_found_topic_with_the_id_of_another_one_is_not_led() -> None:
    cluster = beside_zookeeper()
    for name in ("first", "second"):
        cluster.feed(TopicsRead((TopicRead(name, bytes([7]) * 16, ((1,),), {}),)))
    assert "first" in cluster.state.topics
    assert "second" not in cluster.state.topics
    text = "topic second stays without leaders: it has the id of topic first"
    assert text in [note.text for note in cluster.notes]


def test_a_topic_that_the_controller_has_deleted_does_not_come_back() -> None:
    """Its znode may still be there when another one makes the folder be looked at."""
    cluster = beside_zookeeper()
    topic_id = bytes([7]) * 16
    cluster.machine.run.note_deleted(topic_id)
    cluster.feed(TopicsRead((TopicRead("gone", topic_id, ((1,),), {}),)))
    assert "gone" not in cluster.state.topics


def test_quotas_and_credentials_are_those_that_others_wrote() -> None:
    cluster = beside_zookeeper()
    text = credential_text(credential_of("SCRAM-SHA-256", b"salted", b"salt", 4096))
    configs = {"SCRAM-SHA-256": text, "SCRAM-SHA-512": "broken", "producer_byte_rate": "1000"}
    before = cluster.state.journal_number
    for _ in range(2):
        cluster.feed(ClientConfigsRead("users/a%40b", configs, 0))
    assert cluster.state.journal_number == before + 1
    assert list(cluster.state.scram_credentials["a@b"]) == ["SCRAM-SHA-256"]
    assert cluster.state.client_quotas == {(("user", "a@b"),): {"producer_byte_rate": 1000.0}}
    cluster.feed(ClientConfigsRead("users/a%40b", {}, 0))
    assert (cluster.state.scram_credentials, cluster.state.client_quotas) == ({}, {})
    cluster.feed(ClientConfigsRead("users/a/others/b", configs, 0))
    assert cluster.state.journal_number == before + 2


def test_acls_are_those_that_others_wrote_and_brokers_ask_for_them_again() -> None:
    cluster = beside_zookeeper(
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    cluster.sent[2].clear()
    pattern = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
    acl = AclBinding(pattern, "User:a", "*", AclOperation.READ, PermissionType.ALLOW)
    before = cluster.state.journal_number
    for _ in range(2):
        cluster.feed(AclsRead((acl,), 0))
    assert cluster.state.journal_number == before + 1
    assert [type(each) for each in cluster.sent[2]] == [UpdateMetadataRequest]
    every = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    described = cluster.call(every, 3)
    assert [each.resource_name for each in described.resources] == ["t"]
    cluster.feed(AclsRead((), 0))
    assert list(cluster.call(every, 3).resources) == []


def test_settings_of_a_topic_that_is_gone_do_not_matter() -> None:
    cluster = beside_zookeeper()
    cluster.feed(ConfigsRead(ResourceType.TOPIC, "gone", {"retention.ms": "5"}, 0))
    assert "gone" not in cluster.state.topics


@pytest.mark.parametrize(
    ("request_", "version", "code"),
    [
        (
            IncrementalAlterConfigsRequest(
                resources=[
                    IncrementalAlterConfigsRequestAlterConfigsResource(
                        resource_type=ResourceType.GROUP,
                        resource_name="g",
                        configs=[
                            IncrementalAlterConfigsRequestAlterableConfig(
                                name="consumer.session.timeout.ms",
                                config_operation=0,
                                value="50000",
                            )
                        ],
                    )
                ]
            ),
            1,
            ErrorCode.INVALID_REQUEST,
        ),
    ],
    ids=["group"],
)
def test_what_zookeeper_does_not_keep_is_refused(
    request_: Any, version: int, code: ErrorCode
) -> None:
    cluster = beside_zookeeper(
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    answer = cluster.call(request_, version)
    (result,) = getattr(answer, "results", None) or answer.responses
    assert result.error_code == code
