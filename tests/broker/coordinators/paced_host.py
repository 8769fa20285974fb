"""A shard that decides what tests say, on a log that has what tests say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from broker.coordinators.coordinator_log import CoordinatorLog
from broker.coordinators.shard_host import HostPorts, ShardHost
from broker.core.coordination import Answer, Decided, Record, Shard, TransactionProducer, Waiter
from broker.engine.serve.produce import BegunProduce
from broker.engine.types import ProduceResult
from protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinators.asking import ports_of
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE
TIMEOUT_MS = 5_000


class Ledger:
    """A shard that decides only what it is told to."""

    def __init__(self) -> None:
        self.due_ms: int | None = None
        self.rung: list[int] = []
        self.ended: list[tuple[int, bool]] = []
        self.expired = Decided()
        """What it decides when it is due."""
        self.last_words: Sequence[Answer] = ()
        self.unloaded_with: ErrorCode | None = None

    def replay(self, key: bytes, value: bytes | None, *, producer_id: int = -1) -> None:
        raise NotImplementedError

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        self.ended.append((producer_id, is_commit))

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        del now_ms, wall_ms
        return Decided()

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        del wall_ms
        self.rung.append(now_ms)
        self.due_ms = None
        return self.expired

    def next_due_ms(self) -> int | None:
        return self.due_ms

    def unloaded(self, error: ErrorCode) -> Sequence[Answer]:
        self.unloaded_with = error
        return self.last_words


class PacedLog(CoordinatorLog):
    """Takes batches one after the other; a test says when each is replicated, or why not."""

    def __init__(self, node: Node) -> None:
        super().__init__(OFFSETS, ports_of(node))
        self._state = node.engine.state
        self.bytes_max = 1_000_000
        self.refused_with = NONE
        self.batches: list[tuple[list[Record], TransactionProducer | None]] = []
        self.may_append = asyncio.Event()
        self.may_append.set()
        self.loads: list[BegunProduce] = []
        self.is_loaded_at_once = True
        self.unreadable: KafkaError | None = None
        """Raised by each load."""
        self.defect: Exception | None = None
        """Raised by the next append."""
        self._begun: list[BegunProduce] = []

    @property
    def batch_bytes_max(self) -> int:
        return self.bytes_max

    def refusal(self) -> ErrorCode:
        return self.refused_with

    async def load(self, shard: Shard) -> BegunProduce:
        del shard
        if self.unreadable is not None:
            raise self.unreadable
        self.loads.append(self._begin())
        if self.is_loaded_at_once:
            self.loads[-1].delayed.complete(0, NONE)
        return self.loads[-1]

    async def append(
        self, records: Sequence[Record], producer: TransactionProducer | None = None
    ) -> BegunProduce:
        self.batches.append((list(records), producer))
        await self.may_append.wait()
        if self.defect is not None:
            defect, self.defect = self.defect, None
            raise defect
        self._begun.append(self._begin())
        return self._begun[-1]

    async def settle(self, number: int, code: ErrorCode = NONE) -> None:
        """Say what became of a batch, counted from 0."""
        self._begun[number].delayed.complete(0, code)
        await turns()

    def counts(self) -> list[int]:
        """Return how many records each batch has."""
        return [len(records) for records, _ in self.batches]

    def _begin(self) -> BegunProduce:
        begun = BegunProduce(self._state, [OFFSETS])
        begun.prepared = [ProduceResult()]
        return begun


class PacedHost:
    """A host with its log, its present shard, and what is done of its effects."""

    def __init__(self, node: Node, **ports: Any) -> None:
        state = node.engine.state
        self.now_ms = state.now_ms
        self.log = PacedLog(node)
        self.ledgers: list[Ledger] = []
        self.effects: list[object] = []
        self.host: ShardHost[Ledger] = ShardHost(
            OFFSETS,
            self.log,
            self._new_shard,
            HostPorts(
                now_ms=state.now_ms,
                wall_ms=state.wall_ms,
                timeout_ms=TIMEOUT_MS,
                on_effect=lambda _host, effect: self.effects.append(effect),
                **ports,
            ),
        )

    @property
    def ledger(self) -> Ledger:
        return self.ledgers[-1]

    def _new_shard(self) -> Ledger:
        self.ledgers.append(Ledger())
        return self.ledgers[-1]

    async def ask(self, response: object, *sizes: int, writes: bool = False, **said: Any) -> object:
        """Ask for a decision of records of these sizes; return the answer, or the code."""

        def decide(_shard: Ledger, waiter: Waiter, _now_ms: int, _wall_ms: int) -> Decided:
            return Decided(records_of(*sizes), [Answer(waiter, response)], **said)

        return await self.told(decide, writes=writes)

    async def told(
        self, decide: Callable[[Ledger, Waiter, int, int], Decided], *, writes: bool = False
    ) -> object:
        """Ask, and return the answer, or the code of what is raised."""
        try:
            return await self.host.ask(decide, writes=writes)
        except KafkaError as error:
            return error.code


def records_of(*sizes: int) -> list[Record]:
    """Return records with values of so many bytes."""
    return [(b"k", bytes(size)) for size in sizes]


async def turns() -> None:
    """Let all go on that can."""
    for _ in range(10):
        await asyncio.sleep(0)
