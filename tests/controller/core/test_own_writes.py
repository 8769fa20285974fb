"""What was read before an own decision was written does not take that back."""

from __future__ import annotations

import pytest

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import BrokerConfigsChanged, TopicConfigsChanged
from controller.core.events import AclsRead, ClientConfigsRead, ConfigsRead
from controller.core.own_writes import ACLS, misses_own_write, note_own_writes, subjects_of
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.records import ProducerIdsAllocated, Record
from controller.core.run_state import RunState
from controller.core.scram_records import ScramCredentialDeleted
from protocol.acls.model import AclBinding
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.messages.acls import AclCreation, CreateAclsRequest
from tests.controller.core.cluster import Cluster, settings
from tests.controller.core.test_registrations import beside_zookeeper

CREATION = AclCreation(
    resource_type=2,
    resource_name="t",
    resource_pattern_type=3,
    principal="User:c",
    host="*",
    operation=3,
    permission_type=3,
)
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize(
    ("record", "subjects"),
    [
        (AclsCreated(()), [ACLS]),
        (AclsDeleted(()), [ACLS]),
        (TopicConfigsChanged("t", {}), ["topics/t"]),
        (BrokerConfigsChanged(ALL_BROKERS, {}), ["brokers/<default>"]),
        (ClientQuotaSet((("user", "a@b"),), "producer_byte_rate", 1.0), ["users/a%40b"]),
        (ClientQuotaRemoved((("ip", None),), "connection_creation_rate"), ["ips/<default>"]),
        (ScramCredentialDeleted("a", "SCRAM-SHA-256"), ["users/a"]),
        (ProducerIdsAllocated(1000), []),
    ],
)
def test_decisions_change_what_others_may_write_too(record: Record, subjects: list[str]) -> None:
    assert list(subjects_of([record])) == subjects


@pytest.mark.parametrize(
    ("record", "before", "after"),
    [
        (AclsCreated(()), AclsRead((), 6), AclsRead((), 7)),
        (
            TopicConfigsChanged("t", {}),
            ConfigsRead(ResourceType.TOPIC, "t", {}, 6),
            ConfigsRead(ResourceType.TOPIC, "t", {}, 7),
        ),
        (
            ScramCredentialDeleted("a@b", "SCRAM-SHA-256"),
            ClientConfigsRead("users/a@b", {}, 6),
            ClientConfigsRead("users/a%40b", {}, 7),
        ),
    ],
)
def test_it_is_missed_until_it_is_written(
    record: Record,
    before: AclsRead | ConfigsRead | ClientConfigsRead,
    after: AclsRead | ConfigsRead | ClientConfigsRead,
) -> None:
    run = RunState()
    note_own_writes(run, [record], 7)
    assert misses_own_write(run, before)
    assert not misses_own_write(run, ConfigsRead(ResourceType.TOPIC, "another", {}, 6))
    assert not misses_own_write(run, after)
    assert run.own_writes == {}


def test_acls_that_a_client_has_just_made_stay_whatever_was_being_read_meanwhile() -> None:
    cluster = beside_zookeeper(authorizer_class_name=AUTHORIZER)
    began_at = cluster.state.journal_number
    cluster.ask(CreateAclsRequest(creations=[CREATION]), 3)
    made: list[AclBinding] = list(cluster.state.acls)
    assert len(made) == 1
    cluster.feed(AclsRead((), began_at))
    assert list(cluster.state.acls) == made
    cluster.feed(AclsRead((), cluster.state.journal_number))
    assert list(cluster.state.acls) == []


def test_without_zookeeper_nothing_is_noted() -> None:
    cluster = Cluster(config=settings(authorizer_class_name=AUTHORIZER))
    cluster.ask(CreateAclsRequest(creations=[CREATION]), 3)
    assert len(cluster.state.acls) == 1
    assert cluster.machine.run.own_writes == {}
