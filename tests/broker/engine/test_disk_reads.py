"""Reads from disks that hang hold up nobody for long."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.types import FetchParams, FetchPart
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of

OTHER = TopicPartition("other", 0)


def now_s() -> float:
    return asyncio.get_running_loop().time()


def part(tp: TopicPartition = ORDERS) -> FetchPart:
    return FetchPart(tp, bytes(16), 0, -1, -1, -1, 1 << 20)


async def test_a_disk_that_hangs_holds_up_only_its_own_partitions(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    for tp in (ORDERS, OTHER):
        await alone[1].produce("a", tp=tp, acks=1)
    alone[1].state.tails.drop_older_than(1 << 62)
    alone[1].workers[await alone[1].dir_of() or ""].hangs = True
    params = FetchParams(max_wait_ms=0, max_bytes=1 << 21)
    before_s = now_s()
    hung, good = await alone[1].engine.fetch(params, [part(), part(OTHER)])
    assert (hung.error_code, offsets_of(hung), offsets_of(good)) == (ErrorCode.NONE, [], [0])
    assert now_s() - before_s == pytest.approx(0.5)
    before_s = now_s()
    hung, good = await alone[1].engine.fetch(params, [part(), part(OTHER)])
    assert (offsets_of(hung), offsets_of(good)) == ([], [0])
    assert now_s() - before_s < 0.01
