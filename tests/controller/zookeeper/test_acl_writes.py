"""ACLs of one resource that two write within a moment: the controller and a broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.decision import Decision
from controller.core.records import Record
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
from protocol.zookeeper import paths
from protocol.zookeeper.operations import Operation
from tests.controller.zookeeper.lab import LISTENER, acls_body, server_with_brokers
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper

TOPIC = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
PATH = "/kafka-acl/Topic/t"


def acl(user: str) -> AclBinding:
    return AclBinding(TOPIC, f"User:{user}", "*", AclOperation.READ, PermissionType.ALLOW)


class Rivalled(FakeZookeeper):
    """Others write just before each of its first transactions."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self.rivals: list[Callable[[], None]] = []

    async def commit(self, operations: Sequence[Operation]) -> None:
        """As the port says."""
        if self.rivals:
            self.rivals.pop(0)()
        await super().commit(operations)


class Lab:
    """A store that is loaded, with ACLs of the topic for these users."""

    def __init__(self, *users: str) -> None:
        self.server = server_with_brokers(b1=9091)
        for folder in (*paths.ACL_FOLDERS, "/kafka-acl/Topic", *paths.ACL_CHANGES):
            self.server.put(folder, b"")
        if users:
            self.write(*users)
        self.server.put(paths.CONTROLLER_EPOCH, b"7")
        self.zookeeper = Rivalled(self.server)
        self.zookeeper.start()
        term = Term(7, 0, self.zookeeper.session or 0)
        self.store = ZookeeperStore(self.zookeeper, term, broker_id=4, listener=LISTENER)

    def write(self, *users: str) -> None:
        """Do what a broker of Apache Kafka does."""
        self.server.put(PATH, acls_body(map(acl, users)))

    async def decide(self, *records: Record) -> None:
        await self.store.append([Decision(1, records, [])])

    @property
    def users(self) -> list[str]:
        entries = json.loads(self.server.znodes[PATH])["acls"]
        return [each["principal"].removeprefix("User:") for each in entries]

    @property
    def notices(self) -> int:
        return sum(len(self.server.names(folder)) for folder in paths.ACL_CHANGES)


async def loaded(*users: str) -> Lab:
    lab = Lab(*users)
    await lab.store.load()
    return lab


async def test_what_a_broker_wrote_since_the_controller_read_stays() -> None:
    lab = await loaded("a")
    lab.write("a", "b")
    await lab.decide(AclsCreated((acl("c"),)))
    assert lab.users == ["a", "b", "c"]
    lab.write("a", "b", "c", "d")
    await lab.decide(AclsDeleted((acl("a"),)))
    assert lab.users == ["b", "c", "d"]


async def test_who_lost_a_race_reads_anew_and_writes_again() -> None:
    lab = await loaded("a")
    lab.zookeeper.rivals = [lambda: lab.write("a", "b"), lambda: lab.write("b")]
    await lab.decide(AclsCreated((acl("c"),)))
    assert lab.users == ["b", "c"]
    assert lab.notices == 1


async def test_both_make_the_first_acl_of_a_resource() -> None:
    lab = await loaded()
    lab.zookeeper.rivals = [lambda: lab.write("b")]
    await lab.decide(AclsCreated((acl("c"),)))
    assert lab.users == ["b", "c"]


async def test_the_last_acl_is_removed_while_a_broker_adds_one() -> None:
    lab = await loaded("a")
    lab.zookeeper.rivals = [lambda: lab.write("a", "b")]
    await lab.decide(AclsDeleted((acl("a"),)))
    assert lab.users == ["b"]


async def test_one_that_a_broker_has_removed_already_is_not_removed_again() -> None:
    lab = await loaded("a", "b")
    lab.zookeeper.rivals = [lambda: lab.server.remove(PATH)]
    await lab.decide(AclsDeleted((acl("a"),)))
    assert PATH not in lab.server.znodes
    assert lab.notices == 0


async def test_entries_that_this_release_does_not_know_stay() -> None:
    lab = await loaded()
    entry = '{"principal":"User:n","permissionType":"Allow","operation":"Dance","host":"*"}'
    lab.server.put(PATH, f'{{"version":1,"acls":[{entry}]}}'.encode())
    await lab.decide(AclsCreated((acl("c"),)))
    assert lab.users == ["n", "c"]


async def test_who_lost_because_another_is_the_controller_writes_no_more() -> None:
    lab = await loaded("a")
    lab.zookeeper.rivals = [lambda: lab.server.put(paths.CONTROLLER_EPOCH, b"8")] * 2
    with pytest.raises(TermEndedError):
        await lab.decide(AclsCreated((acl("c"),)))
    assert lab.users == ["a"]
    assert lab.zookeeper.rivals != []
