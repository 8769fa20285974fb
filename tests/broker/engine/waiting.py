"""A story of requests that wait at a leader while roles, links and logs change around them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from broker.engine.types import FetchParams, FetchPart, FetchResult
from protocol.errors import ErrorCode
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.virtual_loop import VirtualLoop

SOON_S = 0.005
"""Round trips of the lab's network; anything that was overlooked takes hundreds of ms more."""
MAX_WAIT_MS = 60_000
TURNS_MAX = 400
"""Turns of the loop in a second in which nothing happens but followers' polls."""

STEPS = ("produce", "fetch", "cut", "restore", "elect", "shrink", "wait")


class CountingLoop(VirtualLoop):
    """Counts its turns."""

    turns = 0

    def _run_once(self) -> None:
        self.turns += 1
        super()._run_once()  # type: ignore[misc] -- of asyncio's own loop


class Waiting:
    """One leader, one follower, and requests that wait at the leader of the moment."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.fetches: list[tuple[int, int, asyncio.Task[list[FetchResult]]]] = []
        self.produces: list[tuple[int, int, asyncio.Task[Any]]] = []

    @property
    def leader(self) -> int:
        return self.lab.led[ORDERS].leader

    async def take(self, what: str) -> None:
        lab, led = self.lab, self.lab.led[ORDERS]
        other = 3 - self.leader
        match what:
            case "produce":
                task = lab.begin(lab[self.leader].produce("x", timeout_ms=MAX_WAIT_MS))
                self.produces.append((self.leader, led.leader_epoch, task))
            case "fetch":
                self._begin_fetch()
            case "cut":
                lab[other].is_reachable = False
            case "restore":
                lab[other].is_reachable = True
                await lab.tell(ORDERS, to=[other])
            case "elect" if other in led.isr and lab[other].is_reachable:
                await lab.elect(ORDERS, other, led.isr)
            case "shrink":
                await lab.elect(ORDERS, self.leader, [self.leader])
            case _:
                await asyncio.sleep(1)

    def _begin_fetch(self) -> None:
        node = self.lab[self.leader]
        offset = node.replica().partition.high_watermark
        part = FetchPart(ORDERS, bytes(16), offset, -1, -1, -1, 1 << 20)
        params = FetchParams(max_wait_ms=MAX_WAIT_MS, min_bytes=1)
        task = self.lab.begin(node.engine.fetches.fetch(params, [part]))
        self.fetches.append((self.leader, offset, task))

    def check_nobody_was_overlooked(self) -> None:
        for broker_id, offset, task in self.fetches:
            if not task.done():
                partition = self.lab[broker_id].replica().partition
                assert partition.is_leader, "a fetch waits at who does not lead"
                assert offset == partition.high_watermark, "a fetch waits although there is data"
        for broker_id, leader_epoch, task in self.produces:
            if not task.done():
                partition = self.lab[broker_id].replica().partition
                assert partition.is_leader, "a produce waits at who does not lead"
                assert partition.leader_epoch >= leader_epoch
                assert partition.high_watermark < partition.next_offset

    async def end(self) -> None:
        """Make everything well: one more record answers all that still wait."""
        lab = self.lab
        lab[3 - self.leader].is_reachable = True
        await lab.elect(ORDERS, self.leader, [self.leader])
        result = await lab[self.leader].produce("last")
        assert result.error_code == ErrorCode.NONE
        await asyncio.sleep(SOON_S)
        for _, _, task in (*self.fetches, *self.produces):
            assert task.done()
        for _, offset, task in self.fetches:
            (answer,) = task.result()
            if answer.error_code == ErrorCode.NONE:
                assert offsets_of(answer)[0] <= offset


async def run(steps: Sequence[str]) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CountingLoop)
    async with Lab.running(broker_count=2, dir_count=1) as lab:
        await lab.create(replicas=[1, 2])
        waiting = Waiting(lab)
        for what in steps:
            await waiting.take(what)
            await asyncio.sleep(SOON_S)
            waiting.check_nobody_was_overlooked()
        before = loop.turns
        await asyncio.sleep(1)
        assert loop.turns - before < TURNS_MAX, "something spins"
        await waiting.end()
