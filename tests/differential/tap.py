"""Listens on the wire between a controller and its brokers, as brokers' advertised ports.

Everything is handed on as it comes. Only connections of the controller are read; what they carry
is kept in the order in which the broker got it. It judges nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jbodlab.decoding.frames import Exchange, ReadFrame

_HEAD_BYTES = 14
"""Size, key, version, correlation id, length of the client id."""
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Told:
    """One request of the controller and the broker's answer."""

    api: str
    request: dict[str, Any]
    response: dict[str, Any]


class Taps:
    """One tap per broker; use it as a context manager."""

    def __init__(self, routes: Mapping[int, tuple[int, int]], *controller_client_ids: str) -> None:
        """Take, per broker, the port to listen on and the port of the broker."""
        self._routes = routes
        self._client_ids = [each.encode() for each in controller_client_ids]
        self._told: dict[int, list[Told]] = {broker_id: [] for broker_id in routes}
        self._changed = threading.Condition()
        self._is_listening = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Taps:
        self._thread.start()
        assert self._is_listening.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def told(self) -> dict[int, list[Told]]:
        """Return what every broker was told and has answered so far."""
        with self._changed:
            return {broker_id: list(told) for broker_id, told in self._told.items()}

    def wait_for(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Look after every answer whether the condition holds; return whether it does in time."""
        with self._changed:
            return self._changed.wait_for(condition, deadline_s)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        servers: list[asyncio.Server] = []
        try:
            async with asyncio.TaskGroup() as relays:
                for broker_id, (at, target) in self._routes.items():
                    accept = self._accept(relays, broker_id, target)
                    servers.append(await asyncio.start_server(accept, "127.0.0.1", at))
                self._is_listening.set()
                await self._end.wait()
                raise _EndError  # noqa: TRY301 - it cancels the relays
        except* _EndError:
            pass
        finally:
            for server in servers:
                server.close()

    def _accept(
        self, relays: asyncio.TaskGroup, broker_id: int, target: int
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relays.create_task(self._relay(broker_id, target, reader, writer))

        return accept

    async def _relay(
        self,
        broker_id: int,
        target: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        ear = _Ear(self._client_ids, lambda told: self._keep(broker_id, told))
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(_hand_on(reader, requests, ear.hear_request))
                ways.create_task(_hand_on(answers, writer, ear.hear_response))
        except* OSError:
            pass
        finally:
            writer.close()
            requests.close()

    def _keep(self, broker_id: int, told: Told) -> None:
        with self._changed:
            self._told[broker_id].append(told)
            self._changed.notify_all()


class _Ear:
    """One connection: reads it if the controller made it."""

    def __init__(self, client_ids: Sequence[bytes], keep: Callable[[Told], None]) -> None:
        self._client_ids = client_ids
        self._keep = keep
        self._exchange: Exchange | None = None
        self._is_open = False
        self._asked: dict[int, ReadFrame] = {}

    def hear_request(self, data: bytes) -> None:
        if not self._is_open:
            self._is_open = True
            heads = [len(each).to_bytes(2) + each for each in self._client_ids]
            if data.startswith(tuple(heads), _HEAD_BYTES - 2):
                self._exchange = Exchange()
        for frame in self._frames("request", data):
            assert frame.header is not None
            self._asked[frame.header["correlationId"]] = frame

    def hear_response(self, data: bytes) -> None:
        for frame in self._frames("response", data):
            assert frame.header is not None
            asked = self._asked.pop(frame.header["correlationId"])
            assert asked.api is not None
            self._keep(Told(asked.api, asked.body or {}, frame.body or {}))

    def _frames(self, kind: str, data: bytes) -> list[ReadFrame]:
        if self._exchange is None:
            return []
        frames = self._exchange.receive(kind, data)
        assert all(frame.error is None for frame in frames), frames
        return frames


async def _hand_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hear: Callable[[bytes], None]
) -> None:
    """Copy one direction; its end is the end of both."""
    while data := await reader.read(_CHUNK_BYTES):
        hear(data)
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError


class _EndError(Exception):
    """Ends the tap."""
