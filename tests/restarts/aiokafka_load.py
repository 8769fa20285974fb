"""aiokafka as the idempotent load of the restart rounds."""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.restarts.pace import Pace
from tests.restarts.script import Told, tell, value

TICK_S = 0.005
TIMEOUT_MS = 120_000
"""After which aiokafka gives a batch up whose leader is away."""
UNACKED_MAX = 5000


class AiokafkaLoad:
    """One producer, to the end: what it fails to deliver is told."""

    def __init__(self, topics: list[str], partitions: int) -> None:
        self._places = [(topic, number) for topic in topics for number in range(partitions)]
        self._sent: Counter[tuple[str, int]] = Counter()
        self._acked: Counter[tuple[str, int]] = Counter()
        self._failed: dict[tuple[str, int], list[int]] = {}
        self._errors: dict[str, int] = {}
        self._unacked: set[asyncio.Future[Any]] = set()

    async def run(self, producer: AIOKafkaProducer, stop: asyncio.Event, rate: int) -> None:
        """Send ``rate`` records a second, over all partitions in turn, until told to stop."""
        pace = Pace(rate)
        turn = 0
        while not stop.is_set():
            for _ in range(pace.due()):
                if len(self._unacked) < UNACKED_MAX:
                    await self._send(producer, self._places[turn % len(self._places)])
                turn += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await stop.wait()
            if pace.reports():
                self._tell_acked()
        if self._unacked:
            await asyncio.gather(*self._unacked, return_exceptions=True)
        self._tell_acked()
        tell(Told("fatal", text=f"{count} times {text}") for text, count in self._errors.items())
        for place, count in self._sent.items():
            tell([Told("ended", place, 0, count, tuple(self._failed.get(place, [])))])

    async def _send(self, producer: AIOKafkaProducer, place: tuple[str, int]) -> None:
        number = self._sent[place]
        self._sent[place] += 1
        try:
            sent = await producer.send(place[0], value(0, number), partition=place[1])
        except KafkaError as error:
            self._note_failed(place, number, error)
            return
        self._unacked.add(sent)
        sent.add_done_callback(lambda done: self._on_done(place, number, done))

    def _on_done(self, place: tuple[str, int], number: int, done: asyncio.Future[Any]) -> None:
        self._unacked.discard(done)
        error = done.exception()
        if error is None:
            self._acked[place] += 1
        else:
            self._note_failed(place, number, error)

    def _note_failed(self, place: tuple[str, int], number: int, error: BaseException) -> None:
        self._failed.setdefault(place, []).append(number)
        self._errors[repr(error)] = self._errors.get(repr(error), 0) + 1

    def _tell_acked(self) -> None:
        tell(Told("acked", place, count) for place, count in self._acked.items())


async def main() -> None:
    """Run until stdin ends."""
    bootstrap, rate, partitions, *topics = sys.argv[1:]
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: stop.set())
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        acks="all",
        linger_ms=1,
        request_timeout_ms=TIMEOUT_MS,
        retry_backoff_ms=50,
        metadata_max_age_ms=5_000,
    )
    await producer.start()
    try:
        await AiokafkaLoad(topics, int(partitions)).run(producer, stop, int(rate))
    finally:
        await producer.stop()


if __name__ == "__main__":
    asyncio.run(main())
