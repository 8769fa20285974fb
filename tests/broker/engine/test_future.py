"""A future log before and after it exists."""

from __future__ import annotations

import asyncio

from broker.core.future_log import Move
from broker.core.leader_epochs import LeaderEpochs
from broker.engine.future import FutureReplica
from tests.broker.engine.messages import ORDERS
from tests.broker.storage.builders import filled_log, inline_log_dir


async def test_a_future_log_found_on_disk_goes_on_at_its_end() -> None:
    log_dir = inline_log_dir()
    move = Move(ORDERS, source_dir="/a", target_dir="/b", leader_epoch=0, fallback_offset=0)
    future = FutureReplica(move, log_dir, started_at_ms=5)
    assert (future.log, future.log_end_offset) == (None, 0)
    log = filled_log(log_dir.disk, 7)
    future.attach(log, LeaderEpochs([(0, 0)]), high_watermark=99)
    assert (future.log_end_offset, future.high_watermark) == (7, 7)
    await asyncio.sleep(0)
