"""What others write becomes events, and a term ends when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.core.events import (
    ClientConfigsRead,
    ConfigsRead,
    LogDirEventsRead,
    RegistrationsRead,
    RequestArrived,
    TopicRead,
    TopicsRead,
)
from controller.zookeeper.news import News
from controller.zookeeper.own_writes import OwnWrites
from controller.zookeeper.term import Term, TermEndedError
from protocol.acls.model import (
    AclOperation,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from protocol.configs.types import ResourceType
from protocol.ids import uuid_from_text
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.reassignments import AlterPartitionReassignmentsRequest
from protocol.messages.topics import DeleteTopicsRequest
from protocol.zookeeper import paths
from protocol.zookeeper_client.port import Found
from tests.controller.zookeeper.lab import (
    LISTENER,
    TOPIC_ID,
    broker_znode,
    put_topic,
    server_with_brokers,
)
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper


class Crowded(FakeZookeeper):
    """Another one may change ACLs just before notices of the other kind are looked for."""

    meets_another = False

    async def find(self, path: str, watch: Callable[[], None] | None = None) -> Found | None:
        """As the port says."""
        if path == paths.ACL_CHANGES[1] and self.meets_another:
            self.meets_another = False
            self.change_acls("b")
        return await super().find(path, watch)

    def change_acls(self, user: str) -> None:
        """Write what a broker of Apache Kafka writes."""
        entry = f'{{"principal":"User:{user}","permissionType":"Allow","operation":"Read"'
        self.server.put(
            "/kafka-acl/Topic/t", f'{{"version":1,"acls":[{entry},"host":"*"}}]}}'.encode()
        )
        self.put_sequential(f"{paths.ACL_CHANGES[0]}/acl_changes_", b"Topic:t")


class Lab:
    def __init__(self) -> None:
        self.server: FakeServer = server_with_brokers(b1=9091, b4=9094)
        self.zookeeper = Crowded(self.server)
        self.zookeeper.start()
        session = self.zookeeper.session or 0
        self.server.put(paths.CONTROLLER, b"{}", owner=session)
        self.own_writes = OwnWrites()
        self.news = News(
            self.zookeeper, Term(1, 1, session), self.own_writes, broker_id=4, listener=LISTENER
        )
        self.events: list[Any] = []

    async def settle(self) -> list[Any]:
        """Return what was told since the last time."""
        for _ in range(100):
            await asyncio.sleep(0)
        told, self.events[:] = list(self.events), []
        return told

    def requests(self, told: list[Any]) -> list[Any]:
        return [each.request for each in told if isinstance(each, RequestArrived)]


@asynccontextmanager
async def followed() -> AsyncGenerator[Lab]:
    lab = Lab()
    await lab.news.prepare()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(lab.news.follow(lab.events.append))
        first = await lab.settle()
        assert [each.broker_id for each in first[0].registrations] == [1, 4]
        yield lab
        running.cancel()


async def test_brokers_come_and_go() -> None:
    async with followed() as lab:
        lab.server.put(paths.broker_path(2), broker_znode(9092), owner=1000)
        (told,) = await lab.settle()
        assert isinstance(told, RegistrationsRead)
        assert [each.broker_id for each in told.registrations] == [1, 2, 4]
        assert told.registrations[1].broker_epoch == lab.server.czxids[paths.broker_path(2)]
        lab.server.remove(paths.broker_path(1))
        (told,) = await lab.settle()
        assert [each.broker_id for each in told.registrations] == [2, 4]


async def test_notices_of_failed_log_dirs_are_told_once_and_taken_away() -> None:
    async with followed() as lab:
        for broker in (1, 1, 4):
            body = b'{"version":1,"broker":%d,"event":1}' % broker
            lab.zookeeper.put_sequential(paths.LOG_DIR_EVENT_PREFIX, body)
        lab.zookeeper.put_sequential(paths.LOG_DIR_EVENT_PREFIX, b"no JSON")
        assert await lab.settle() == [LogDirEventsRead((1, 4))]
        assert lab.zookeeper.names(paths.LOG_DIR_EVENTS) == []


async def test_a_topic_that_another_broker_makes_is_told_once_with_its_settings() -> None:
    async with followed() as lab:
        lab.server.put(
            "/config/topics/made", b'{"version":1,"config":{"cleanup.policy":"compact"}}'
        )
        put_topic(lab.server, "made", [2, 1], [1])
        (told,) = await lab.settle()
        configs = {"cleanup.policy": "compact"}
        assert told == TopicsRead(
            (TopicRead("made", uuid_from_text(TOPIC_ID), ((2, 1), (1,)), configs),)
        )
        lab.server.put(paths.topic_path("broken"), b"no JSON")
        assert await lab.settle() == []


async def test_settings_that_change_are_read_again() -> None:
    async with followed() as lab:
        lab.server.put("/config/topics/t", b'{"version":1,"config":{"retention.ms":"5"}}')
        for entity in ("topics/t", "brokers/<default>", "users/somebody"):
            body = f'{{"version":2,"entity_path":"{entity}"}}'.encode()
            lab.zookeeper.put_sequential(paths.CONFIG_CHANGE_PREFIX, body)
        assert await lab.settle() == [
            ConfigsRead(ResourceType.TOPIC, "t", {"retention.ms": "5"}, 0),
            ConfigsRead(ResourceType.BROKER, "", {}, 0),
            ClientConfigsRead("users/somebody", {}, 0),
        ]


async def test_settings_that_cannot_be_read_keep_no_others_from_being_read() -> None:
    async with followed() as lab:
        lab.server.put("/config/topics/broken", b"no JSON")
        lab.server.put("/config/topics/t", b'{"version":1,"config":{"retention.ms":"5"}}')
        for entity in ("topics/broken", "topics/t"):
            body = f'{{"version":2,"entity_path":"{entity}"}}'.encode()
            lab.zookeeper.put_sequential(paths.CONFIG_CHANGE_PREFIX, body)
        told = await lab.settle()
        assert told == [ConfigsRead(ResourceType.TOPIC, "t", {"retention.ms": "5"}, 0)]


async def test_acls_are_read_again_when_a_broker_changes_some() -> None:
    async with followed() as lab:
        entry = '{"principal":"User:a","permissionType":"Allow","operation":"%s","host":"*"}'
        known, unknown = entry % "DescribeConfigs", entry % "Dance"
        for folder, name in (("/kafka-acl", "t"), ("/kafka-acl-extended/prefixed", "app-")):
            body = f'{{"version":1,"acls":[{known},{unknown}]}}'
            lab.server.put(f"{folder}/TransactionalId/{name}", body.encode())
        lab.server.put("/kafka-acl-changes", b"")
        (told,) = await lab.settle()
        kind, operation = AclResourceType.TRANSACTIONAL_ID, AclOperation.DESCRIBE_CONFIGS
        literal, prefixed = PatternType.LITERAL, PatternType.PREFIXED
        assert [(acl.pattern, acl.operation, acl.principal) for acl in told.acls] == [
            (ResourcePattern(kind, "t", literal), operation, "User:a"),
            (ResourcePattern(kind, "app-", prefixed), operation, "User:a"),
        ]
        lab.server.remove("/kafka-acl/TransactionalId/t")
        lab.zookeeper.put_sequential("/kafka-acl-changes/acl_changes_", b"TransactionalId:t")
        (told,) = await lab.settle()
        assert [acl.pattern.name for acl in told.acls] == ["app-"]


async def test_acls_that_change_while_some_are_looked_for_hide_no_later_change() -> None:
    async with followed() as lab:
        for folder in paths.ACL_CHANGES:
            lab.server.put(folder, b"")
        await lab.settle()
        lab.zookeeper.meets_another = True
        lab.zookeeper.change_acls("a")
        assert [each.principal for each in (await lab.settle())[-1].acls] == ["User:b"]
        lab.zookeeper.change_acls("c")
        assert [each.principal for each in (await lab.settle())[-1].acls] == ["User:c"]


async def test_what_old_tools_write_is_asked_for() -> None:
    async with followed() as lab:
        wanted = '{"version":1,"partitions":[{"topic":"t","partition":1%s}]}'
        lab.server.put(paths.REASSIGN_PARTITIONS, (wanted % ',"replicas":[4,1]').encode())
        lab.server.put(paths.PREFERRED_REPLICA_ELECTION, (wanted % "").encode())
        lab.server.put(f"{paths.DELETE_TOPICS}/t", b"")
        reassignment, election, deletion = lab.requests(await lab.settle())
        assert isinstance(deletion, DeleteTopicsRequest)
        assert deletion.topic_names == ["t"]
        assert isinstance(reassignment, AlterPartitionReassignmentsRequest)
        assert reassignment.topics[0].partitions[0].replicas == [4, 1]
        assert isinstance(election, ElectLeadersRequest)
        assert paths.REASSIGN_PARTITIONS not in lab.server.znodes
        assert paths.PREFERRED_REPLICA_ELECTION not in lab.server.znodes


async def test_everything_is_looked_at_again_after_a_lost_connection() -> None:
    async with followed() as lab:
        lab.zookeeper.lose()
        lab.server.remove(paths.broker_path(1))
        assert await lab.settle() == []
        lab.zookeeper.connect(is_expired=False)
        (told,) = await lab.settle()
        assert [each.broker_id for each in told.registrations] == [4]


@pytest.mark.parametrize("how", ["removed", "of another", "expired", "own broker"])
async def test_a_term_ends_with_its_znode_its_session_or_its_broker(how: str) -> None:
    lab = Lab()
    await lab.news.prepare()
    with pytest.RaisesGroup(pytest.RaisesGroup(TermEndedError)):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lab.news.follow(lab.events.append))
            await lab.settle()
            if how == "expired":
                lab.zookeeper.connect()
            elif how == "own broker":
                lab.server.remove(paths.broker_path(4))
            else:
                lab.server.remove(paths.CONTROLLER)
            if how == "of another":
                lab.server.put(paths.CONTROLLER, b"{}", owner=1000)
