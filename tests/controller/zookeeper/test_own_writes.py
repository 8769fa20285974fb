"""A controller that reads what brokers write while it writes itself, over a ZooKeeper in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

from controller.core.acl_records import AclsCreated
from controller.core.decision import Decision
from controller.core.events import Event, RequestArrived, Started
from controller.core.machine import Machine
from controller.zookeeper.news import News
from controller.zookeeper.own_writes import OwnWrites
from controller.zookeeper.store import ZookeeperStore
from controller.zookeeper.term import Term
from protocol.messages.acls import CreateAclsRequest
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.zookeeper import paths
from tests.controller.core.cluster import settings
from tests.controller.core.test_own_writes import AUTHORIZER, CREATION
from tests.controller.zookeeper.lab import LISTENER, acls_body, server_with_brokers
from tests.controller.zookeeper.test_acl_writes import PATH, acl
from tests.protocol.zookeeper_client.fake_zookeeper import FakeServer, FakeZookeeper

QUOTA = "/config/users/a"


class Slow(FakeZookeeper):
    """What is read can be held back on its way."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self.passes = asyncio.Event()
        self.passes.set()

    async def get(self, path: str) -> bytes | None:
        """As the port says."""
        found = await super().get(path)
        if path in (PATH, QUOTA):
            await self.passes.wait()
        return found


class Lab:
    """A machine with its store and its news."""

    def __init__(self) -> None:
        self.server = server_with_brokers(b1=9091, b4=9094)
        for folder in (*paths.ACL_FOLDERS, "/kafka-acl/Topic", *paths.ACL_CHANGES):
            self.server.put(folder, b"")
        self.server.put(PATH, acls_body([acl("a")]))
        self.server.put(QUOTA, b'{"version":1,"config":{"producer_byte_rate":"1"}}')
        self.server.put(paths.CONTROLLER_EPOCH, b"7")
        self.zookeeper = Slow(self.server)
        self.zookeeper.start()
        session = self.zookeeper.session or 0
        self.server.put(paths.CONTROLLER, b"{}", owner=session)
        term = Term(7, 0, session)
        self.store = ZookeeperStore(self.zookeeper, term, broker_id=4, listener=LISTENER)
        self.news = News(
            self.zookeeper, term, self.store.own_writes, broker_id=4, listener=LISTENER
        )
        self.machine: Machine
        self.decided: asyncio.Queue[Decision] = asyncio.Queue()
        self.acls_seen: list[list[str]] = []
        self.quotas_seen: list[Any] = []

    def post(self, event: Event) -> None:
        """Have the machine decide, and remember what it goes by then."""
        decision = self.machine.step(event, 0)
        if decision.records:
            self.decided.put_nowait(decision)
        state = self.machine.state
        self.acls_seen.append([each.principal.removeprefix("User:") for each in state.acls])
        self.quotas_seen.append(state.client_quotas.get((("user", "a"),)))

    def ask(self, request: Any, version: int) -> None:
        self.acls_seen.clear()
        self.quotas_seen.clear()
        self.post(RequestArrived(1, request, version))

    async def settle(self) -> None:
        """Let everything happen that can."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def append(self) -> None:
        while True:
            decision = await self.decided.get()
            await self.store.append([decision])


@asynccontextmanager
async def led() -> AsyncGenerator[Lab]:
    lab = Lab()
    await lab.news.prepare()
    loaded = await lab.store.load()
    config = replace(settings(authorizer_class_name=AUTHORIZER), has_zookeeper=True)
    lab.machine = Machine(loaded.state, config, Random(1))
    lab.post(Started())
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in (lab.append(), lab.news.follow(lab.post))]
        await lab.settle()
        yield lab
        for each in running:
            each.cancel()


async def test_a_read_of_acls_that_began_before_an_own_write_does_not_take_it_back() -> None:
    async with led() as lab:
        lab.zookeeper.passes.clear()
        lab.server.put(PATH, acls_body([acl("a"), acl("b")]))
        lab.zookeeper.put_sequential(f"{paths.ACL_CHANGES[0]}/acl_changes_", b"Topic:t")
        await lab.settle()
        lab.ask(CreateAclsRequest(creations=[CREATION]), 3)
        await lab.settle()
        lab.zookeeper.passes.set()
        await lab.settle()
        assert all("c" in each for each in lab.acls_seen), lab.acls_seen
        assert lab.acls_seen[-1] == ["a", "b", "c"]
        assert lab.server.znodes[PATH] == acls_body([acl("a"), acl("b"), acl("c")])


async def test_a_read_of_quotas_that_began_before_an_own_write_does_not_take_it_back() -> None:
    async with led() as lab:
        lab.zookeeper.passes.clear()
        change = b'{"version":2,"entity_path":"users/a"}'
        lab.zookeeper.put_sequential(paths.CONFIG_CHANGE_PREFIX, change)
        await lab.settle()
        who = [AlterClientQuotasRequestEntityData(entity_type="user", entity_name="a")]
        limit = [OpData(key="producer_byte_rate", value=2.0, remove=False)]
        entry = AlterClientQuotasRequestEntryData(entity=who, ops=limit)
        lab.ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1)
        await lab.settle()
        lab.zookeeper.passes.set()
        await lab.settle()
        assert len(lab.quotas_seen) > 1
        assert all(each == {"producer_byte_rate": 2.0} for each in lab.quotas_seen)


def test_what_was_written_is_told_once_however_many_decisions_there_were() -> None:
    own, told = OwnWrites(), list[str]()
    own.told = told.append
    own.note([Decision(number, [AclsCreated((acl("a"),))], []) for number in (3, 4)])
    assert (own.up_to, told) == (4, ["acls"])
