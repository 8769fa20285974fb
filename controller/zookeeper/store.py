"""The store of decisions in ZooKeeper, for one term. Implements ``Store``.

Each write is a transaction that checks the epoch of the term, so that a controller that was
replaced writes nothing any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from controller.core.decision import Decision, Durable
from controller.core.state import ClusterState
from controller.core.store import Loaded
from controller.core.znode_state import state_of
from controller.core.znode_writes import Clear, Ensure, Put, ReviseAcls, Write, take
from controller.zookeeper.acl_writes import revise_acls
from controller.zookeeper.own_writes import OwnWrites
from controller.zookeeper.reading import read_all
from controller.zookeeper.term import Term, TermEndedError, check_of
from protocol.zookeeper import paths
from protocol.zookeeper.operations import Create, Delete, Operation, Set
from protocol.zookeeper.znodes import FeatureZnode, encode
from protocol.zookeeper_client.port import NotCommittedError, ZookeeperPort

_OPERATIONS_MAX: Final = 500
"""Of one transaction: ZooKeeper takes no more than a megabyte."""


class ZookeeperStore:
    """Of one term of one broker."""

    def __init__(
        self, zookeeper: ZookeeperPort, term: Term, *, broker_id: int, listener: str
    ) -> None:
        """Prepare.

        Args:
            zookeeper: in which the term was won.
            term: what was won.
            broker_id: who has won it.
            listener: by which brokers speak with each other.
        """
        self._zookeeper = zookeeper
        self._term = term
        self._broker_id = broker_id
        self._listener = listener
        self.own_writes: Final = OwnWrites()
        self._kept = ClusterState()
        """What ZooKeeper has, or is about to have."""
        self._operations: list[Operation] = []
        """Of the next transaction."""
        self._made: dict[str, None] = {}
        """Paths that it makes."""

    async def load(self) -> Loaded:
        """Read everything; drop notices of before the term, as every broker is asked anyway.

        Raises:
            TermEndedError: ZooKeeper does not answer.
            MalformedZnode: what is there is not Kafka's.
        """
        zookeeper = self._zookeeper
        try:
            await zookeeper.ensure(paths.FEATURE, encode(FeatureZnode()))
            for folder in (paths.LOG_DIR_EVENTS, paths.ISR_CHANGES):
                for name in await zookeeper.children(folder):
                    await zookeeper.delete(f"{folder}/{name}")
            epoch = self._term.controller_epoch - 1
            read = await read_all(zookeeper, epoch, self._listener)
            for name in read.deletions:
                if name not in read.topics:  # As Kafka drops what was to be deleted and is gone.
                    await zookeeper.delete(f"{paths.DELETE_TOPICS}/{name}")
        except ConnectionError as error:
            raise TermEndedError(str(error)) from error
        self._kept = state_of(read)
        return Loaded(state_of(read))

    async def append(self, decisions: Sequence[Decision]) -> Durable:
        """Write what decisions change, each after all before it.

        Raises:
            TermEndedError: some of it may not be written; who comes next goes on with what is.
        """
        try:
            for decision in decisions:
                for record in decision.records:
                    for write in take(self._kept, record, self._broker_id):
                        await self._add(write)
            await self._commit()
        except (ConnectionError, NotCommittedError) as error:
            raise TermEndedError(str(error)) from error
        self.own_writes.note(decisions)
        return Durable(decisions[-1].journal_number)

    @property
    def should_compact(self) -> bool:
        """Never: ZooKeeper keeps what is so, not what led to it."""
        return False

    async def compact(self, state: ClusterState) -> Durable:
        """As the port says; there is nothing to do."""
        return Durable(state.journal_number)

    async def close(self) -> None:
        """As the port says; the connection is not this store's."""

    async def _add(self, write: Write) -> None:
        match write:
            case Create():
                self._take(write)
                self._made[write.path] = None
            case Set():
                self._take(write)
            case Ensure(path):
                await self._put(path, None)
            case Put(path, data):
                await self._put(path, data)
            case Clear(path):
                await self._commit()
                await self._clear(path)
            case ReviseAcls():
                await self._commit()
                await revise_acls(self._zookeeper, self._term, write)
            case _:
                assert_never(write)
        if len(self._operations) >= _OPERATIONS_MAX:
            await self._commit()

    async def _put(self, path: str, data: bytes | None) -> None:
        """Write a znode; without ``data`` one that is there stays as it is."""
        is_there = path in self._made
        if not is_there and path.rpartition("/")[0] not in self._made:
            is_there = await self._zookeeper.find(path) is not None
        if not is_there:
            self._take(Create(path, data or b""))
            self._made[path] = None
        elif data is not None:
            self._take(Set(path, data))

    async def _clear(self, path: str) -> None:
        if await self._zookeeper.find(path) is None:
            return
        for name in await self._zookeeper.children(path):
            await self._clear(f"{path}/{name}")
        self._take(Delete(path))

    def _take(self, operation: Operation) -> None:
        self._operations.append(operation)

    async def _commit(self) -> None:
        operations, self._operations = self._operations, []
        self._made.clear()
        if not operations:
            return
        await self._zookeeper.commit([check_of(self._zookeeper, self._term), *operations])
