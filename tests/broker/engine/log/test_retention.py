"""Segments that go on their own, on leaders and followers, and what is left of them."""

from __future__ import annotations

import asyncio

import pytest

from protocol.errors import ErrorCode
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.node import Node

SMALL = "200"
"""Bytes in a segment: two records each."""


def files(node: Node, suffix: str) -> list[str]:
    return [
        name
        for disk in node.memory.values()
        if disk.exists(str(ORDERS))
        for name in disk.list_dir(str(ORDERS))
        if name.endswith(suffix)
    ]


async def fill(node: Node, count: int = 10) -> None:
    for number in range(count):
        await node.produce(f"{number}")


async def test_by_size_the_oldest_segments_go_at_the_next_look(lab: Lab) -> None:
    await lab.create(segment_bytes=SMALL, retention_bytes="300", file_delete_delay_ms="5000")
    await fill(lab[1])
    before = len(files(lab[1], ".log"))
    await asyncio.sleep(31)
    for node in lab.nodes.values():
        partition = node.replica().partition
        assert partition.log_start_offset == node.replica().log.files.segment_base_offsets[0] > 0
        assert partition.log_start_offset == partition.epochs.entries[0].start_offset
        assert 300 <= node.replica().log.files.size_bytes < 600
        assert files(node, ".deleted") != []
        assert len(files(node, ".log")) < before
    await asyncio.sleep(6)
    assert files(lab[1], ".deleted") == []
    start = lab[1].replica().partition.log_start_offset
    assert (await lab[1].fetch(start - 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets_of(await lab[1].fetch(start))[0] == start


async def test_by_age_everything_goes_and_the_log_goes_on(lab: Lab) -> None:
    await lab.create(segment_bytes=SMALL, retention_ms="1000")
    await fill(lab[1])
    await asyncio.sleep(31)
    for node in lab.nodes.values():
        partition = node.replica().partition
        assert (partition.log_start_offset, partition.log_end_offset) == (10, 10)
        assert node.replica().log.files.size_bytes == 0
    assert (await lab[1].produce("later")).base_offset == 10
    assert offsets_of(await lab[1].fetch(10)) == [10]


async def test_what_is_not_committed_stays(lab: Lab) -> None:
    await lab.create(segment_bytes=SMALL, retention_bytes="0", min_insync_replicas="3")
    await fill(lab[1])
    lab[3].is_reachable = False
    for number in range(10):
        await lab[1].produce(f"late {number}", acks=1)
    await asyncio.sleep(31)
    partition = lab[1].replica().partition
    assert partition.high_watermark == 10
    assert 8 <= partition.log_start_offset <= 10


async def test_a_compacted_topic_keeps_what_is_old(alone: Lab) -> None:
    await alone.create(
        replicas=[1], segment_bytes=SMALL, retention_bytes="0", cleanup_policy="compact"
    )
    await fill(alone[1])
    await asyncio.sleep(31)
    assert alone[1].replica().partition.log_start_offset == 0


async def test_a_moving_replica_keeps_its_segments_and_loses_them_afterwards(alone: Lab) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="0")
    await fill(alone[1])
    alone[1].state.cleaning_pauses.pause(ORDERS)
    await asyncio.sleep(31)
    assert alone[1].replica().partition.log_start_offset == 0
    alone[1].state.cleaning_pauses.resume(ORDERS)
    await asyncio.sleep(300)
    assert alone[1].replica().partition.log_start_offset == 10


async def test_a_disk_is_not_asked_about_logs_that_are_empty(alone: Lab) -> None:
    await alone.create(replicas=[1])
    queues = [log_dir.queue for log_dir in alone[1].log_dirs.values()]

    async def asked_at(second: int) -> list[int]:
        await asyncio.sleep(1_000 + second - 0.01 - asyncio.get_running_loop().time())
        before = [queue.jobs_count for queue in queues]
        await asyncio.sleep(0.02)
        return [queue.jobs_count - count for queue, count in zip(queues, before, strict=True)]

    empty, *others = await asked_at(30)
    assert [empty] * 2 == others
    await alone[1].produce("a")
    used, *others = await asked_at(330)
    assert [used - 1] * 2 == others


async def test_removed_segments_are_gone_after_a_restart(alone: Lab) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="0")
    await fill(alone[1])
    await asyncio.sleep(31)
    assert files(alone[1], ".deleted") != []
    node = await alone.restart(1)
    await alone.elect(ORDERS, 1, [1])
    assert files(node, ".deleted") == []
    partition = node.replica().partition
    assert (partition.log_start_offset, partition.log_end_offset) == (10, 10)


async def test_a_log_dir_that_fails_before_the_files_go_keeps_them(alone: Lab) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="0")
    await fill(alone[1])
    await asyncio.sleep(31)
    alone[1].replica().log.dir.fail("test", OSError("broken"))
    await asyncio.sleep(61)
    assert files(alone[1], ".deleted") != []


@pytest.mark.parametrize("look", [30, 330])
async def test_the_first_look_comes_after_the_initial_delay(alone: Lab, look: int) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="0")
    if look > 30:
        await asyncio.sleep(31)
    await fill(alone[1])
    await asyncio.sleep(1_000 + look - asyncio.get_running_loop().time() - 1)
    assert alone[1].replica().partition.log_start_offset == 0
    await asyncio.sleep(2)
    assert alone[1].replica().partition.log_start_offset == 10


@pytest.mark.kafka_bug("KAFKA-16424")
@pytest.mark.scenario(94)
async def test_what_waits_for_removal_is_left_behind_by_a_move(alone: Lab) -> None:
    node = alone[1]
    await alone.create(
        replicas=[1], retention_bytes="1024", segment_bytes="1024", file_delete_delay_ms="10000"
    )
    await fill(node, 200)
    await asyncio.sleep(30.5)
    assert files(node, ".deleted") != []
    target = next(path for path in node.paths if path != node.replica().log_dir)
    start = node.replica().partition.log_start_offset
    assert (await node.engine.moves.alter([(ORDERS, target)]))[ORDERS] == 0
    await asyncio.sleep(5)
    assert node.replica().log_dir == target
    assert node.replica().log.files.log_start_offset == start > 0
    assert files(node, ".deleted") == []
    await asyncio.sleep(60)
    assert files(node, ".deleted") == []


@pytest.mark.kafka_bug("KAFKA-16588")
@pytest.mark.scenario(268)
@pytest.mark.parametrize(("delay_ms", "left"), [("0", False), (str(2**62), True)])
async def test_removed_files_go_at_once_or_never_as_the_topic_says(
    alone: Lab, delay_ms: str, *, left: bool
) -> None:
    await alone.create(
        replicas=[1], segment_bytes=SMALL, retention_bytes="0", file_delete_delay_ms=delay_ms
    )
    await fill(alone[1])
    await asyncio.sleep(100)
    assert bool(files(alone[1], ".deleted")) is left


async def test_a_look_removes_what_may_go_and_is_no_news_where_that_is_nothing(alone: Lab) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="350")
    await fill(alone[1], 5)
    replica = alone[1].replica()
    assert len(replica.log.files.segment_base_offsets) == 3
    looked = alone[1].retention.look(replica)
    assert looked is not None
    assert await looked is None
    alone[1].topic_configs["orders"]["retention.bytes"] = "200"
    looked = alone[1].retention.look(replica)
    assert looked is not None
    retained = await looked
    assert retained is not None
    assert (retained.expired.total, retained.log_start_offset) == (1, 2)
    await asyncio.sleep(0)
    assert replica.partition.log_start_offset == 2


async def test_a_log_dir_that_fails_while_its_logs_are_looked_at_removes_nothing(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1], segment_bytes=SMALL, retention_bytes="0")
    await fill(alone[1])
    replica = alone[1].replica()
    alone[1].workers[replica.log_dir].delay_s = 1
    alone[1].retention.check()
    await asyncio.sleep(0.5)
    replica.log.dir.fail("test", OSError("broken"))
    await asyncio.sleep(5)
    assert files(alone[1], ".deleted") == []
    assert replica.partition.log_start_offset == 0
