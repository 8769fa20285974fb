"""A future log before and after it exists."""

from __future__ import annotations

from broker.core.future_log import Move
from broker.engine.future import FutureReplica
from broker.engine.hosted_log import Place
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled


async def test_a_future_log_that_is_being_created_is_not_promoted(alone: Lab) -> None:
    log_dir = alone[1].log_dirs[alone[1].paths[0]]
    move = Move(ORDERS, source_dir="/a", target_dir="/b", leader_epoch=0, fallback_offset=0)
    future = FutureReplica(move, log_dir, None, started_at_ms=5)
    assert (future.log, future.is_promoting) == (None, False)


async def test_it_is_promoted_when_its_log_is(alone: Lab) -> None:
    node = await filled(alone)
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    assert future.log is not None
    assert not future.is_promoting
    future.log.place = Place.PROMOTING
    assert future.is_promoting
    future.log.place = Place.FUTURE
