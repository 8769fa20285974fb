"""Metric files on a real folder."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from pathlib import Path

import pytest

from protocol.metrics.rows import FailoverEventRow, FailoverStep, MetricRow, RequestRow, RowOrigin
from protocol.metrics.writer import MetricWriter


def event(detail: str) -> FailoverEventRow:
    return FailoverEventRow(
        at_ms=1,
        node="controller",
        failure_id="1-x-2",
        step=FailoverStep.LEADERS_ELECTED,
        topic_count=-1,
        partition_count=3,
        detail=detail,
    )


def request() -> RequestRow:
    return RequestRow(
        at_ms=2,
        interval_ms=1000,
        broker_id=7,
        api="Produce",
        request_count=1,
        error_count=0,
        p50_us=1,
        p99_us=1,
        max_us=1,
        received_bytes=10,
        sent_bytes=10,
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_rows_go_to_the_file_of_their_table_in_order(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000)

    rows: list[MetricRow] = [event("a"), request(), event("b")]
    await writer.write(rows)
    await writer.close()

    events = lines(tmp_path / "failover_event/v2/broker=7/1000-0.jsonl")
    assert [row["detail"] for row in events] == ["a", "b"]
    assert events[0]["step"] == "leaders_elected"
    assert lines(tmp_path / "request/v2/broker=7/1000-0.jsonl")[0]["api"] == "Produce"


async def test_every_line_begins_with_where_it_comes_from(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000, RowOrigin(cluster_id="c", run_id="r", seed=5))

    await writer.write([event("a")])
    await writer.close()

    (row,) = lines(tmp_path / "failover_event/v2/broker=7/1000-0.jsonl")
    assert list(row.items())[:4] == [
        ("cluster_id", "c"),
        ("run_id", "r"),
        ("seed", 5),
        ("at_ms", 1),
    ]


async def test_written_rows_are_visible_before_the_writer_closes(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000)

    await writer.write([event("a")])

    assert len(lines(tmp_path / "failover_event/v2/broker=7/1000-0.jsonl")) == 1
    await writer.close()


async def test_a_file_that_reached_its_size_is_followed_by_the_next_one(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000, rotate_bytes=10)

    await writer.write([event("a")])
    await writer.write([event("b")])
    await writer.close()

    folder = tmp_path / "failover_event/v2/broker=7"
    assert sorted(path.name for path in folder.iterdir()) == ["1000-0.jsonl", "1000-1.jsonl"]


async def test_a_write_after_close_begins_a_new_file(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000)

    await writer.write([event("a")])
    await writer.close()
    await writer.write([event("b")])
    await writer.close()

    assert lines(tmp_path / "failover_event/v2/broker=7/1000-1.jsonl")[0]["detail"] == "b"


async def test_nothing_is_created_without_a_row(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path / "dump"), 7, 1000)

    await writer.write([])
    await writer.close()

    assert not (tmp_path / "dump").exists()


async def test_a_row_of_no_table_is_refused(tmp_path: Path) -> None:
    writer = MetricWriter(str(tmp_path), 7, 1000)

    with pytest.raises(KeyError):
        await writer.write(["no row"])  # pyright: ignore[reportArgumentType]  # the point


async def test_a_write_that_is_cancelled_while_it_opens_its_file_leaves_none_open(
    tmp_path: Path,
) -> None:
    for steps in range(8):
        writer = MetricWriter(str(tmp_path), 7, 1000)
        writing = asyncio.get_running_loop().create_task(writer.write([event("cut")]))
        for _ in range(steps):
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await writer.close()
    gc.collect()  # an open file would warn here, and a warning is an error
    assert open_files(tmp_path) == []


def open_files(folder: Path) -> list[Path]:
    links = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    held = [Path(os.readlink(link)) for link in links]
    return [path for path in held if path.is_relative_to(folder)]
