"""What a world has not is refused with a sentence."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

import pytest

from simulation.world.loop import SimLoop
from simulation.world.refusals import NotSimulatedError
from tests.simulation.world.worlds import sim_loop

ASKED: dict[str, Callable[[SimLoop], Awaitable[object]]] = {
    "a thread": lambda _loop: asyncio.to_thread(print),
    "a subprocess": lambda _loop: asyncio.create_subprocess_exec("true"),
    "a subprocess of a shell": lambda _loop: asyncio.create_subprocess_shell("true"),
    "a name server": lambda loop: loop.getaddrinfo("localhost", 80),
    "a name server's other half": lambda loop: loop.getnameinfo(("127.0.0.1", 80)),
    "TLS": lambda loop: loop.create_connection(asyncio.Protocol, "localhost", 80, ssl=True),
}


@pytest.mark.parametrize("what", ASKED)
async def test_it_is_refused(what: str):
    with pytest.raises(NotSimulatedError, match="is not simulated"):
        await ASKED[what](sim_loop())


async def test_signals_are_refused():
    with pytest.raises(NotSimulatedError, match="a signal is not simulated"):
        sim_loop().add_signal_handler(signal.SIGTERM, print)
