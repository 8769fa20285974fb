"""Sees what others write into ZooKeeper during a term, and tells the controller.

Each subject is looked at when its watch says so, and all of them after each connection: watches are
gone then. It decides nothing but that the term is over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from controller.core.events import (
    AclsRead,
    ClientConfigsRead,
    ConfigsRead,
    FromStore,
    LogDirEventsRead,
    RegistrationsRead,
    RequestArrived,
    TopicsRead,
)
from controller.core.own_writes import ACLS
from controller.zookeeper.own_writes import OwnWrites
from controller.zookeeper.reading import (
    read_acls,
    read_client_configs,
    read_configs,
    read_registrations,
    read_topics,
)
from controller.zookeeper.term import Term, TermEndedError
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.topics import DeleteTopicsRequest
from protocol.zookeeper import paths
from protocol.zookeeper.client_entities import CLIENT_FOLDERS
from protocol.zookeeper.znodes import (
    LogDirEventZnode,
    MalformedZnode,
    PartitionsZnode,
    ReassignmentZnode,
    ZnodeT,
    decode,
)
from protocol.zookeeper_client.config_changes import ConfigChanges
from protocol.zookeeper_client.port import ZookeeperPort

NOBODY: Final = -1
"""The token of requests that stand in znodes: nobody waits for an answer."""
_KINDS: Final = {"topics": ResourceType.TOPIC, "brokers": ResourceType.BROKER}
Post: TypeAlias = Callable[[FromStore | RequestArrived], None]
_Look: TypeAlias = Callable[[Post], Awaitable[None]]
logger = logging.getLogger(__name__)


class News:
    """Of one term. ``prepare`` before the state is loaded, ``follow`` afterwards."""

    def __init__(
        self,
        zookeeper: ZookeeperPort,
        term: Term,
        own_writes: OwnWrites,
        *,
        broker_id: int,
        listener: str,
    ) -> None:
        """Prepare; ``own_writes`` are those of the term's store, whose arguments the others are."""
        self._zookeeper = zookeeper
        self._own_writes = own_writes
        own_writes.told = self._own_written
        self._term = term
        self._broker_id = broker_id
        self._listener = listener
        self._looks: tuple[_Look, ...] = (
            self._look_at_term,
            self._look_at_brokers,
            self._look_at_log_dirs,
            self._look_at_topics,
            self._look_at_deletions,
            self._look_at_reassignments,
            self._look_at_elections,
            self._look_at_configs,
            self._look_at_acls,
        )
        self._due: dict[_Look, None] = {}
        self._is_due = asyncio.Event()
        self._changes = ConfigChanges(zookeeper)
        self._changes.told = self._changed
        self._changed_entities: dict[str, None] = {}
        self._known_topics: frozenset[str] = frozenset()

    async def prepare(self) -> None:
        """Remember which topics and changes of settings there were before the state is loaded.

        Raises:
            TermEndedError: ZooKeeper does not answer.
        """
        try:
            await self._changes.tell()
            self._known_topics = frozenset(await self._zookeeper.children(paths.TOPICS))
        except ConnectionError as error:
            raise TermEndedError(str(error)) from error

    async def follow(self, post: Post) -> None:
        """Tell what is new until the term ends.

        Raises:
            TermEndedError: it has ended (in an ExceptionGroup).
        """
        self._zookeeper.on_connected = self._look_at_everything
        self._look_at_everything()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._changes.run(), name="config-changes")
            while True:
                await self._is_due.wait()
                self._is_due.clear()
                due, self._due = self._due, {}
                await self._look_at(list(due), post)

    async def _look_at(self, due: list[_Look], post: Post) -> None:
        try:
            for look in due:
                await look(post)
        except ConnectionError as error:
            logger.info("ZooKeeper is looked at again once it answers: %s", error)
        except MalformedZnode as error:
            logger.error("a znode cannot be read: %s", error)  # noqa: TRY400 - a peer's value

    def _look_at_everything(self) -> None:
        self._changes.look()
        for look in self._looks:
            self._look_again(look)

    def _look_again(self, look: _Look) -> None:
        self._due[look] = None
        self._is_due.set()

    def _watch(self, look: _Look) -> Callable[[], None]:
        return lambda: self._look_again(look)

    async def _look_at_term(self, _post: Post) -> None:
        if self._zookeeper.session not in (None, self._term.session):
            raise TermEndedError("the session with ZooKeeper has expired")
        found = await self._zookeeper.find(paths.CONTROLLER, self._watch(self._look_at_term))
        if found is None or found.owner != self._term.session:
            raise TermEndedError("another broker is the controller, or is about to be")

    async def _look_at_brokers(self, post: Post) -> None:
        watch = self._watch(self._look_at_brokers)
        found = await read_registrations(self._zookeeper, self._listener, watch)
        if all(each.broker_id != self._broker_id for each in found):
            raise TermEndedError(f"broker {self._broker_id}, who speaks for it, is not registered")
        post(RegistrationsRead(found))

    async def _look_at_log_dirs(self, post: Post) -> None:
        """Have brokers asked whose log dirs failed, and take their notices away."""
        names = await self._children(paths.LOG_DIR_EVENTS, self._look_at_log_dirs)
        events = [await self._read(path, LogDirEventZnode) for path in names]
        ids = sorted({each.broker for each in events if each is not None})
        if ids:
            post(LogDirEventsRead(tuple(ids)))
        for path in names:
            await self._zookeeper.delete(path)

    async def _look_at_topics(self, post: Post) -> None:
        """Tell of topics that are new, the controller's own among them."""
        names = await self._zookeeper.children(paths.TOPICS, self._watch(self._look_at_topics))
        new = [name for name in sorted(names) if name not in self._known_topics]
        found = await read_topics(self._zookeeper, new)
        self._known_topics = frozenset(names)
        if found:
            post(TopicsRead(found))

    async def _look_at_deletions(self, post: Post) -> None:
        asked = await self._children(paths.DELETE_TOPICS, self._look_at_deletions)
        if asked:
            names = [path.rpartition("/")[2] for path in asked]
            _ask(post, DeleteTopicsRequest(topic_names=names, timeout_ms=0), 5)

    async def _look_at_reassignments(self, post: Post) -> None:
        """Take what old tools write; Kafka leaves it there until it is done."""
        path = paths.REASSIGN_PARTITIONS
        asked = await self._read(path, ReassignmentZnode, self._look_at_reassignments)
        if asked is None:
            return
        topics: dict[str, list[ReassignablePartition]] = {}
        for each in asked.partitions:
            wanted = ReassignablePartition(partition_index=each.partition, replicas=each.replicas)
            topics.setdefault(each.topic, []).append(wanted)
        named = [ReassignableTopic(name=name, partitions=each) for name, each in topics.items()]
        _ask(post, AlterPartitionReassignmentsRequest(topics=named), 1)
        await self._zookeeper.delete(path)

    async def _look_at_elections(self, post: Post) -> None:
        path = paths.PREFERRED_REPLICA_ELECTION
        asked = await self._read(path, PartitionsZnode, self._look_at_elections)
        if asked is None:
            return
        topics: dict[str, list[int]] = {}
        for each in asked.partitions:
            topics.setdefault(each.topic, []).append(each.partition)
        named = [TopicPartitions(topic=name, partitions=each) for name, each in topics.items()]
        _ask(post, ElectLeadersRequest(topic_partitions=named, timeout_ms=0), 2)
        await self._zookeeper.delete(path)

    def _own_written(self, subject: str) -> None:
        """Look again: what was read before this was written was passed over."""
        if subject == ACLS:
            self._look_again(self._look_at_acls)
        else:
            self._changed(subject)

    def _changed(self, entity_path: str) -> None:
        self._changed_entities[entity_path] = None
        self._look_again(self._look_at_configs)

    async def _look_at_configs(self, post: Post) -> None:
        """Read what changed; a change meanwhile is another one."""
        while self._changed_entities:
            entity = next(iter(self._changed_entities))
            del self._changed_entities[entity]
            try:
                await self._look_at_entity(entity, post)
            except ConnectionError:
                self._changed_entities[entity] = None
                raise
            except MalformedZnode:
                self._look_again(self._look_at_configs)  # At the others.
                raise

    async def _look_at_entity(self, entity: str, post: Post) -> None:
        kind, _, name = entity.partition("/")
        up_to = self._own_writes.up_to
        if kind in _KINDS:
            own = ALL_BROKERS if name == paths.ALL_BROKERS_ENTITY else name
            configs = await read_configs(self._zookeeper, _KINDS[kind], own)
            post(ConfigsRead(_KINDS[kind], own, configs, up_to))
        elif kind in CLIENT_FOLDERS:
            configs = await read_client_configs(self._zookeeper, entity)
            post(ClientConfigsRead(entity, configs, up_to))

    async def _look_at_acls(self, post: Post) -> None:
        """Read all where some changed; without a broker with an authorizer there are none."""
        watch, is_kept = self._watch(self._look_at_acls), False
        for folder in paths.ACL_CHANGES:
            if await self._zookeeper.find(folder, watch) is not None:
                await self._zookeeper.children(folder, watch)
                is_kept = True
        if is_kept:
            up_to = self._own_writes.up_to
            post(AclsRead(await read_acls(self._zookeeper), up_to))

    async def _children(self, folder: str, look: _Look) -> list[str]:
        names = await self._zookeeper.children(folder, self._watch(look))
        return [f"{folder}/{name}" for name in sorted(names)]

    async def _read(
        self, path: str, kind: type[ZnodeT], look: _Look | None = None
    ) -> ZnodeT | None:
        """Return a body; None where there is none, or none that can be read: it is taken away."""
        watch = None if look is None else self._watch(look)
        found = await self._zookeeper.find(path, watch)
        if found is None:
            return None
        try:
            return decode(found.data, kind, path)
        except MalformedZnode as error:
            logger.error("a znode is removed unread: %s", error)  # noqa: TRY400 - a peer's value
            await self._zookeeper.delete(path)
            return None


def _ask(post: Post, request: Any, version: int) -> None:
    post(RequestArrived(NOBODY, request, version))
