"""The channels to brokers: one ordered queue each, one request in flight, tried until answered.

What is sent and what an answer means is decided elsewhere. Source: ControllerChannelManager.scala,
RequestSendThread.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from controller.core.events import RequestAnswered
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.ports import RpcPort

RETRY_MS: Final = 100
QUEUED_REQUESTS_MAX: Final = 10_000
"""A broker this far behind is given up."""

VERSIONS: Final[dict[type[Any], int]] = {
    LeaderAndIsrRequest: 7,
    UpdateMetadataRequest: 8,
    StopReplicaRequest: 4,
}
_log = logging.getLogger(__name__)


Connect = Callable[[str, int], RpcPort]
"""(host, port) -> a client; it connects on its first request."""


class Channels:
    """All channels. Every call is made on the loop and returns at once."""

    def __init__(
        self,
        group: asyncio.TaskGroup,
        connect: Connect,
        on_answer: Callable[[RequestAnswered], None],
        on_overflow: Callable[[int], None],
        answer_timeout_ms: int,
    ) -> None:
        """Prepare.

        Args:
            group: the tasks of the channels run in it.
            connect: makes clients.
            on_answer: told every answer, in order per broker.
            on_overflow: told the id of a broker whose queue is full.
            answer_timeout_ms: then a request is given up, with its connection, and sent again.
        """
        self._group = group
        self._connect = connect
        self._on_answer = on_answer
        self._on_overflow = on_overflow
        self._answer_timeout_ms = answer_timeout_ms
        self._channels: dict[int, _Channel] = {}
        self._is_ended = False

    def open(self, broker_id: int, broker_epoch: int, host: str, port: int) -> None:
        """Begin an empty channel; an older one to the same broker is closed."""
        self.close(broker_id)
        if self._is_ended:
            return
        client = self._connect(host, port)
        wait_ms = self._answer_timeout_ms
        channel = _Channel(broker_id, broker_epoch, client, self._on_answer, wait_ms)
        self._channels[broker_id] = channel
        channel.task = self._group.create_task(channel.run(), name=f"channel-{broker_id}")

    def close(self, broker_id: int) -> None:
        """End a channel and drop what waits in it."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            channel.close()

    def close_all(self) -> None:
        """End every channel; none is opened any more."""
        self._is_ended = True
        for broker_id in list(self._channels):
            self.close(broker_id)

    def send(self, broker_id: int, sequence: int, request: Any) -> None:
        """Put a request behind the others of this broker; nothing happens without a channel."""
        channel = self._channels.get(broker_id)
        if channel is None:
            return
        if channel.put(sequence, request) > QUEUED_REQUESTS_MAX:
            self._on_overflow(broker_id)

    @property
    def queued_count_max(self) -> int:
        """How many requests wait for the broker for which most do."""
        return max((channel.queued_count for channel in self._channels.values()), default=0)


class _Channel:
    """One broker's queue and the task that empties it."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: int,
        client: RpcPort,
        on_answer: Callable[[RequestAnswered], None],
        answer_timeout_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._client = client
        self._on_answer = on_answer
        self._answer_timeout_ms = answer_timeout_ms
        self._queue: deque[tuple[int, Any]] = deque()
        self._wake = asyncio.Event()
        self._is_answering = True
        self.task: asyncio.Task[None] | None = None

    def put(self, sequence: int, request: Any) -> int:
        """Queue a request and return how many wait."""
        self._queue.append((sequence, request))
        self._wake.set()
        return len(self._queue)

    @property
    def queued_count(self) -> int:
        """How many requests wait."""
        return len(self._queue)

    def close(self) -> None:
        """Stop at once."""
        self._client.close()
        if self.task is not None:
            self.task.cancel()

    async def run(self) -> None:
        """Send one request after the other until cancelled."""
        while True:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
            sequence, request = self._queue.popleft()
            response = await self._ask(request)
            self._on_answer(
                RequestAnswered(self._broker_id, self._broker_epoch, sequence, request, response)
            )

    async def _ask(self, request: Any) -> Any:
        """Try until there is an answer; one log line per change."""
        version = VERSIONS[type(request)]
        while True:
            try:
                response = await self._client.request(
                    request, version, timeout_ms=self._answer_timeout_ms
                )
            except (ConnectionError, TimeoutError) as error:
                self._note_silence(error)
                await asyncio.sleep(RETRY_MS / 1000)
                continue
            if not self._is_answering:
                self._is_answering = True
                _log.info("broker %d answers again", self._broker_id)
            return response

    def _note_silence(self, error: Exception) -> None:
        if self._is_answering:
            self._is_answering = False
            _log.warning(
                "broker %d does not answer, trying every %d ms: %s",
                self._broker_id,
                RETRY_MS,
                error,
            )
