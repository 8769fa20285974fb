"""Where clients of a simulated world come from."""

from __future__ import annotations

import asyncio
from contextvars import copy_context

from simulation.client_host import ANY_HOST, CLIENT_HOST, EXAMINER_HOST
from simulation.world.loop import SimLoop
from tests.simulation.world.protocols import Kept

PORT = 5000


async def _sockname(host: str | None) -> str:
    if host is not None:
        CLIENT_HOST.set(host)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(Kept, "127.0.0.1", PORT)
    name: str = transport.get_extra_info("sockname")[0]
    return name


async def _hosts(*asked: str | None) -> list[str]:
    loop = asyncio.get_running_loop()
    await loop.create_server(Kept, "127.0.0.1", PORT)
    return await asyncio.gather(
        *(loop.create_task(_sockname(host), context=copy_context()) for host in asked)
    )


def test_what_is_connected_by_a_task_comes_from_its_host() -> None:
    with asyncio.Runner(loop_factory=SimLoop) as runner:
        found = runner.run(_hosts(None, EXAMINER_HOST, None))
    assert found == [ANY_HOST, EXAMINER_HOST, ANY_HOST]
