"""Copies replicas between the log dirs of this broker: one loop per mover, one partition at a time.

What a step does to the logs is the engine's (`MovingReplica`); when moves begin and end is decided
in `broker.core.future_log`. Source: ReplicaAlterLogDirsThread.scala, KIP-113.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from broker.core.future_log import Move, MoveState
from broker.core.log_dirs import LogDirFailed
from broker.core.replication_quota import ReplicationQuota
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

logger = logging.getLogger(__name__)

_RETRIED: Final = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD})


class MovingReplica(Protocol):
    """A replica on its way to another log dir, as its mover uses it.

    Every step may raise LogDirFailed (the engine ends the move) or KafkaError.
    """

    @property
    def tp(self) -> TopicPartition: ...  # noqa: D102
    @property
    def move(self) -> Move: ...  # noqa: D102

    async def truncate(self) -> None:
        """Make the future log a prefix of the current one."""
        ...

    async def copy(self) -> None:
        """Copy the next batches; the throttle counts their bytes."""
        ...

    def is_close(self) -> bool:
        """Tell whether so little is missing that the swap can copy it."""
        ...

    async def swap(self) -> None:
        """Let both logs change places, if the future log has everything then."""
        ...

    def report(self) -> None:
        """Write a progress row."""
        ...

    def fail(self) -> None:
        """End the move, if it is still under way: an error came that no retry mends."""
        ...


class Mover:
    """One loop. ``run`` ends only by cancellation."""

    def __init__(
        self, throttle: ReplicationQuota, *, backoff_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._throttle = throttle
        self._backoff_s = backoff_ms / 1000
        self._now_ms = now_ms
        self._moving: dict[TopicPartition, MovingReplica] = {}
        self._delayed: dict[TopicPartition, asyncio.TimerHandle] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._moving)

    def has(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is copied here or in line for it."""
        return tp in self._moving

    def add(self, moving: MovingReplica) -> None:
        """Copy ``moving`` when its turn comes; also after a failed move may go on again."""
        self._moving[moving.tp] = moving
        self._undelay(moving.tp)

    def remove(self, tp: TopicPartition) -> None:
        """Copy a partition no more."""
        self._moving.pop(tp, None)
        timer = self._delayed.pop(tp, None)
        if timer is not None:
            timer.cancel()
        self._changed.set()

    async def run(self) -> None:
        """Work off the partitions, each to its end before the next one begins."""
        current: TopicPartition | None = None
        while True:
            current = self._next(current)
            if current is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            moving = self._moving[current]
            # Kafka's thread truncates before it asks the quota whether it may read.
            is_copying = moving.move.state is not MoveState.TRUNCATING
            if is_copying and self._throttle.is_exceeded(self._now_ms()):
                await self._pause()
                continue
            await self._step(moving)

    def _next(self, current: TopicPartition | None) -> TopicPartition | None:
        """Stay with the current one while it is ready, else take the smallest ready one."""
        if current in self._moving and current not in self._delayed:
            return current
        return min((tp for tp in self._moving if tp not in self._delayed), default=None)

    async def _pause(self) -> None:
        """Wait until the limit lets something through; look at least once per back-off."""
        self._changed.clear()
        wait_s = min(self._throttle.wait_ms(self._now_ms()) / 1000, self._backoff_s)
        timer = asyncio.get_running_loop().call_later(wait_s, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()

    async def _step(self, moving: MovingReplica) -> None:
        try:
            await self._advance(moving)
        except LogDirFailed as failed:
            logger.warning("move of %s ends: %s", moving.tp, failed)
            self._drop(moving)
        except KafkaError as error:
            self._on_error(moving, error)

    async def _advance(self, moving: MovingReplica) -> None:
        move = moving.move
        if move.state is MoveState.TRUNCATING:
            await moving.truncate()
        elif move.state is MoveState.COPYING:
            await moving.copy()
            moving.report()
            if move.state is MoveState.COPYING and moving.is_close():
                await moving.swap()
        if not move.is_active:
            self._drop(moving)

    def _on_error(self, moving: MovingReplica, error: KafkaError) -> None:
        if error.code in _RETRIED or moving.move.state is MoveState.TRUNCATING:
            # Under a new leader epoch, or after a cut, what went wrong before counts no more.
            logger.warning("move of %s pauses: %s", moving.tp, error)
            loop = asyncio.get_running_loop()
            self._delayed[moving.tp] = loop.call_later(self._backoff_s, self._undelay, moving.tp)
            return
        logger.error("move of %s failed: %s", moving.tp, error)
        moving.fail()
        self._drop(moving)

    def _drop(self, moving: MovingReplica) -> None:
        """Forget a move that is over, unless another one of the partition came meanwhile."""
        if self._moving.get(moving.tp) is moving:
            self.remove(moving.tp)

    def _undelay(self, tp: TopicPartition) -> None:
        timer = self._delayed.pop(tp, None)
        if timer is not None:
            timer.cancel()
        self._changed.set()
