"""A random story of a cluster: load, broken disks, cut and killed brokers, moves.

One trouble at a time.

Whatever happens, every record acknowledged to acks=all stays where it was acknowledged.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.batch import iterate_batches
from protocol.records.records import iterate_records
from tests.broker.engine.lab import Lab
from tests.broker.engine.node import Node

NOTICE_S = 0.05
"""How long the controller needs to hear of a trouble."""


class Story:
    """One run. ``tell`` it, then ``check``."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(seed)
        self.tps = [TopicPartition("orders", index) for index in range(3)]
        self.acknowledged: dict[TopicPartition, dict[int, str]] = {tp: {} for tp in self.tps}
        self.count = 0
        self.journal: list[str] = []

    async def tell(self, steps: int) -> None:
        for tp in self.tps:
            await self.lab.create(tp, min_insync_replicas="2")
        loads = [self.lab.begin(self._load(tp)) for tp in self.tps for _ in range(2)]
        troubles: Sequence[Callable[[int], Awaitable[None]]] = (
            self._cut,
            self._break_dir,
            self._kill,
            self._stop,
        )
        for _ in range(steps):
            broker_id = self.chance.randint(1, 3)
            if self.chance.random() < 0.4:
                await self._move(broker_id)
            else:
                await self.chance.choice(troubles)(broker_id)
            await self._pause()
        for load in loads:
            load.cancel()
        await asyncio.sleep(60)

    async def _pause(self) -> None:
        await asyncio.sleep(self.chance.choice((0.001, 0.01, 0.1, 1)))

    async def _load(self, tp: TopicPartition) -> None:
        while True:
            leader = self.lab.led[tp].leader
            node = self.lab.nodes.get(leader)
            await asyncio.sleep(self.chance.choice((0.001, 0.005, 0.02)))
            if node is None or not node.is_reachable:
                continue
            self.count += 1
            value = f"{self.count}-" + "x" * self.chance.randint(1, 200)
            result = await node.produce(value, tp=tp, timeout_ms=500)
            if result.error_code == ErrorCode.NONE:
                before = self.acknowledged[tp].setdefault(result.base_offset, value)
                assert before == value, f"{tp} {result.base_offset} was acknowledged twice"

    # Troubles, each over when its method returns.

    async def _cut(self, broker_id: int) -> None:
        self.journal.append(f"cut {broker_id}")
        self.lab[broker_id].is_reachable = False
        await self._without(broker_id)
        self.lab[broker_id].is_reachable = True
        await self._rejoin(broker_id)

    async def _break_dir(self, broker_id: int) -> None:
        node = self.lab[broker_id]
        path = self.chance.choice(node.paths)
        mode = self.chance.choice(("eio", "enospc", "read_only", "hang"))
        self.journal.append(f"{mode} {path}")
        if mode == "hang":
            node.workers[path].hangs = True
        else:
            node.disks[path].set_fault(mode)
        await asyncio.sleep(NOTICE_S)
        node.log_dirs[path].fail("noticed", OSError("broken"))
        await asyncio.sleep(NOTICE_S)
        lost = [tp for tp in self.tps if node.state.hosted.is_offline(tp)]
        await self._elect_without(broker_id, lost)
        await self._pause()
        await self._come_back(broker_id, is_clean=self.chance.random() < 0.5)

    async def _kill(self, broker_id: int) -> None:
        self.journal.append(f"kill {broker_id}")
        await self._come_back(broker_id, is_clean=False)

    async def _stop(self, broker_id: int) -> None:
        self.journal.append(f"stop {broker_id}")
        await self._come_back(broker_id, is_clean=True)

    async def _come_back(self, broker_id: int, *, is_clean: bool) -> None:
        """Restart a broker; its disks are whole again, with all that was written."""
        self.lab[broker_id].is_reachable = False
        await self._without(broker_id)
        await self.lab.restart(broker_id, is_clean=is_clean)
        await self._rejoin(broker_id)

    async def _without(self, broker_id: int) -> None:
        await asyncio.sleep(NOTICE_S)
        await self._elect_without(broker_id, self.tps)
        await self._pause()

    async def _elect_without(self, broker_id: int, tps: Sequence[TopicPartition]) -> None:
        for tp in tps:
            led = self.lab.led[tp]
            isr = [member for member in led.isr if member != broker_id]
            if not isr:
                continue  # It was the last one in sync: nobody else may lead.
            leader = led.leader if led.leader != broker_id else isr[0]
            await self.lab.elect(tp, leader, isr)

    async def _rejoin(self, broker_id: int) -> None:
        """The controller tells a broker that is back, then waits until nothing is missing."""
        for tp in self.tps:
            led = self.lab.led[tp]
            if led.leader == broker_id or led.leader not in led.isr:
                await self.lab.elect(tp, led.isr[0], led.isr)
            else:
                led.leader_epoch += 1
                led.partition_epoch += 1
                await self.lab.tell(tp)
        self.lab.tell_metadata()
        async with asyncio.timeout(120):
            while any(len(self.lab.led[tp].isr) < 3 for tp in self.tps):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def _move(self, broker_id: int) -> None:
        node: Node = self.lab[broker_id]
        wishes = [(self.chance.choice(self.tps), self.chance.choice(node.paths))]
        self.journal.append(f"move {wishes}")
        await node.engine.moves.alter(wishes)

    # The end.

    def check(self) -> None:
        for tp in self.tps:
            logs = {node.id: node.disk_bytes(tp) for node in self.lab.nodes.values()}
            assert len(set(logs.values())) == 1, f"{tp}: the replicas differ"
            found = {
                record.offset: (record.value or b"").decode()
                for position, header in iterate_batches(logs[1])
                for record in iterate_records(logs[1], position, header)
            }
            kept = {offset: found.get(offset) for offset in self.acknowledged[tp]}
            assert kept == self.acknowledged[tp], f"{tp}: acknowledged records are missing"
        for node in self.lab.nodes.values():
            names = [name for disk in node.memory.values() for name in disk.list_dir("")]
            logs_here = sorted(name for name in names if name.startswith("orders-"))
            assert logs_here == [str(tp) for tp in self.tps], f"broker {node.id}: {logs_here}"
