"""How far the tables of a stream are behind: ``python -m benchmarks.analytics_stream``.

Rows are appended to a dump at an even rate while ``python -m analytics.follow`` follows it. How old
the latest row in its Parquet files is, is looked at four times a second, after a warm-up.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import duckdb

from protocol.metrics.rows import ReplicaRow, RowOrigin
from protocol.metrics.writer import MetricWriter

WRITES_PER_S: Final = 10
_LOOK_EVERY_S: Final = 0.25
_ORIGIN: Final = RowOrigin(cluster_id="made-up", run_id="run")


@click.command()
@click.option("--rate", default=10_000, show_default=True, help="Rows a second.")
@click.option("--seconds", default=30, show_default=True, help="How long it is looked at.")
@click.option("--warm-up", default=60, show_default=True, help="Seconds before that.")
@click.option("--every", default="1 second", show_default=True, help="Between two micro-batches.")
def main(*, rate: int, seconds: int, warm_up: int, every: str) -> None:
    """Measure how old the latest row in the tables of a stream is."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-stream-") as folder:
        dump, out = Path(folder, "dump"), Path(folder, "out")
        dump.mkdir()
        with _followed(dump, out, every):
            ages_s = asyncio.run(_ages(dump, out, rate, warm_up, seconds))
    if not ages_s:
        raise click.ClickException(f"no row showed in {warm_up + seconds} s")
    click.echo(
        f"{rate:,} rows a second: the latest row that shows is {statistics.median(ages_s):.1f} s "
        f"old in the median, {max(ages_s):.1f} s at worst, of {len(ages_s)} looks"
    )


@contextmanager
def _followed(dump: Path, out: Path, every: str) -> Generator[None]:
    options = ["--dump", str(dump), "--out", str(out), "--every", every]
    process = subprocess.Popen([sys.executable, "-m", "analytics.follow", *options])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


async def _ages(dump: Path, out: Path, rate: int, warm_up_s: int, seconds: int) -> list[float]:
    ages_s: list[float] = []
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_write(dump, rate, warm_up_s + seconds))
        await asyncio.sleep(warm_up_s)
        while not writing.done():
            latest_ms = await asyncio.to_thread(_latest_ms, out)
            if latest_ms is not None:
                ages_s.append(datetime.now(UTC).timestamp() - latest_ms / 1000)
            await asyncio.sleep(_LOOK_EVERY_S)
    return ages_s


async def _write(dump: Path, rate: int, seconds: int) -> None:
    writer = MetricWriter(str(dump), 1, 0, _ORIGIN)
    began = time.monotonic()
    for number in range(seconds * WRITES_PER_S):
        await asyncio.sleep(max(0.0, began + number / WRITES_PER_S - time.monotonic()))
        now_ms = int(datetime.now(UTC).timestamp() * 1000)
        await writer.write(_row(now_ms, each) for each in range(rate // WRITES_PER_S))
    await writer.close()


def _row(at_ms: int, partition: int) -> ReplicaRow:
    return ReplicaRow(
        at_ms=at_ms,
        interval_ms=1000 // WRITES_PER_S,
        broker_id=1,
        topic="orders",
        partition=partition,
        log_dir="/d1",
        is_leader=True,
        is_future=False,
        leader_epoch=1,
        log_start_offset=0,
        log_end_offset=at_ms,
        high_watermark=at_ms,
        isr_count=3,
        is_under_min_isr=False,
        size_bytes=at_ms,
        lag=0,
    )


def _latest_ms(out: Path) -> int | None:
    """Return the time of the latest row of the latest micro-batch; None before there is one."""
    batches = sorted(
        out.glob("rows/replica/run_id=*/day=*/batch=*"), key=lambda path: int(path.name[6:])
    )
    files = [str(file) for file in batches[-1].glob("*.parquet")] if batches else []
    if not files:
        return None
    [(latest_ms,)] = duckdb.execute("SELECT max(at_ms) FROM read_parquet(?)", [files]).fetchall()
    return latest_ms


if __name__ == "__main__":
    main()
