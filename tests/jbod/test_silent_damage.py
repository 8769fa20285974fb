"""A disk that tells nobody: flipped bits, writes elsewhere, reads that end early, failed syncs.

Kafka's rules: an error of a log dir takes it offline, and a batch is believed when its CRC is right
where a follower appends and where a log is recovered. What nobody checks is in docs/faults.md.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from broker.storage.faults import FaultyDisk
from protocol.errors import ErrorCode
from protocol.faults.model import DiskMode, FileClass, Operation
from protocol.ids import TopicPartition
from protocol.records.batch import iterate_batches
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.node import Node
from tests.broker.storage.builders import disk_rule

NONE = ErrorCode.NONE
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHER = TopicPartition("other", 0)
MAGIC_POSITION = 16
"""Base offset, length and leader epoch lie before it, and outside of what the CRC covers."""


async def a_follower_that_was_away(lab: Lab, batches: int = 8) -> Node:
    """Let broker 2 miss what broker 1 has on its disk and no more in memory."""
    await lab.create(replicas=[1, 2])
    assert (await lab[1].produce("first")).error_code == NONE
    lab[2].is_reachable = False
    await lab.elect(ORDERS, 1, [1])
    for number in range(batches):
        assert (await lab[1].produce(f"{number}" * 200)).error_code == NONE
    lab[1].state.tails.drop_older_than(1 << 62)
    return lab[1]


def draws(disk: FaultyDisk, chance: random.Random) -> None:
    """Have the faults of a disk drawn by ``chance``."""
    disk.in_force.chance = chance  # The lab's own is of no use here.


async def come_back(lab: Lab) -> None:
    lab[2].is_reachable = True
    await lab.tell(ORDERS)


@pytest.mark.parametrize("seed", range(25))
async def test_a_follower_takes_no_batch_whose_bits_were_flipped_on_the_way(
    lab: Lab, seed: int
) -> None:
    """What it appends is what was produced, and it gets the rest when the disk reads well again."""
    leader = await a_follower_that_was_away(lab)
    whole = leader.disk_bytes()
    disk = leader.disks[await leader.dir_of() or ""]
    draws(disk, _CoveredBits(seed, whole))
    rule = disk.set_fault("bit_flip", times=5)
    await come_back(lab)
    await asyncio.sleep(0.2)
    assert rule.hits > 0
    copied = lab[2].disk_bytes()
    assert copied == whole[: len(copied)]
    disk.clear()
    await asyncio.sleep(30)
    assert lab[2].disk_bytes() == whole
    assert leader.events.failed == []


async def test_a_consumer_is_not_told_that_a_batch_it_cannot_read_is_not_there(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    alone[1].state.tails.drop_older_than(1 << 62)
    disk = alone[1].disks[await alone[1].dir_of() or ""]
    draws(disk, _ChosenBit(MAGIC_POSITION * 8))
    disk.set_fault("bit_flip", files=(FileClass.LOG,))
    assert (await alone[1].fetch(0)).error_code == ErrorCode.CORRUPT_MESSAGE
    disk.clear()
    assert offsets_of(await alone[1].fetch(0)) == [0]


class _CoveredBits(random.Random):
    """Flips bits that a CRC covers, of reads that go to the end of ``content``."""

    def __init__(self, seed: int, content: bytes) -> None:
        super().__init__(seed)
        self._end = len(content)
        self._heads = [position for position, _ in iterate_batches(content)]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        before = self._end - start // 8
        while True:
            bit = super().randrange(start, stop, step)
            position = before + bit // 8
            head = max(head for head in self._heads if head <= position)
            if position - head >= MAGIC_POSITION:
                return bit


class _ChosenBit(random.Random):
    """Flips always the same bit."""

    def __init__(self, bit: int) -> None:
        super().__init__(0)
        self._bit = bit

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del start, stop, step
        return self._bit


async def test_a_read_that_ends_early_is_an_error_of_the_disk(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a" * 300)
    alone[1].state.tails.drop_older_than(1 << 62)
    path = await alone[1].dir_of() or ""
    alone[1].disks[path].set_fault("short_read", files=(FileClass.LOG,))
    assert (await alone[1].fetch(0)).error_code == STORAGE
    assert [told.path for told in alone[1].events.failed] == [path]


async def test_a_failed_sync_takes_the_log_dir_offline_and_is_never_tried_again(lab: Lab) -> None:
    """The pages are clean after it: a second sync would succeed and nothing would be there.

    PostgreSQL learned it in 2018. What was acknowledged by both brokers is on the other one.
    """
    await lab.create(replicas=[1, 2], flush_messages="3", min_insync_replicas="2")
    leader, path = lab[1], await lab[1].dir_of() or ""
    rule = disk_rule(mode=DiskMode.SYNC_FAILURE, from_nth=3, files=(FileClass.LOG,))
    leader.disks[path].set_rules([rule])
    acknowledged = 0
    for number in range(20):
        result = await leader.produce(f"{number}", timeout_ms=200)
        if result.error_code != NONE:
            break
        acknowledged += 1
    assert rule.hits == 1
    assert [told.path for told in leader.events.failed] == [path]
    assert (await leader.produce("b")).error_code == STORAGE
    await asyncio.sleep(120)
    assert (rule.matches, rule.hits) == (3, 1)

    await lab.elect(ORDERS, 2, [2])
    assert await lab[2].log_end() >= acknowledged
    again = await lab.restart(1, is_clean=False)
    assert again.id == 1
    await lab.tell(ORDERS)
    await asyncio.sleep(5)
    assert lab[1].disk_bytes() == lab[2].disk_bytes()
    assert offsets_of(await lab[2].fetch(0))[:acknowledged] == list(range(acknowledged))


@pytest.mark.parametrize("seed", range(10))
async def test_writes_that_went_elsewhere_are_found_by_recovery_and_fetched_again(
    lab: Lab, seed: int
) -> None:
    """Neither the log that misses them nor the one that has them instead keeps a wrong byte."""
    for tp in (ORDERS, OTHER):
        await lab.create(tp, replicas=[1, 2])
    node = lab[1]
    for tp in (ORDERS, OTHER):
        await begin_in(node, tp, node.paths[0])
    disk = node.disks[node.paths[0]]
    draws(disk, random.Random(seed))
    rule = disk.set_fault(
        "misdirected_write",
        operations=(Operation.APPEND,),
        files=(FileClass.LOG,),
        from_nth=4,
        times=3,
    )
    for number in range(10):
        for tp in (ORDERS, OTHER):
            assert (await node.produce(f"{number}" * 50, tp=tp)).error_code == NONE
    assert rule.hits == 3
    for tp in (ORDERS, OTHER):
        await lab.elect(tp, 2, [2])
    await lab.restart(1, is_clean=False)
    await lab.tell(ORDERS, OTHER)
    await asyncio.sleep(30)
    for tp in (ORDERS, OTHER):
        assert await lab[2].log_end(tp) == 10
        assert lab[1].disk_bytes(tp) == lab[2].disk_bytes(tp)


async def begin_in(node: Node, tp: TopicPartition, path: str) -> None:
    """Have a partition in one log dir, wherever it was placed."""
    if await node.dir_of(tp) != path:
        await node.engine.moves.alter([(tp, path)])
        await asyncio.sleep(30)
    assert await node.dir_of(tp) == path
