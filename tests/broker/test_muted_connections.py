"""A muted connection waits as long as its client was told to, the others do not."""

from __future__ import annotations

import asyncio

from broker.muted_connections import MutedConnections
from protocol.connection import Peer
from tests.broker.engine.virtual_loop import VirtualLoop

ONE, OTHER = Peer("h", 1, 1), Peer("h", 2, 2)


async def story() -> tuple[float, float]:
    muted, loop = MutedConnections(), asyncio.get_running_loop()
    begin = loop.time()
    muted.mute(ONE, 3000)
    muted.mute(ONE, 1000)
    await muted.until_unmuted(OTHER)
    other_s = loop.time() - begin
    await muted.until_unmuted(ONE)
    one_s = loop.time() - begin
    await muted.until_unmuted(ONE)
    assert loop.time() - begin == one_s
    assert not muted.is_any
    return other_s, one_s


def test_it_waits_until_the_longest_time_that_it_was_told() -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(story()) == (0.0, 3.0)
