"""What a move reads: everything once, whatever happens to the log meanwhile."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from broker.engine.move.move_source import MoveSource
from broker.storage.log_reader import LogRead
from protocol.errors import ErrorCode
from protocol.records.batch import Compression, iterate_batches
from protocol.records.build import NewRecord
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from tests.broker.engine.lab import Lab, appended
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, until_moved
from tests.broker.engine.node import Node


async def filled(lab: Lab, configs: dict[str, str] | None = None) -> Node:
    await lab.create(ORDERS, replicas=[1], **(configs or {}))
    for number in range(60):
        await lab[1].produce("x" * 200 + str(number))
    return lab[1]


def source_of(node: Node, read_bytes: int = 3000) -> MoveSource:
    return MoveSource(node.replica(), read_bytes, 8000)


def offsets_in(read: LogRead) -> list[int]:
    return [one.base_offset for data in read.buffers for _, one in iterate_batches(data)]


async def all_from(source: MoveSource, offset: int) -> list[int]:
    found: list[int] = []
    while (read := await source.read(offset)).size_bytes:
        found += offsets_in(read)
        offset = read.next_offset
    return found


@pytest.mark.parametrize("config", [{}, {"segment.bytes": "2048", "index.interval.bytes": "256"}])
async def test_it_gives_every_batch_once(alone: Lab, config: dict[str, str]) -> None:
    node = await filled(alone, config)
    assert await all_from(source_of(node), 0) == list(range(60))
    assert await all_from(source_of(node), 33) == list(range(33, 60))
    assert await all_from(source_of(node, read_bytes=1), 50) == list(range(50, 60))


async def test_the_logs_own_thread_reads_nothing_that_an_index_tells_of(alone: Lab) -> None:
    node = await filled(alone, {"index.interval.bytes": "256"})
    log_dir = node.replica().log.dir
    before = (log_dir.queue.jobs_count, log_dir.background_queue.jobs_count)
    source = source_of(node)
    offset = 0
    for _ in range(3):
        offset = (await source.read(offset)).next_offset
    assert (log_dir.queue.jobs_count, log_dir.background_queue.jobs_count) == (
        before[0] + 1,
        before[1] + 3,
    )


async def test_offsets_outside_the_log_give_nothing(alone: Lab) -> None:
    node = await filled(alone)
    node.logs.raise_log_start(node.replica(), 15)
    source = source_of(node)
    assert (await source.read(14)).size_bytes == 0
    assert (await source.read(60)) == LogRead((), 0, 60)


async def test_no_disk_is_asked_for_what_the_log_does_not_have(alone: Lab) -> None:
    node = await filled(alone)
    node.logs.raise_log_start(node.replica(), 5)
    await asyncio.sleep(0.01)
    queue = node.replica().log.queue
    before = queue.jobs_count
    source = source_of(node)
    for offset in (4, 60, 61):
        assert (await source.read(offset)).size_bytes == 0
    assert queue.jobs_count == before


async def test_records_deleted_while_it_looks_for_them_give_nothing(alone: Lab) -> None:
    node = await filled(alone)
    reading = alone.begin(source_of(node, read_bytes=1).read(5))
    await asyncio.sleep(0)
    node.logs.raise_log_start(node.replica(), 15)
    assert (await reading).size_bytes == 0


async def test_what_was_cut_meanwhile_is_read_by_the_logs_own_thread(alone: Lab) -> None:
    node = await filled(alone, {"index.interval.bytes": "256"})
    source = source_of(node)
    first = await source.read(0)
    await node.logs.truncate(node.replica(), first.next_offset + 2)
    assert await all_from(source, first.next_offset) == [first.next_offset, first.next_offset + 1]


async def test_another_offset_than_the_next_one_is_looked_for_anew(alone: Lab) -> None:
    node = await filled(alone, {"index.interval.bytes": "256"})
    source = source_of(node)
    await source.read(0)
    assert offsets_in(await source.read(40))[0] == 40


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
@pytest.mark.parametrize("magic", [0, 1])
async def test_a_log_that_begins_in_an_old_format_is_moved(
    alone: Lab, magic: int, codec: Compression
) -> None:
    node = alone[1]
    await alone.create(replicas=[1])
    records = [NewRecord(b"old", timestamp_ms=at) for at in range(3)]
    old = build_message_set(records, MessageSetOptions(magic=magic, compression=codec))
    replica = node.replica()
    on_written = partial(appended, node, 3)
    await replica.log.append([old], 3, on_written, now_ms=node.state.wall_ms())
    await node.produce("new")
    stored = node.disk_bytes()
    assert await begin(node, node.paths[1]) == ErrorCode.NONE
    await until_moved(node, node.paths[1])
    assert node.disk_bytes() == stored
