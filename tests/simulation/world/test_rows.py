"""Metric rows of a simulated run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from protocol.metrics.rows import FailoverEventRow, FailoverStep, LogDirRow, RowOrigin
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop, run_world
from simulation.world.rows import NoRows, RowKeeper
from tests.simulation.world.worlds import small_cluster


def test_rows_of_a_run_are_kept_and_written_as_real_brokers_write_theirs(tmp_path: Path):
    keeper = RowKeeper()

    async def main(loop: SimLoop) -> None:
        cluster = SimCluster(loop, small_cluster(brokers=1), keeper.new_writer)
        await cluster.start()
        await asyncio.sleep(130)
        await cluster.stop()

    run_world(1, main)
    assert any(isinstance(row, LogDirRow) for one in keeper.kept for row in one.rows)
    asyncio.run(keeper.write(str(tmp_path), RowOrigin(seed=1)))
    (file,) = (tmp_path / "log_dir").rglob("*.jsonl")
    assert file.parent.name == "broker=1"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(row["broker_id"], row["seed"]) for row in rows} == {(1, 1)}


def test_rows_may_be_dropped(tmp_path: Path):
    writer = NoRows(str(tmp_path), 1, 0)
    row = FailoverEventRow(
        at_ms=1,
        node="broker-1",
        failure_id="1-x-7",
        step=FailoverStep.LOG_DIR_FAILED,
        topic_count=-1,
        partition_count=-1,
        detail="",
    )
    asyncio.run(writer.write([row]))
    asyncio.run(writer.close())
    assert list(tmp_path.iterdir()) == []
