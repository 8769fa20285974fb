"""DeleteRecords: raises the log start offset of leaders and waits until all live replicas followed.

Files go later, by retention. The rules are in `broker.core.log_start`.
Source: ReplicaManager.scala deleteRecords, DelayedDeleteRecords.scala, KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from broker.core.delayed import DelayedProduce
from broker.core.log_start import new_log_start
from broker.engine.log.logs import Logs
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.state import EngineState
from broker.engine.types import DeletedRecords
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

_NO_LOW_WATERMARK: Final = -1


class RecordDeletions:
    """Serves DeleteRecords."""

    def __init__(self, state: EngineState, logs: Logs, fetches: Fetches) -> None:
        self._state = state
        self._logs = logs
        self._fetches = fetches

    async def delete(
        self,
        parts: Sequence[tuple[TopicPartition, int]],
        *,
        timeout_ms: int,
        is_empty_enough: bool = False,
    ) -> list[DeletedRecords]:
        """Delete what lies before an offset (-1: all that is committed); one result per part.

        With ``is_empty_enough`` a topic with an empty cleanup.policy lets its records go.

        A part whose replicas did not all follow in time has REQUEST_TIMED_OUT and the low
        watermark of the beginning: its records are deleted all the same.
        """
        done: asyncio.Future[None] = self._state.loop.create_future()
        delayed = DelayedProduce(len(parts), partial(_finish, done))
        begun = [
            self._begin(tp, offset, delayed, n, is_empty_enough=is_empty_enough)
            for n, (tp, offset) in enumerate(parts)
        ]
        if not delayed.done:
            await self._wait([tp for tp, _ in parts], delayed, done, timeout_ms)
        return [
            self._result(tp, code or ErrorCode.NONE, low_watermark)
            for (tp, _), code, low_watermark in zip(parts, delayed.codes, begun, strict=True)
        ]

    def _begin(
        self,
        tp: TopicPartition,
        offset: int,
        delayed: DelayedProduce,
        index: int,
        *,
        is_empty_enough: bool,
    ) -> int:
        """Raise the log start offset; return the low watermark of now, -1 with an error."""
        state = self._state
        replica = state.hosted.online_replica(tp)
        if replica is None:
            delayed.complete(index, state.absence(tp))
            return _NO_LOW_WATERMARK
        policy = state.ports.topic_config(tp.topic).cleanup_policy
        try:
            wanted = new_log_start(
                replica.partition, offset, cleanup_policy=policy, is_empty_enough=is_empty_enough
            )
        except KafkaError as error:
            delayed.complete(index, error.code)
            return _NO_LOW_WATERMARK
        self._logs.raise_log_start(replica, wanted)
        low_watermark = replica.low_watermark
        if low_watermark >= wanted:
            delayed.complete(index, ErrorCode.NONE)
        else:
            replica.deleted.add(wanted, delayed, index)
            self._tell_followers(replica)
        return low_watermark

    def _tell_followers(self, replica: Replica) -> None:
        """End their waiting fetches: the answer tells them where this log starts now."""
        for broker_id in replica.partition.followers:
            self._fetches.force_complete(broker_id)

    def _result(self, tp: TopicPartition, code: ErrorCode, low_watermark: int) -> DeletedRecords:
        if code is ErrorCode.NONE:
            replica = self._state.hosted.online_replica(tp)
            if replica is not None:
                low_watermark = max(low_watermark, replica.low_watermark)
        elif code is not ErrorCode.REQUEST_TIMED_OUT:
            low_watermark = _NO_LOW_WATERMARK
        return DeletedRecords(code, low_watermark)

    async def _wait(
        self,
        tps: Sequence[TopicPartition],
        delayed: DelayedProduce,
        done: asyncio.Future[None],
        timeout_ms: int,
    ) -> None:
        timer = self._state.loop.call_later(timeout_ms / 1000, delayed.expire)
        try:
            await done
        finally:
            timer.cancel()
            for tp in tps:
                replica = self._state.hosted.online_replica(tp)
                if replica is not None:
                    replica.deleted.discard(delayed)


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
