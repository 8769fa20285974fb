"""What went wrong with disks in another implementation of the protocol, told as whole stories."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchRequest
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of

NONE = ErrorCode.NONE
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHER = TopicPartition("other", 0)
LONG_S = 600


@pytest.mark.parametrize("isr", [[1], [1, 2, 3]])
async def test_a_leader_that_starts_with_its_broken_dir_has_no_empty_replica_elsewhere(
    lab: Lab, isr: list[int]
) -> None:
    """There it was made empty in a good dir, still led, and its followers truncated."""
    await lab.create()
    for number in range(20):
        assert (await lab[1].produce(str(number))).error_code == NONE
    await asyncio.sleep(1)
    kept = lab[2].disk_bytes()
    broken = await lab[1].dir_of() or ""
    lab[1].disks[broken].set_fault("eio")
    assert (await lab[1].produce("lost")).error_code == STORAGE
    lab[1].memory[broken].write_file("meta.properties", b"version=7\n")
    node = await lab.restart(1, is_clean=False)
    codes = await lab.elect(ORDERS, 1, isr)
    await asyncio.sleep(60)
    assert codes[1] == STORAGE
    assert await node.dir_of() is None
    assert not any(disk.exists("orders-0") for root, disk in node.memory.items() if root != broken)
    assert (await node.produce("more")).error_code == STORAGE
    for follower in (2, 3):
        assert lab[follower].disk_bytes() == kept
    assert (await lab.elect(ORDERS, 2, [2, 3]))[2] == NONE
    assert offsets_of(await lab[2].fetch(0)) == list(range(20))


@pytest.mark.parametrize("is_cached", [True, False])
@pytest.mark.parametrize("max_bytes", [1, 150, 400, 1_000, 1_500, 4_000])
async def test_a_budget_that_ends_inside_a_segment_skips_nothing(
    alone: Lab, max_bytes: int, is_cached: bool
) -> None:
    """There the next segment followed, and a consumer missed a third of the records."""
    await alone.create(replicas=[1], segment_bytes="1024")
    node = alone[1]
    for number in range(60):
        assert (await node.produce("x" * (number * 7 % 90))).error_code == NONE
    if not is_cached:
        node.state.tails.drop_older_than(1 << 62)
    read: list[int] = []
    while len(read) < 60:
        read += offsets_of(await node.fetch(len(read), max_bytes=max_bytes))
        assert read == list(range(len(read)))
    names = [name for name in node.memory[node.paths[0]].list_dir("orders-0") if "log" in name]
    assert len(names) > 5, "there is more than one segment"


async def test_new_partitions_avoid_a_dir_that_failed_empty(alone: Lab) -> None:
    """There a listing that failed counted as the emptiest dir."""
    node = alone[1]
    failed, *good = node.paths
    node.log_dirs[failed].fail("command", OSError(5, "broken"))
    tps = [TopicPartition("orders", number) for number in range(6)]
    for tp in tps:
        await alone.create(tp, replicas=[1])
        assert (await node.produce("a", tp=tp)).error_code == NONE
    placed = [await node.dir_of(tp) for tp in tps]
    assert sorted(set(placed), key=str) == sorted(good)
    assert max(placed.count(path) for path in good) - min(map(placed.count, good)) <= 1


async def test_a_follower_with_a_broken_dir_leaves_the_isr_and_stays_calm(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """There it retried without a pause, stayed in the Isr, and acks=all timed out."""
    await lab.create()
    await lab.create(OTHER)
    broken = await lab[2].dir_of() or ""
    assert broken != await lab[2].dir_of(OTHER)
    lab[2].disks[broken].set_fault("eio")
    assert (await lab[1].produce("b", acks=1)).error_code == NONE
    await asyncio.sleep(60)
    assert sorted(lab.led[ORDERS].isr) == [1, 3]
    caplog.clear()
    lab.requests.clear()
    await asyncio.sleep(LONG_S)
    assert (await lab[1].produce("c")).error_code == NONE
    assert (await lab[1].produce("c", tp=OTHER)).error_code == NONE
    fetches = [1 for own, _, sent in lab.requests if own == 2 and isinstance(sent, FetchRequest)]
    assert len(fetches) == pytest.approx(2 * LONG_S, rel=0.01), "as many as an idle follower sends"
    assert [line for line in caplog.records if "orders-0" in line.getMessage()] == []
    assert sorted(lab.led[OTHER].isr) == [1, 2, 3]
