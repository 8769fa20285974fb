"""The produce path: validate, assign offsets, write, wait as acks asks.

Records are neither copied nor looked into; the rules are in `broker.core.append` and
`broker.core.partition`.
Source: ReplicaManager.scala appendRecords.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from broker.core.append import AppendLimits, PreparedAppend, RecordsRefused, prepare_append
from broker.core.delayed import DelayedProduce
from broker.core.log_dirs import LogDirFailed
from broker.core.markers import prepare_marker
from broker.core.producers import ProducerStates
from broker.core.record_errors import (
    RecordsNamed,
    is_looked_at_before,
    look_in_steps,
    name_records,
)
from broker.core.verification import VerificationGuard, not_verified
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.types import ProducePart, ProduceResult
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.produce import ACKS_ALL, ACKS_NONE

_WITHOUT_LOG_START: Final = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
)


class BegunProduce:
    """One Produce after its appends: waits for what ``acks`` asks, without a task of its own."""

    __slots__ = ("_state", "_timer", "_tps", "_written", "delayed", "prepared", "ready")

    def __init__(self, state: EngineState, tps: Sequence[TopicPartition]) -> None:
        self._state = state
        self._tps = tps
        self._timer: asyncio.Handle | None = None
        self._written: DelayedProduce | None = None
        self.ready: asyncio.Future[None] = state.loop.create_future()
        """Done when every part has its code."""
        self.delayed = DelayedProduce(len(tps), partial(_finish, self.ready))
        self.prepared: list[ProduceResult] = []
        """What is answered where all goes well; filled by who appends."""
        if not tps:
            _finish(self.ready)

    def expire_after(self, timeout_ms: int) -> None:
        """Answer with REQUEST_TIMED_OUT what still waits then; without time, once it is written.

        Kafka writes before it begins to wait, so that 0 or less asks only for no other replica.
        """
        if timeout_ms > 0:
            self._timer = self._state.loop.call_later(timeout_ms / 1000, self.delayed.expire)
            return
        self._written = DelayedProduce(len(self._tps), self._expire_soon)
        for index, tp in enumerate(self._tps):
            replica = self._state.hosted.online_replica(tp)
            is_refused = self.delayed.codes[index] is not None
            if replica is None or is_refused or replica.partition.is_settled:
                self._written.complete(index, ErrorCode.NONE)
            else:
                replica.written.add(replica.partition.next_offset, self._written, index)

    def _expire_soon(self) -> None:
        """Let the high watermark rise first, where this replica is the only one."""
        self._timer = self._state.loop.call_soon(self.delayed.expire)

    def results(self) -> list[ProduceResult]:
        """Return one result per part, in order; only when ``ready`` is done."""
        self._end()
        codes = self.delayed.codes
        for tp, result, code in zip(self._tps, self.prepared, codes, strict=True):
            assert code is not None, "a produce is answered when every part has its code"
            if code is not result.error_code:
                self._spoil(tp, result, code)
        return self.prepared

    def abandon(self) -> None:
        """Stop waiting: nobody will ask for results. What is appended stays."""
        self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.delayed.done and ErrorCode.REQUEST_TIMED_OUT not in self.delayed.codes:
            return
        for tp in self._tps:
            replica = self._state.hosted.online_replica(tp)
            if replica is not None:
                replica.written.discard(self.delayed)
                replica.replicated.discard(self.delayed)
                if self._written is not None:
                    replica.written.discard(self._written)

    def _spoil(self, tp: TopicPartition, result: ProduceResult, code: ErrorCode) -> None:
        """Turn a prepared answer into an error."""
        result.error_code = code
        result.base_offset = result.log_append_time_ms = result.log_start_offset = -1
        if code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            result.current_leader = self._state.leader_hint(tp)


class Produces:
    """Serves Produce."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._counters = state.ports.counters

    async def produce(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> list[ProduceResult]:
        """Append ``parts``; return one result each, in order, once ``acks`` is satisfied or not."""
        begun = await self.begin(parts, acks=acks, timeout_ms=timeout_ms)
        try:
            await begun.ready
        except asyncio.CancelledError:
            begun.abandon()
            raise
        return begun.results()

    async def begin(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> BegunProduce:
        """Append ``parts``, in the order of calls; waits only where a log dir has no room."""
        looked_at: list[ProducePart] = []
        for part in parts:
            limits = self._looked_at_within(part)
            looked_at.append(part if limits is None else await self._looked_at(part, limits))
        parts = looked_at
        await self._until_ready(parts)
        begun = BegunProduce(self._state, [part.tp for part in parts])
        delayed = begun.delayed
        for index, part in enumerate(parts):
            begun.prepared.append(self._append(part, index, acks, delayed))
        if not delayed.done and acks == ACKS_ALL:
            begun.expire_after(timeout_ms)
        return begun

    def await_replicated(self, tp: TopicPartition, end_offset: int) -> BegunProduce:
        """Wait as acks=all does for what was appended already, up to ``end_offset``."""
        begun = BegunProduce(self._state, [tp])
        begun.prepared.append(ProduceResult())
        replica = self._state.hosted.online_replica(tp)
        if replica is None:
            begun.delayed.complete(0, self._state.absence(tp))
        else:
            self._expect(replica, end_offset, ACKS_ALL, begun.delayed, 0)
        return begun

    def refusal(self, tp: TopicPartition) -> ErrorCode:
        """Return what an append with acks=all would be refused with now, NONE if it would not."""
        replica = self._state.hosted.online_replica(tp)
        if replica is None:
            return self._state.absence(tp)
        return replica.partition.check_append(ACKS_ALL)

    def begin_verification(
        self,
        tp: TopicPartition,
        producer_id: int,
        epoch: int,
        sequence: int,
        *,
        raises_epochs: bool,
    ) -> VerificationGuard:
        """Return what a transactional batch must bring; ALREADY_OPEN: nobody is to be asked.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance of the producer has written, or why
                this broker does not lead the partition.
        """
        return self._led_producers(tp).begin_verification(
            producer_id,
            epoch,
            sequence,
            raises_epochs=raises_epochs,
            now_ms=self._state.wall_ms(),
        )

    def check_verified(
        self, tp: TopicPartition, producer_id: int, epoch: int, guard: VerificationGuard
    ) -> None:
        """Tell whether a batch with ``guard`` would be taken for part of an open transaction.

        Raises:
            KafkaError: INVALID_TXN_STATE, or why this broker does not lead the partition.
        """
        if not self._led_producers(tp).is_verified(producer_id, epoch, guard):
            raise not_verified(producer_id)

    def _led_producers(self, tp: TopicPartition) -> ProducerStates:
        replica = self._state.hosted.online_replica(tp)
        if replica is None:
            raise KafkaError(self._state.absence(tp))
        if not replica.partition.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return replica.partition.producers.states

    def _looked_at_within(self, part: ProducePart) -> AppendLimits | None:
        """Return the limits within which records are looked at in steps; None where they are not.

        Markers, and what nobody here takes, are not.
        """
        replica = self._state.hosted.online_replica(part.tp)
        if replica is None or part.marker is not None:
            return None
        limits = replica.limits
        return limits if is_looked_at_before(part.records, limits, self._state.wall_ms()) else None

    async def _looked_at(self, part: ProducePart, limits: AppendLimits) -> ProducePart:
        steps = look_in_steps(part.tp, part.records, limits, self._state.wall_ms())
        return part._replace(seen=await self._state.ports.record_turns.run(steps))

    async def _until_ready(self, parts: Sequence[ProducePart]) -> None:
        """Wait while a log is being swapped or its disk has more work than it may take."""
        online = self._state.hosted.online_replica
        waits = True
        while waits:
            waits = False
            for part in parts:
                replica = online(part.tp)
                if replica is None:
                    continue
                unwritable = replica.log.unwritable
                if unwritable is not None:
                    waits = True
                    await asyncio.shield(unwritable)
                elif not replica.log.dir.queue.has_room():
                    waits = True
                    await _room(replica)

    def _append(
        self, part: ProducePart, index: int, acks: int, delayed: DelayedProduce
    ) -> ProduceResult:
        state = self._state
        replica = state.hosted.online_replica(part.tp)
        if replica is None:
            delayed.complete(index, state.absence(part.tp, of_marker=part.marker is not None))
            return ProduceResult()
        partition = replica.partition
        code = partition.check_append(acks)
        if code is not ErrorCode.NONE:
            delayed.complete(index, code)
            return _answer_of(replica, code)
        now_ms = state.wall_ms()
        try:
            prepared = _prepare(replica, part, now_ms)
            if prepared.duplicate is None:
                on_written = partial(self._on_written, replica, prepared, part)
                end_offset = prepared.last_offset + 1
                replica.log.append((part.records,), end_offset, on_written, now_ms=now_ms)
            else:
                self._count(prepared, part)
        except KafkaError as error:
            result = _refused(replica, part, error, now_ms)
            delayed.complete(index, result.error_code)
            return result
        except LogDirFailed:
            delayed.complete(index, ErrorCode.KAFKA_STORAGE_ERROR)
            return ProduceResult()
        self._expect(replica, prepared.last_offset + 1, acks, delayed, index)
        return ProduceResult(
            base_offset=prepared.first_offset,
            log_append_time_ms=prepared.log_append_time_ms,
            log_start_offset=partition.log_start_offset,
        )

    def _count(self, prepared: PreparedAppend, part: ProducePart) -> None:
        """Count what came in, as Kafka does: what was sent again, and markers, too.

        Source: ReplicaManager.scala appendToLocalLog, LogAppendInfo.numMessages.
        """
        received_bytes = part.received_bytes
        self._counters.messages_in.value += prepared.last_offset - prepared.first_offset + 1
        self._counters.bytes_in.value += (
            len(part.records) if received_bytes is None else received_bytes
        )

    def _expect(
        self, replica: Replica, required: int, acks: int, delayed: DelayedProduce, index: int
    ) -> None:
        """Settle one part now, or when the offset that ``acks`` asks for reaches ``required``."""
        partition = replica.partition
        if acks == ACKS_NONE:
            delayed.complete(index, ErrorCode.NONE)
        elif acks != ACKS_ALL:
            if partition.log_end_offset >= required:
                delayed.complete(index, ErrorCode.NONE)
            else:
                replica.written.add(required, delayed, index)
        else:
            code = partition.replicated(required)
            if code is not None:
                delayed.complete(index, code)
            else:
                replica.replicated.add(required, delayed, index)

    def _on_written(
        self,
        replica: Replica,
        prepared: PreparedAppend,
        part: ProducePart,
        counts: bool,  # noqa: FBT001 -- a callback
    ) -> None:
        self._count(prepared, part)
        if not counts:
            return
        state = self._state
        now_ms = state.now_ms()
        end_offset = prepared.last_offset + 1
        rose = replica.partition.leader_appended(
            end_offset, now_ms=now_ms, lag_time_max_ms=state.lag_time_max_ms
        )
        replica.tail.append(prepared.first_offset, end_offset, part.records, now_ms)
        replica.on_written()
        if rose:
            replica.on_high_watermark()


def _refused(replica: Replica, part: ProducePart, error: KafkaError, now_ms: int) -> ProduceResult:
    """Return the answer for a batch that is not appended; records at fault are named in it."""
    result = _answer_of(replica, error.code)
    named = error.errors if isinstance(error, RecordsNamed) else None
    if named is None and isinstance(error, RecordsRefused) and part.seen is None:
        named = name_records(part.tp, part.records, replica.limits, now_ms)
    if named is not None:
        result.error_code, result.error_message, result.record_errors = named
    return result


def _answer_of(replica: Replica, code: ErrorCode) -> ProduceResult:
    """Return the answer without a text that most errors have.

    Source: ReplicaManager.appendToLocalLog: what names no cause in the log tells not where it
    begins.
    """
    if code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return ProduceResult()  # ``BegunProduce`` adds who leads.
    if code in _WITHOUT_LOG_START:
        return ProduceResult(error_code=code)
    return ProduceResult(error_code=code, log_start_offset=replica.partition.log_start_offset)


def _prepare(replica: Replica, part: ProducePart, now_ms: int) -> PreparedAppend:
    partition, limits = replica.partition, replica.limits
    if part.seen is not None:
        limits = replace(limits, seen=part.seen)
    if part.is_coordinators:
        limits = replace(limits, is_coordinators=True, guard=part.guard)
    elif part.guard is not None:
        limits = replace(limits, guard=part.guard)
    if part.marker is not None:
        return prepare_marker(
            partition,
            part.marker,
            part.records,
            is_log_append_time=limits.is_log_append_time,
            now_ms=now_ms,
        )
    return prepare_append(
        part.records,
        next_offset=partition.next_offset,
        leader_epoch=partition.leader_epoch,
        limits=limits,
        producers=partition.producers.states,
        now_ms=now_ms,
    )


async def _room(replica: Replica) -> None:
    try:
        await replica.log.dir.queue.wait_for_room()
    except LogDirFailed:
        return  # The append finds the replica offline and answers so.


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
