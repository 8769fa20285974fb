"""Producers that contend for a few transactional ids (``simulation.core.restless_producers``).

One request at a time goes out, of any of them; who waits for an answer asks nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from simulation.core.producer_requests import Identity, ProducerPlace, TransactionVersion
from simulation.core.restless_members import KnownTopic
from simulation.core.restless_producers import Book, ProducerAsking, ProducerSide
from simulation.workload.clients import ClusterClient
from simulation.workload.coordinator import GROUP, TRANSACTION, Coordinator
from simulation.workload.mover import RandomSource
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of
from simulation.workload.turns import Turn, known_topics

IDS: Final = 2
PRODUCERS_OF_AN_ID: Final = 2
TIMEOUTS_MS: Final = (500, 900, 1_500)
"""Of these one is drawn, for all: who is silent for longer finds its transaction aborted."""
_VERSIONS: Final[tuple[TransactionVersion, ...]] = (1, 2)
_LOOK_EVERY: Final = 12
"""After so many requests the topic is looked at again."""
_AT_ONCE_OF: Final = 3
"""Once in so many times the next one asks in the same moment."""
_SILENT_ONCE_OF: Final = 40
_SILENT_ONCE_OF_INSIDE: Final = 12
_SILENT_MAX: Final = 60
"""For at most so many requests of the others somebody is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestlessProducerSettings:
    """Where they write, and how often somebody asks something."""

    topic: str
    group: str
    """Whose offsets their transactions commit."""
    interval_ms: int
    record_bytes: int = 100
    keys: int = 0
    requests_max: int | None = None
    """They end after so many; None: with the run."""


class _Producer:
    """One who contends for an id, and a new one each time it is out."""

    def __init__(self, place: ProducerPlace, client: ClusterClient, progress: Progress) -> None:
        self.place = place
        self.client = client
        self.coordinators = {
            "transaction": Coordinator(client, place.transactional_id, TRANSACTION, progress),
            "group": Coordinator(client, place.group, GROUP, progress),
        }
        self.side: ProducerSide | None = None
        self.turn = Turn()


class RestlessProducersWorkload:
    """All of them. ``run`` it once; ``stop`` ends it, and what is open is aborted by a time-out."""

    def __init__(
        self,
        connect: Callable[[str], ClusterClient],
        book: Book,
        chance: RandomSource,
        settings: RestlessProducerSettings,
    ) -> None:
        """``connect`` makes a client of a name; ``book`` is where they write down what they do."""
        self.progress = Progress()
        """``acknowledged`` counts requests that were answered."""
        self._book = book
        self._chance = chance
        self._settings = settings
        timeout_ms = TIMEOUTS_MS[chance.randrange(len(TIMEOUTS_MS))]
        self._producers = [
            _Producer(
                self._place(id_, timeout_ms), connect(f"{book.client}-{id_}{one}"), self.progress
            )
            for id_ in range(1, IDS + 1)
            for one in "ab"[:PRODUCERS_OF_AN_ID]
        ]
        self._known: dict[str, KnownTopic] = {}
        self._stopping = asyncio.Event()

    def _place(self, number: int, timeout_ms: int) -> ProducerPlace:
        settings = self._settings
        return ProducerPlace(
            transactional_id=f"{self._book.client}-{number}",
            topic=settings.topic,
            group=settings.group,
            timeout_ms=timeout_ms,
            record_bytes=settings.record_bytes,
            keys=settings.keys,
        )

    def stop(self) -> None:
        """Have them ask nothing more."""
        self._stopping.set()

    async def run(self) -> None:
        """Ask for one after the other until stopped."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._ask_by_turns(tasks)
            for producer in self._producers:
                if producer.side is not None:
                    producer.side.end()
        finally:
            for producer in self._producers:
                producer.client.close()

    async def _ask_by_turns(self, tasks: asyncio.TaskGroup) -> None:
        count = 0
        while not self._stopping.is_set() and count != self._settings.requests_max:
            if count % _LOOK_EVERY == 0:
                await self._look()
            free = [each for each in self._producers if each.turn.is_free(count)]
            if free:
                self._go_on(free[self._chance.randrange(len(free))], count, tasks)
            count += 1
            if self._chance.randrange(_AT_ONCE_OF):
                await pause(self._stopping, self._settings.interval_ms)

    def _go_on(self, producer: _Producer, count: int, tasks: asyncio.TaskGroup) -> None:
        side = producer.side
        is_inside = side is not None and side.is_inside
        if not self._chance.randrange(_SILENT_ONCE_OF_INSIDE if is_inside else _SILENT_ONCE_OF):
            producer.turn.silent_until = count + self._chance.randrange(_SILENT_MAX)
            return
        if side is None or side.is_out:
            version = _VERSIONS[self._chance.randrange(len(_VERSIONS))]
            producer.side = side = ProducerSide(producer.place, version, self._book)
        asking = side.next(self._chance, self._known, self._others(producer.place))
        producer.turn.asked = tasks.create_task(
            self._ask(producer, asking), name=f"ask for {producer.place.transactional_id}"
        )

    def _others(self, place: ProducerPlace) -> list[Identity]:
        """Return what producers of the other ids have."""
        return [
            each.side.now
            for each in self._producers
            if each.place != place and each.side is not None and each.side.now != Identity()
        ]

    async def _ask(self, producer: _Producer, asking: ProducerAsking) -> None:
        try:
            answer = await self._answer(producer, asking)
        except (OSError, Malformed, KafkaError) as error:
            self.progress.count_error(code_of(error).name)
            asking.lost()
            return
        code = asking.answered(answer)
        if not isinstance(asking.where, TopicPartition):
            producer.coordinators[asking.where].heed(code)
        if code is not ErrorCode.NONE:
            self.progress.count_error(code.name)
        self.progress.acknowledged += 1

    async def _answer(self, producer: _Producer, asking: ProducerAsking) -> Any:
        if not isinstance(asking.where, TopicPartition):
            coordinator = producer.coordinators[asking.where]
            return await coordinator.ask(asking.message, asking.version, lambda _: ErrorCode.NONE)
        # The first one looks for all.
        leader = self._producers[0].client.leader(asking.where)
        if leader is None or leader.broker < 0:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return await producer.client.ask(leader.broker, asking.message, asking.version)

    async def _look(self) -> None:
        with suppress(OSError, Malformed):
            view = await self._producers[0].client.view([self._settings.topic])
            self._known = known_topics(view)
