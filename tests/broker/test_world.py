"""The real world: this machine's clock, files and threads."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random
from uuid import UUID

from broker.world import SystemClock, real_world
from protocol.cluster_file.spec import LogDirSpec
from tests.deadlines import DEADLINE_S


def test_the_clock_counts_milliseconds_since_1970():
    before = time.time_ns() // 1_000_000
    assert before <= SystemClock().now_ms() <= time.time_ns() // 1_000_000


async def test_a_disk_is_a_directory_with_its_capacity(tmp_path: Path):
    disk = real_world(Random(1)).disk(LogDirSpec(path=str(tmp_path), capacity_bytes=1_000))
    disk.prepare()
    assert disk.root == str(tmp_path)
    assert disk.usage().total_bytes == 1_000


async def test_a_worker_runs_jobs_elsewhere_and_answers_on_the_loop():
    worker = real_world(Random(1)).worker("/d1")
    answered: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()
    worker.run([lambda: 1, lambda: 2], answered.set_result)
    async with asyncio.timeout(DEADLINE_S):
        assert await answered == [1, 2]
    worker.abandon()


async def test_a_uuid_is_random_and_written_as_java_writes_one():
    world = real_world(Random(1))
    first, second = world.new_uuid(), world.new_uuid()
    assert first != second
    assert (len(first), UUID(first).version) == (36, 4)
