"""What a term reads, and what it writes: compared with what Apache Kafka 3.9.2 writes."""

from __future__ import annotations

import json

import pytest

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import BrokerConfigsChanged, TopicConfigsChanged
from controller.core.decision import Decision
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.reassignment_records import AssignmentChanged
from controller.core.records import (
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    ProducerIdsAllocated,
    Record,
    TopicCreated,
    TopicDeleted,
)
from controller.core.scram_records import ScramCredentialDeleted, ScramCredentialStored
from controller.core.state import Partition
from controller.zookeeper.store import ZookeeperStore
from controller.zookeeper.term import Term, TermEndedError
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.ids import uuid_from_text
from protocol.security.scram import credential_of, credential_text
from protocol.zookeeper import paths
from protocol.zookeeper.operations import Check, Set
from tests.controller.zookeeper.lab import (
    CLUSTER_ID,
    LISTENER,
    TOPIC_ID,
    connected,
    put_topic,
    server_with_brokers,
)
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper

EPOCH = 7


class Lab:
    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.zookeeper: FakeZookeeper = connected(server)
        server.put(paths.CONTROLLER_EPOCH, b"%d" % EPOCH)
        term = Term(EPOCH, 0, self.zookeeper.session or 0)
        self.store = ZookeeperStore(self.zookeeper, term, broker_id=4, listener=LISTENER)
        self.number = 0

    async def decide(self, *records: Record) -> None:
        self.number += 1
        durable = await self.store.append([Decision(self.number, records, [])])
        assert durable.journal_number == self.number

    def text(self, path: str) -> str:
        return self.server.znodes[path].decode()


def led(leader: int, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int) -> Record:
    known = ("t", 0, leader, leader_epoch, isr, partition_epoch, EPOCH)
    return LeadershipChanged((Leadership(*known, is_recovering=False),))


async def test_the_state_is_what_the_znodes_say() -> None:
    server = server_with_brokers(b1=9091, b2=9092)
    put_topic(server, "t", [1, 2], [2, 1])
    server.put(
        paths.partition_state_path("t", 0), server.znodes[paths.partition_state_path("t", 0)]
    )
    server.put("/config/topics/t", b'{"version":1,"config":{"retention.ms":"5"}}')
    server.put("/config/brokers/<default>", b'{"version":1,"config":{"log.cleaner.threads":"2"}}')
    server.put("/admin/delete_topics/t", b"")
    server.put("/admin/delete_topics/gone", b"")
    server.put(
        "/latest_producer_id_block", b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
    )
    server.put("/log_dir_event_notification/log_dir_event_0000000000", b"{}")

    lab = Lab(server)
    state = (await lab.store.load()).state

    assert (state.cluster_id, state.controller_epoch, state.next_producer_id) == (
        CLUSTER_ID,
        6,
        1000,
    )
    assert state.reachable_brokers() == [1, 2]
    assert state.brokers[2].broker_epoch == server.czxids["/brokers/ids/2"]
    assert (state.brokers[2].endpoints[0].port, state.brokers[2].rack) == (9092, "r1")
    topic = state.topics["t"]
    assert (topic.topic_id, topic.is_deleting) == (uuid_from_text(TOPIC_ID), True)
    assert topic.configs == {"retention.ms": "5"}
    assert state.dynamic_configs == {"": {"log.cleaner.threads": "2"}}
    assert topic.partitions[0] == Partition(
        replicas=(1, 2), leader=1, leader_epoch=0, isr=(1, 2), partition_epoch=1, controller_epoch=1
    )
    assert lab.zookeeper.names("/admin/delete_topics") == ["t"]
    assert lab.zookeeper.names(paths.LOG_DIR_EVENTS) == []
    assert lab.text("/feature") == '{"features":{},"version":2,"status":1}'


async def test_a_topic_is_created_led_reassigned_and_deleted_as_kafka_does() -> None:
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    topic_id = uuid_from_text(TOPIC_ID)

    await lab.decide(
        TopicCreated("t", topic_id, {"retention.ms": "5"}, ((1, 2),)),
        led(1, 0, (1, 2), 0),
    )
    assert lab.text("/config/topics/t") == '{"version":1,"config":{"retention.ms":"5"}}'
    assert lab.text("/brokers/topics/t/partitions/0/state") == (
        '{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
    )

    await lab.decide(led(2, 1, (2,), 1))
    await lab.decide(AssignmentChanged("t", 0, (2, 3), (3,), ()))
    assert lab.text("/brokers/topics/t") == (
        f'{{"partitions":{{"0":[2,3]}},"topic_id":"{TOPIC_ID}",'
        '"adding_replicas":{"0":[3]},"removing_replicas":{},"version":3}'
    )

    await lab.decide(DeletionQueued("t"))
    assert lab.zookeeper.names("/admin/delete_topics") == ["t"]
    await lab.decide(TopicDeleted("t"))
    assert not [path for path in lab.server.znodes if "/t" in path.replace("/topics", "")]


async def test_changed_settings_are_told_to_brokers() -> None:
    server = server_with_brokers(b1=9091)
    put_topic(server, "t", [1])
    lab = Lab(server)
    await lab.store.load()

    await lab.decide(TopicConfigsChanged("t", {"retention.ms": "7"}))
    await lab.decide(BrokerConfigsChanged("", {"log.cleaner.threads": "2"}))

    assert lab.text("/config/topics/t") == '{"version":1,"config":{"retention.ms":"7"}}'
    assert (
        lab.text("/config/brokers/<default>")
        == '{"version":1,"config":{"log.cleaner.threads":"2"}}'
    )
    names = lab.zookeeper.names(paths.CONFIG_CHANGES)
    assert [lab.text(f"{paths.CONFIG_CHANGES}/{name}") for name in names] == [
        '{"version":2,"entity_path":"topics/t"}',
        '{"version":2,"entity_path":"brokers/<default>"}',
    ]


CREDENTIAL = credential_of("SCRAM-SHA-512", b"salted", b"salt", 4096)
ALICE_AND_APP = (("client-id", "app"), ("user", "alice@home"))


async def test_credentials_and_quotas_of_one_user_stand_in_one_znode() -> None:
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    await lab.decide(ScramCredentialStored("alice@home", "SCRAM-SHA-512", CREDENTIAL))
    await lab.decide(ClientQuotaSet((("user", "alice@home"),), "producer_byte_rate", 1000.0))
    await lab.decide(ClientQuotaSet((("user", None),), "request_percentage", 12.5))
    text = credential_text(CREDENTIAL)
    assert json.loads(lab.text("/config/users/alice%40home"))["config"] == {
        "producer_byte_rate": "1000",
        "SCRAM-SHA-512": text,
    }
    assert json.loads(lab.text("/config/users/<default>"))["config"] == {
        "request_percentage": "12.5"
    }
    await lab.decide(ScramCredentialDeleted("alice@home", "SCRAM-SHA-512"))
    await lab.decide(ClientQuotaRemoved((("user", "alice@home"),), "producer_byte_rate"))
    assert json.loads(lab.text("/config/users/alice%40home"))["config"] == {}
    names = lab.zookeeper.names(paths.CONFIG_CHANGES)
    assert [lab.text(f"{paths.CONFIG_CHANGES}/{name}") for name in names[:3]] == [
        '{"version":2,"entity_path":"users/alice%40home"}',
        '{"version":2,"entity_path":"users/alice%40home"}',
        '{"version":2,"entity_path":"users/<default>"}',
    ]


async def test_a_quota_of_a_users_client_stands_below_the_user() -> None:
    """Brokers of Apache Kafka read the user's znode, too: it has a body."""
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    await lab.decide(ClientQuotaSet(ALICE_AND_APP, "consumer_byte_rate", 5.0))
    await lab.decide(ClientQuotaSet((("ip", "10.0.0.1"),), "connection_creation_rate", 3.0))
    below = "/config/users/alice%40home/clients/app"
    assert json.loads(lab.text(below))["config"] == {"consumer_byte_rate": "5"}
    assert json.loads(lab.text("/config/users/alice%40home"))["config"] == {}
    assert json.loads(lab.text("/config/ips/10.0.0.1"))["config"] == {
        "connection_creation_rate": "3"
    }


async def test_a_new_term_begins_with_the_quotas_and_credentials_that_there_are() -> None:
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    await lab.decide(ScramCredentialStored("alice@home", "SCRAM-SHA-512", CREDENTIAL))
    await lab.decide(ClientQuotaSet(ALICE_AND_APP, "consumer_byte_rate", 5.0))
    await lab.decide(ClientQuotaSet((("client-id", None),), "request_percentage", 50.0))
    state = (await Lab(lab.server).store.load()).state
    assert state.scram_credentials == {"alice@home": {"SCRAM-SHA-512": CREDENTIAL}}
    assert state.client_quotas == {
        ALICE_AND_APP: {"consumer_byte_rate": 5.0},
        (("client-id", None),): {"request_percentage": 50.0},
    }


async def test_acls_of_a_pattern_stand_in_one_znode_and_changes_are_told() -> None:
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    topic = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
    group = ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "app-", PatternType.PREFIXED)
    read, write = (
        AclBinding(topic, "User:a", "*", operation, PermissionType.ALLOW)
        for operation in (AclOperation.READ, AclOperation.ALTER_CONFIGS)
    )
    denied = AclBinding(group, "User:b", "10.0.0.1", AclOperation.ALL, PermissionType.DENY)
    await lab.decide(AclsCreated((read, write, denied)))
    assert json.loads(lab.text("/kafka-acl/Topic/t"))["acls"][1] == {
        "principal": "User:a",
        "permissionType": "Allow",
        "operation": "AlterConfigs",
        "host": "*",
    }
    assert json.loads(lab.text("/kafka-acl-extended/prefixed/TransactionalId/app-"))["acls"]
    await lab.decide(AclsDeleted((denied,)))
    assert "/kafka-acl-extended/prefixed/TransactionalId/app-" not in lab.server.znodes
    literal, extended = paths.ACL_CHANGES
    told = [
        f"{folder}/{name}" for folder in (literal, extended) for name in lab.zookeeper.names(folder)
    ]
    assert [lab.text(path) for path in told] == [
        "Topic:t",
        *['{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"app-","patternType":"PREFIXED"}']
        * 2,
    ]
    assert list((await Lab(lab.server).store.load()).state.acls) == [read, write]


async def test_a_block_of_producer_ids_is_written_before_it_is_given() -> None:
    lab = Lab(server_with_brokers(b1=9091))
    await lab.store.load()
    await lab.decide(ProducerIdsAllocated(2000))
    assert lab.text("/latest_producer_id_block") == (
        '{"version":1,"broker":4,"block_start":"1000","block_end":"1999"}'
    )


async def test_each_transaction_checks_the_epoch_of_the_term_and_the_version_of_a_state() -> None:
    server = server_with_brokers(b1=9091)
    put_topic(server, "t", [1, 2])
    lab = Lab(server)
    await lab.store.load()
    await lab.decide(led(2, 1, (2,), 1))

    check, written = server.transactions[-1]
    assert check == Check(paths.CONTROLLER_EPOCH, 0)
    assert isinstance(written, Set)
    assert (written.path, written.version) == ("/brokers/topics/t/partitions/0/state", 0)


async def test_what_was_only_looked_at_is_not_written() -> None:
    server = server_with_brokers(b1=9091)
    put_topic(server, "t", [1, 2])
    lab = Lab(server)
    await lab.store.load()
    await lab.decide(led(1, 0, (1, 2), 0))
    assert server.transactions == []


@pytest.mark.parametrize("how", ["epoch", "state", "session", "connection"])
async def test_a_term_that_is_over_writes_nothing_and_says_so(how: str) -> None:
    server = server_with_brokers(b1=9091)
    put_topic(server, "t", [1, 2])
    lab = Lab(server)
    await lab.store.load()
    path = paths.partition_state_path("t", 0)
    if how == "epoch":
        server.put(paths.CONTROLLER_EPOCH, b"8")
    elif how == "state":
        server.put(path, server.znodes[path])
    elif how == "session":
        lab.zookeeper.connect()
    else:
        lab.zookeeper.lose()
    before = server.znodes[path]

    with pytest.raises(TermEndedError):
        await lab.decide(led(2, 1, (2,), 1))
    assert server.znodes[path] == before
