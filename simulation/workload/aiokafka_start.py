"""How a client of aiokafka begins and ends, whatever kind it is, and what its errors are called."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import UnknownError

from protocol.errors import ErrorCode
from simulation.workload.pause import pause
from simulation.workload.progress import Progress

_BACKOFF_MS: Final = 500
_STOP_S_MAX: Final = 10.0


class Startable(Protocol):
    """What producers and consumers of the library have in common."""

    async def start(self) -> Any:
        """Join the cluster; once only, even when it fails."""
        ...

    async def stop(self) -> Any:
        """Leave the cluster."""
        ...


ClientT = TypeVar("ClientT", bound=Startable)


async def started(
    make: Callable[[], ClientT], progress: Progress, stopping: asyncio.Event
) -> ClientT | None:
    """Make a client and start it, another one while that fails; None when it is to stop first.

    A client of the library is of no more use once its start failed: a consumer that has a
    coordinator by then refuses a second one. One that did not start is stopped here.
    """
    while not stopping.is_set():
        client = make()
        try:
            has_started = await _start(client, stopping)
        except AiokafkaError as error:
            await ended(client)
            progress.count_error(error_name(error))
            await pause(stopping, _BACKOFF_MS)
        except BaseException:
            await ended(client)
            raise
        else:
            if has_started:
                return client
            await ended(client)
    return None


async def _start(client: Startable, stopping: asyncio.Event) -> bool:
    """Start it; False when it is to stop first: a start may wait for a coordinator for ever."""
    loop = asyncio.get_running_loop()
    starting = loop.create_task(client.start())
    asked = loop.create_task(stopping.wait())
    asked.add_done_callback(lambda _: starting.cancel())
    try:
        await starting
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling() or not stopping.is_set():
            raise
        return False
    finally:
        asked.cancel()
    return True


async def ended(client: Startable) -> None:
    """End a client whatever became of it; an open transaction is left to its coordinator.

    One whose start failed half-way may wait for ever for what never began: it is given up then.
    """
    with suppress(AiokafkaError, TimeoutError):
        async with asyncio.timeout(_STOP_S_MAX):
            await _stopped(client)


async def _stopped(client: Startable) -> None:
    """Stop it to the end.

    A consumer ends the fetches that wait to be tried again, and one that it ended so ends the stop
    itself before its connections are closed, as if somebody had cancelled whoever asked for it.
    """
    try:
        await client.stop()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        connections = getattr(client, "_client", None)
        if connections is not None:
            await connections.close()


def error_name(error: BaseException) -> str:
    """Return Kafka's name of an error where it has one, or else the library's."""
    number = getattr(error, "errno", None)
    if type(error) is UnknownError:  # The library's -1 is a broker's, too, and any it knows not.
        return type(error).__name__
    if isinstance(number, int) and number in list(ErrorCode):
        return ErrorCode(number).name
    return type(error).__name__
