"""Moves replicas between the log dirs of their brokers, one after the other, by the chance given.

It does not wait for a move to end: the next one may be of the same replica, back again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from protocol.admin.log_dirs import LogDirView
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of
from simulation.workload.questions import log_dirs


class RandomSource(Protocol):
    """As much of ``random.Random`` as it takes."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to ``stop`` - 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverSettings:
    """What is moved and how often."""

    topic: str
    interval_ms: int = 2_000


class MoverWorkload:
    """One mover. ``run`` it once; ``stop`` ends it."""

    def __init__(
        self, client: ClusterClient, admin: Admin, chance: RandomSource, settings: MoverSettings
    ) -> None:
        self.progress = Progress()
        """``acknowledged`` counts accepted moves."""
        self._client = client
        self._admin = admin
        self._chance = chance
        self._settings = settings
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Order no more moves."""
        self._stopping.set()

    async def run(self) -> None:
        """Order moves until stopped."""
        while not self._stopping.is_set():
            await pause(self._stopping, self._settings.interval_ms)
            if self._stopping.is_set():
                return
            try:
                await self._move_one()
            except (OSError, Malformed) as error:
                self.progress.count_error(code_of(error).name)

    async def _move_one(self) -> None:
        brokers = self._client.broker_ids
        broker = brokers[self._chance.randrange(len(brokers))]
        choices = _choices(await log_dirs(self._client, broker), self._settings.topic)
        if not choices:
            return
        tp, path = choices[self._chance.randrange(len(choices))]
        code = (await self._admin.move_replicas(broker, path, [tp]))[tp]
        if code is ErrorCode.NONE:
            self.progress.acknowledged += 1
        else:
            self.progress.count_error(code.name)


def _choices(dirs: list[LogDirView], topic: str) -> list[tuple[TopicPartition, str]]:
    """Return every replica of the topic with every other log dir that is online."""
    online = [each.path for each in dirs if each.is_online]
    return [
        (replica.tp, path)
        for log_dir in dirs
        for replica in log_dir.replicas
        if replica.topic == topic and not replica.is_future
        for path in online
        if path != log_dir.path
    ]
