"""The ends of metric rows, as nodes append to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.http_api.dump_tail import DumpTail
from protocol.metrics.rows import FailoverEventRow, FailoverStep, RowOrigin
from protocol.metrics.writer import MetricWriter


def row(number: int) -> FailoverEventRow:
    return FailoverEventRow(
        at_ms=number,
        node="broker-1",
        failure_id="1-a-1",
        step=FailoverStep.LOG_DIR_FAILED,
        topic_count=1,
        partition_count=1,
        detail="x" * number,
    )


def newest_file(folder: Path) -> Path:
    """Return the one file of broker 1."""
    (file,) = folder.glob("*/*/broker=1/*.jsonl")
    return file


@pytest.mark.parametrize(("is_late", "first"), [(False, []), (True, [1, 2])])
async def test_rows_are_read_once_and_only_whole(
    is_late: bool, first: list[int], tmp_path: Path
) -> None:
    tail = DumpTail(tmp_path, FailoverEventRow, is_late=is_late)
    writer = MetricWriter(str(tmp_path), 1, 5, RowOrigin(run_id="r"))
    await writer.write([row(1), row(2)])

    def read() -> list[int]:
        return [each.at_ms for each in tail.new_rows()]

    assert read() == first
    await writer.write([row(3)])
    other = MetricWriter(str(tmp_path), 2, 5, RowOrigin(run_id="r"))
    await other.write([row(4)])
    await other.close()
    assert read() == [3, 4]
    assert read() == []
    await writer.write([row(5)])
    await writer.close()
    file = newest_file(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    assert read() == []
    file.write_bytes(whole)
    assert read() == [5]


def test_a_dump_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert DumpTail(tmp_path / "nowhere", FailoverEventRow).new_rows() == []
