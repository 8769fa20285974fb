"""What a host of a shard keeps of who waits for its answers."""

from __future__ import annotations

import asyncio
import gc

from tests.broker.coordinators.conftest import Lab
from tests.broker.coordinators.paced_host import PacedHost, turns


def timers() -> list[asyncio.TimerHandle]:
    """Return all that a loop is to call later."""
    handles = [each for each in gc.get_objects() if isinstance(each, asyncio.TimerHandle)]
    return [each for each in handles if not each.cancelled()]


async def test_nothing_is_timed_for_who_was_answered(lab: Lab) -> None:
    paced = PacedHost(lab[1])
    paced.host.begin(lab.group, leader_epoch=1)
    await turns()
    before = timers()
    asked = lab.begin(paced.ask("told", 10))
    await turns()
    (timer,) = (each for each in timers() if each not in before)
    await paced.log.settle(0)
    assert await asked == "told"
    assert timer.cancelled()
    paced.host.end()
