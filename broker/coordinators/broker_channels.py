"""A queue for each broker that is asked something, worked off by one request at a time.

It knows neither what is asked nor what is answered. Where a broker is, is looked up before each
request: it may have moved, or be gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from broker.core.metadata_image import LiveBroker, MetadataImage
from broker.engine.supervise import supervised
from broker.engine.types import RpcPort

QueueT = TypeVar("QueueT")
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPorts:
    """What channels need to reach brokers."""

    metadata: MetadataImage
    connect: Callable[[str, int], RpcPort]
    request_timeout_ms: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelWork(Generic[QueueT, ItemT]):
    """What is asked of brokers, and how."""

    name: str
    """What is asked, for the names of tasks."""
    new_queue: Callable[[], QueueT]
    take: Callable[[QueueT], Sequence[ItemT]]
    """Takes what goes into the next request out of a queue; nothing ends the work for now."""
    ask: Callable[[RpcPort | None, Sequence[ItemT]], Awaitable[None]]
    """Sends one request; without a client where the broker is not there. Raises nothing."""


@dataclass(slots=True)
class _Channel(Generic[QueueT]):
    queue: QueueT
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class BrokerChannels(Generic[QueueT, ItemT]):
    """The channels of one kind of request. ``run`` it once."""

    def __init__(self, ports: ChannelPorts, work: ChannelWork[QueueT, ItemT]) -> None:
        self._ports = ports
        self._work = work
        self._channels: dict[int, _Channel[QueueT]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def is_running(self) -> bool:
        """Whether ``wake`` may be called."""
        return self._tasks is not None

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Ask by ``tasks`` from now on."""
        self._tasks = tasks

    def stop(self) -> None:
        """Let nobody wake it any more: the broker ends."""
        self._tasks = None

    def wake(self, broker_id: int) -> QueueT:
        """Return a broker's queue, to be filled at once: the next turn of the loop works on it."""
        assert self._tasks is not None, "run() comes first, and nothing after stop()"
        channel = self._channels.get(broker_id)
        if channel is None:
            channel = self._channels[broker_id] = _Channel(self._work.new_queue())
            name = f"{self._work.name} to broker {broker_id}"
            self._tasks.create_task(supervised(name, lambda: self._run(broker_id)), name=name)
        channel.wake.set()
        return channel.queue

    async def _run(self, broker_id: int) -> None:
        channel = self._channels[broker_id]
        client: RpcPort | None = None
        known: LiveBroker | None = None
        while True:
            await channel.wake.wait()
            channel.wake.clear()
            while items := self._work.take(channel.queue):
                broker = self._ports.metadata.live_broker(broker_id)
                if broker is not None and (client is None or broker != known):
                    if client is not None:
                        client.close()
                    client, known = self._ports.connect(broker.host, broker.port), broker
                await self._work.ask(None if broker is None else client, items)
