"""What each decision changes in ZooKeeper, in order; `test_store` has Kafka's own bodies."""

from __future__ import annotations

import json

import pytest

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.config_records import BrokerConfigsChanged, TopicConfigsChanged
from controller.core.quota_records import ClientQuotaSet
from controller.core.reassignment_records import AssignmentChanged
from controller.core.records import (
    BrokerUnfenced,
    DeletionQueued,
    Leadership,
    LeadershipChanged,
    PartitionsAdded,
    ProducerIdsAllocated,
    TopicCreated,
    TopicDeleted,
    TopicFound,
)
from controller.core.state import ClusterState
from controller.core.znode_writes import Clear, Ensure, Put, ReviseAcls, Write, take
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.ids import uuid_text
from protocol.zookeeper.operations import Create, Set
from tests.controller.core.cluster import registered

TOPIC_ID = b"0123456789abcdef"
CREATED = TopicCreated("t", TOPIC_ID, {"retention.ms": "5"}, ((1, 2), (2, 1)))
STATE = "/brokers/topics/t/partitions/0/state"


def created() -> ClusterState:
    state = ClusterState()
    CREATED.apply(state)
    return state


def led(
    leader_epoch: int, partition_epoch: int, *, is_recovering: bool = False
) -> LeadershipChanged:
    known = ("t", 0, 1, leader_epoch, (1, 2), partition_epoch, 7)
    return LeadershipChanged((Leadership(*known, is_recovering=is_recovering),))


def told(write: Write) -> tuple[str, str, object]:
    """Return what a write does, where, and with which body."""
    body = json.loads(write.data) if isinstance(write, Put | Set | Create) and write.data else None
    return type(write).__name__, write.path, body


def test_a_topic_has_its_settings_before_it_is_there() -> None:
    configs, topic = map(told, take(ClusterState(), CREATED, 4))
    assert configs == ("Put", "/config/topics/t", {"version": 1, "config": {"retention.ms": "5"}})
    assert topic[:2] == ("Create", "/brokers/topics/t")
    assert topic[2] == {
        "partitions": {"0": [1, 2], "1": [2, 1]},
        "topic_id": uuid_text(TOPIC_ID),
        "adding_replicas": {},
        "removing_replicas": {},
        "version": 3,
    }


def test_a_reassignment_and_new_partitions_change_the_topic_that_is_there() -> None:
    state = created()
    (moved,) = map(told, take(state, AssignmentChanged("t", 1, (3, 2, 1), (3,), (1,)), 4))
    assert moved[:2] == ("Set", "/brokers/topics/t")
    body = moved[2]
    assert isinstance(body, dict)
    assert body["partitions"] == {"0": [1, 2], "1": [3, 2, 1]}
    assert (body["adding_replicas"], body["removing_replicas"]) == ({"1": [3]}, {"1": [1]})
    (grown,) = map(told, take(state, PartitionsAdded("t", ((5,),)), 4))
    assert grown[:2] == moved[:2]
    assert isinstance(grown[2], dict)
    assert grown[2]["partitions"]["2"] == [5]


def test_the_first_state_of_a_partition_is_made_with_its_folders_and_later_ones_replace_it() -> (
    None
):
    state = created()
    folders = [Ensure("/brokers/topics/t/partitions"), Ensure("/brokers/topics/t/partitions/0")]
    *ensured, first = take(state, led(0, 0), 4)
    assert ensured == folders
    assert told(first) == (
        "Create",
        STATE,
        {"controller_epoch": 7, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2]},
    )
    assert take(state, led(0, 0), 4) == [], "it was only looked at"
    (later,) = take(state, led(1, 1, is_recovering=True), 4)
    assert isinstance(later, Set)
    assert (later.path, later.version) == (STATE, 0)
    assert json.loads(later.data)["leader_recovery_state"] == 1


def test_a_topic_goes_with_its_settings_and_with_the_wish_that_it_goes() -> None:
    state = created()
    assert take(state, DeletionQueued("t"), 4) == [Ensure("/admin/delete_topics/t")]
    assert take(state, TopicDeleted("t"), 4) == [
        Clear("/brokers/topics/t"),
        Clear("/config/topics/t"),
        Clear("/admin/delete_topics/t"),
    ]


def test_what_was_read_there_and_who_is_alive_is_not_written() -> None:
    state = ClusterState()
    found = TopicFound("t", TOPIC_ID, {}, ((1,),))
    registration = registered(1, 1)[0]
    assert [take(state, r, 4) for r in (found, registration, BrokerUnfenced(1))] == [[], [], []]


def test_a_block_of_producer_ids_ends_before_the_next_one() -> None:
    (write,) = map(told, take(ClusterState(), ProducerIdsAllocated(3000), 4))
    block = {"version": 1, "broker": 4, "block_start": "2000", "block_end": "2999"}
    assert write == ("Put", "/latest_producer_id_block", block)


@pytest.mark.parametrize(
    ("record", "entity"),
    [
        (TopicConfigsChanged("t", {"a": "1"}), "topics/t"),
        (BrokerConfigsChanged("", {"a": "1"}), "brokers/<default>"),
        (BrokerConfigsChanged("3", {"a": "1"}), "brokers/3"),
    ],
)
def test_changed_settings_are_written_and_then_told(
    record: TopicConfigsChanged | BrokerConfigsChanged, entity: str
) -> None:
    state = ClusterState()
    TopicCreated("t", TOPIC_ID, {}, ((1,),)).apply(state)
    configs, notice = take(state, record, 4)
    assert told(configs) == ("Put", f"/config/{entity}", {"version": 1, "config": {"a": "1"}})
    assert isinstance(notice, Create)
    assert (notice.path, notice.is_sequential) == ("/config/changes/config_change_", True)
    assert json.loads(notice.data) == {"version": 2, "entity_path": entity}


def test_a_limit_of_a_users_client_has_all_that_is_above_it() -> None:
    entity = (("client-id", "app"), ("user", "a"))
    writes = take(ClusterState(), ClientQuotaSet(entity, "producer_byte_rate", 5.0), 4)
    assert [told(write)[:2] for write in writes] == [
        ("Put", "/config/users/a"),
        ("Ensure", "/config/users/a/clients"),
        ("Put", "/config/users/a/clients/app"),
        ("Create", "/config/changes/config_change_"),
    ]


def test_acls_are_changed_by_pattern_and_what_goes_is_not_what_comes() -> None:
    topic = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
    other = ResourcePattern(AclResourceType.GROUP, "g", PatternType.PREFIXED)
    read, write, grouped = (
        AclBinding(pattern, "User:a", "*", operation, PermissionType.ALLOW)
        for pattern, operation in (
            (topic, AclOperation.READ),
            (topic, AclOperation.WRITE),
            (other, AclOperation.READ),
        )
    )
    state = ClusterState()
    assert take(state, AclsCreated((read, grouped, write)), 4) == [
        ReviseAcls(topic, (read, write), ()),
        ReviseAcls(other, (grouped,), ()),
    ]
    (revised,) = take(state, AclsDeleted((grouped,)), 4)
    assert revised == ReviseAcls(other, (), (grouped,))
    assert isinstance(revised, ReviseAcls)
    assert revised.path == "/kafka-acl-extended/prefixed/Group/g"
    assert revised.folders == [
        "/kafka-acl-extended",
        "/kafka-acl-extended/prefixed",
        "/kafka-acl-extended/prefixed/Group",
        "/kafka-acl-extended-changes",
    ]
    assert revised.notice.is_sequential
