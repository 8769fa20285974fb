"""Runs one shard while this broker leads its partition: loads it, writes and answers for it.

Decisions are appended in the order in which they were taken, and answered when they, and all
before them, are replicated. Source: CoordinatorRuntime.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Generic, TypeAlias, TypeVar

from broker.coordinators.coordinator_log import CoordinatorLog
from broker.core.coordination import (
    Answer,
    Decided,
    Record,
    Shard,
    TransactionProducer,
    Waiter,
    append_error,
    batch_size_bound,
    in_batches,
)
from broker.engine.serve.produce import BegunProduce
from broker.engine.supervise import supervised
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

ShardT = TypeVar("ShardT", bound=Shard)
Decide: TypeAlias = Callable[[ShardT, Waiter, int, int], Decided]
"""(shard, waiter, now_ms, wall_ms) -> what it decided, among it, now or later, the answer."""
BATCH_BYTES_WANTED: Final = 64 * 1024
"""Decisions that wait to be written go together up to this size."""
_WRITTEN: Final = (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
BATCHES_IN_FLIGHT_MAX: Final = 8
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Write:
    """Records that go into one batch, and who waits for them."""

    records: list[Record] = field(default_factory=list[Record])
    answers: list[Answer] = field(default_factory=list[Answer])
    effects: list[Any] = field(default_factory=list[Any])
    size_bytes: int = 0
    producer: TransactionProducer | None = None


def _without_effects(host: object, effect: object) -> None:
    raise AssertionError(f"{host} decided {effect}, and nobody does it")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPorts:
    """What the hosts of all shards share."""

    now_ms: Callable[[], int]
    """The loop's clock."""
    wall_ms: Callable[[], int]
    timeout_ms: int
    """After which who waits for a batch is told COORDINATOR_NOT_AVAILABLE; the batch stays."""
    unavailable: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE
    on_effect: Callable[[Any, Any], None] = _without_effects
    """Called with a host and each effect of what it decided, once that is replicated."""


class ShardHost(Generic[ShardT]):
    """One partition. ``begin`` it once; ``end`` it when this broker leads no more."""

    def __init__(
        self,
        tp: TopicPartition,
        log: CoordinatorLog,
        new_shard: Callable[[], ShardT],
        ports: HostPorts,
    ) -> None:
        self.tp = tp
        self.leader_epoch = -1
        self._log = log
        self._new_shard = new_shard
        self._ports = ports
        self._loop = asyncio.get_running_loop()
        self._shard: ShardT | None = None
        """None while it is being loaded, or could not be."""
        self._task: asyncio.Task[None] | None = None
        self._failed = False
        """Whether the log could not be read in this leader epoch."""
        self._waiters = count()
        self._waiting: dict[Waiter, asyncio.Future[Any]] = {}
        self._timers: dict[Waiter, asyncio.TimerHandle] = {}
        self._unwritten: deque[_Write] = deque()
        self._in_flight: deque[tuple[BegunProduce, _Write]] = deque()
        self._wake = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms: int | None = None

    # Life.

    def begin(self, tasks: asyncio.TaskGroup, leader_epoch: int) -> None:
        """Load, then serve; a later epoch of the same leader finds it as it is."""
        is_newer = leader_epoch > self.leader_epoch
        self.leader_epoch = max(self.leader_epoch, leader_epoch)
        if self._task is None:
            name = f"coordinator of {self.tp}"
            self._task = tasks.create_task(supervised(name, self._run), name=name)
        elif is_newer and self._failed:
            self._failed = False
            self._wake.set()

    def end(self, code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Answer all that wait, and do nothing any more."""
        if self._task is not None:
            self._task.cancel()
        self._drop(code)

    @property
    def is_loaded(self) -> bool:
        """Whether there is a shard."""
        return self._shard is not None

    @property
    def is_unreadable(self) -> bool:
        """Whether the log could not be loaded in this leader epoch."""
        return self._failed

    @property
    def shard(self) -> ShardT:
        """The shard, for questions that neither wait nor change anything.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS; NOT_COORDINATOR, it could not be loaded.
        """
        if self._failed:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if self._shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self._shard

    def holds(self, shard: ShardT) -> bool:
        """Tell whether a shard is still the one that decides."""
        return self._shard is shard

    @property
    def takes_records(self) -> bool:
        """Whether the log would take what the shard decides now."""
        return self._log.refusal() is ErrorCode.NONE

    # What is asked.

    async def ask(self, decide: Decide[ShardT], *, writes: bool = False) -> Any:
        """Have the shard decide and return the answer to it, when it is given.

        ``writes``: it will write for sure, so it is not even tried where the log takes nothing.

        Raises:
            KafkaError: what ``decide`` raises, as ``shard``, or what kept its records from being
                replicated.
        """
        shard = self.shard
        if writes and (refusal := self._log.refusal()) is not ErrorCode.NONE:
            raise KafkaError(append_error(refusal))
        waiter = next(self._waiters)
        answered: asyncio.Future[Any] = self._loop.create_future()
        self._waiting[waiter] = answered
        try:
            try:
                decided = decide(shard, waiter, self._ports.now_ms(), self._ports.wall_ms())
            except KafkaError:
                self._set_alarm()  # Who is refused may have said that it is alive.
                raise
            self.take(decided)
            return await answered
        finally:
            self._waiting.pop(waiter, None)
            self._stop_timer(waiter)

    def take(self, decided: Decided) -> None:
        """Carry out what the shard decided by itself, or when it was asked."""
        if decided.records:
            self._put(decided)
        elif self._unwritten:
            self._join(self._unwritten[-1], decided)
        elif self._in_flight:
            self._join(self._in_flight[-1][1], decided)
        else:
            self._give(decided.answers)
            self._do(decided.effects)
        self._set_alarm()

    def _join(self, write: _Write, decided: Decided) -> None:
        write.answers += decided.answers
        write.effects += decided.effects
        self._time(decided.answers)

    def _put(self, decided: Decided) -> None:
        most = min(BATCH_BYTES_WANTED, self._log.batch_bytes_max)
        whole = decided.is_atomic
        for records in [decided.records] if whole else in_batches(decided.records, most):
            self._put_batch(records, decided.producer, most)
        self._join(self._unwritten[-1], decided)
        self._wake.set()

    def _put_batch(
        self, records: Sequence[Record], producer: TransactionProducer | None, most: int
    ) -> None:
        size_bytes = batch_size_bound(records)
        last = self._unwritten[-1] if self._unwritten else None
        if last is None or last.size_bytes + size_bytes > most or last.producer != producer:
            last = _Write(producer=producer)
            self._unwritten.append(last)
        last.records += records
        last.size_bytes += size_bytes

    # Answers.

    def _give(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            answered = self._waiting.get(answer.waiter)
            self._stop_timer(answer.waiter)
            if answered is not None and not answered.done():
                answered.set_result(answer.response)

    def _do(self, effects: Iterable[Any]) -> None:
        for effect in effects:
            self._ports.on_effect(self, effect)

    def _refuse(self, waiters: Iterable[Waiter], code: ErrorCode) -> None:
        for waiter in waiters:
            answered = self._waiting.get(waiter)
            self._stop_timer(waiter)
            if answered is not None and not answered.done():
                answered.set_exception(KafkaError(code))

    def _time(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            if answer.waiter in self._waiting:
                self._timers[answer.waiter] = self._loop.call_later(
                    self._ports.timeout_ms / 1000,
                    self._refuse,
                    (answer.waiter,),
                    self._ports.unavailable,
                )

    def _stop_timer(self, waiter: Waiter) -> None:
        timer = self._timers.pop(waiter, None)
        if timer is not None:
            timer.cancel()

    # The log.

    async def _run(self) -> None:
        """Load, then write what is decided; begins anew after a defect."""
        self._drop(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        while True:
            if self._shard is None and not self._failed:
                await self._load()
            await self._wake.wait()
            self._wake.clear()
            while self._unwritten and self._may_write():
                await self._write()

    def _may_write(self) -> bool:
        """Tell whether the next batch may follow: none may that was decided on what is refused.

        The refusal waits for its turn, and the log might take the next one by then.
        """
        if len(self._in_flight) >= BATCHES_IN_FLIGHT_MAX:
            return False
        if not self._in_flight or not self._in_flight[-1][0].ready.done():
            return True
        (last,) = self._in_flight[-1][0].results()
        return last.error_code in _WRITTEN

    async def _load(self) -> None:
        started_ms = self._ports.now_ms()
        shard = self._new_shard()
        try:
            replicated = await self._log.load(shard)
        except KafkaError as error:
            self._failed = True
            logger.warning("%s cannot be loaded: %s", self.tp, error)
            return
        self._shard = shard
        took_ms = self._ports.now_ms() - started_ms
        level = logging.INFO if took_ms else logging.DEBUG  # Most of them are empty.
        logger.log(level, "coordinator of %s: loaded in %d ms", self.tp, took_ms)
        self._begun(replicated, _Write())
        self.take(shard.loaded(self._ports.now_ms(), self._ports.wall_ms()))

    async def _write(self) -> None:
        write, shard = self._unwritten.popleft(), self._shard
        begun = await self._log.append(write.records, write.producer)
        if self._shard is not shard:
            begun.abandon()  # It was dropped meanwhile, and who waited knows.
            return
        self._begun(begun, write)

    def _begun(self, begun: BegunProduce, write: _Write) -> None:
        self._in_flight.append((begun, write))
        if begun.ready.done():
            self._settle()
        else:
            begun.ready.add_done_callback(lambda _: self._settle())

    def _settle(self) -> None:
        """Answer for the batches that are replicated, in their order."""
        while self._in_flight and self._in_flight[0][0].ready.done():
            begun, write = self._in_flight.popleft()
            (result,) = begun.results()
            code = result.error_code
            if code is ErrorCode.NONE:
                self._give(write.answers)
                self._do(write.effects)
            elif code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND and not write.effects:
                self._refuse([answer.waiter for answer in write.answers], append_error(code))
            else:
                logger.warning("%s takes no records: %s", self.tp, code.name)
                self._drop(append_error(code))
        self._wake.set()

    def _drop(self, code: ErrorCode) -> None:
        """Forget the shard, which may say more than the log does, and answer all that wait."""
        shard, self._shard = self._shard, None
        if shard is not None:
            self._give(shard.unloaded(code))
        self._refuse(list(self._waiting), code)
        self._unwritten.clear()
        for begun, _ in self._in_flight:
            begun.abandon()
        self._in_flight.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._alarm_ms = None
        self._wake.set()

    # Time.

    def _set_alarm(self) -> None:
        """Have the shard do what is due, when it is."""
        due_ms = None if self._shard is None else self._shard.next_due_ms()
        if due_ms == self._alarm_ms:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ms = due_ms
        if due_ms is None:
            self._alarm = None
            return
        delay_ms = max(0, due_ms - self._ports.now_ms())
        self._alarm = self._loop.call_later(delay_ms / 1000, self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_ms = None
        if self._shard is not None:
            self.take(self._shard.expire(self._ports.now_ms(), self._ports.wall_ms()))
