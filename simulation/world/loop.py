"""SimLoop: the asyncio loop of a simulated world, with its network and its disks' workers.

No sockets, no threads, no signals: what asks for them is refused.
"""

# asyncio's stubs know more about the arguments than a world needs to.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

from simulation.world.garbage import garbage_of_one_world
from simulation.world.journal_disk import SimExecutor
from simulation.world.network import ProtocolFactory, SimNetwork, SimServer
from simulation.world.refusals import Refusals
from simulation.world.transport import SimTransport
from simulation.world.virtual_loop import STEPS_MAX, VirtualLoop

T = TypeVar("T")


class SimLoop(Refusals, VirtualLoop):
    """The loop of one world. ``close`` it last."""

    def __init__(self, seed: int = 0, *, steps_max: int = STEPS_MAX) -> None:
        super().__init__(seed, steps_max=steps_max)
        self.network = SimNetwork(self)

    def close(self) -> None:
        """Let go of all that is left; no code of it has an effect."""
        self.network.close()
        super().close()

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Do what ``call_soon`` does, for its own thread."""
        if self.is_running() and not _is_in_a_loop():
            self.refuse("a thread that calls into the loop", callback)
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Run ``func`` on a simulated disk's worker; threads are refused."""
        if isinstance(executor, SimExecutor):
            return self.create_task(executor.call(partial(func, *args)))
        return self.refuse("a thread", func)

    async def create_server(
        self, protocol_factory: ProtocolFactory, host: Any = None, port: Any = None, **options: Any
    ) -> SimServer:
        """Listen in memory. See ``SimNetwork.listen``."""
        if options.get("ssl") is not None or options.get("sock") is not None:
            self.refuse("TLS, or a socket of one's own,", options)
        return self.network.listen(protocol_factory, str(host or "127.0.0.1"), int(port or 0))

    async def create_connection(
        self, protocol_factory: ProtocolFactory, host: Any = None, port: Any = None, **options: Any
    ) -> tuple[SimTransport, Any]:
        """Connect in memory. See ``SimNetwork.connect``."""
        if options.get("ssl") or options.get("sock") is not None:
            self.refuse("TLS, or a socket of one's own,", options)
        return await self.network.connect(protocol_factory, str(host), int(port))


def run_world(
    seed: int,
    main: Callable[[SimLoop], Coroutine[Any, Any, T]],
    *,
    steps_max: int = STEPS_MAX,
) -> T:
    """Run ``main`` in a new world to its end, and let go of all that it leaves running."""
    with garbage_of_one_world():
        return _run(SimLoop(seed, steps_max=steps_max), main)


def _run(loop: SimLoop, main: Callable[[SimLoop], Coroutine[Any, Any, T]]) -> T:
    try:
        return loop.run_until_complete(main(loop))
    finally:
        loop.close()


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
