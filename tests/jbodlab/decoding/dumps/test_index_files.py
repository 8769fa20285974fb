"""Dumping indexes; what Kafka prints of the same bytes is in tests/jbodlab/commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from broker.storage.indexes import AbortedTransaction, pack_aborted
from jbodlab.decoding.dumps.index_files import (
    dump_offset_index,
    dump_time_index,
    dump_transaction_index,
)
from jbodlab.decoding.dumps.row import DumpOptions, Findings, Row
from protocol.records.build import BatchOptions, NewRecord, build_batch

OPTIONS = DumpOptions()
SIZE = len(build_batch([NewRecord(b"v")]))


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Four batches of one record with timestamps 0 to 3; the path is without a suffix."""
    records = (NewRecord(b"v", timestamp_ms=offset) for offset in range(4))
    batches = [build_batch([one], BatchOptions(base_offset=at)) for at, one in enumerate(records)]
    path = tmp_path / "00000000000000000000"
    path.with_suffix(".log").write_bytes(b"".join(batches))
    return path


def texts(rows: Iterator[Row]) -> list[str]:
    return [row.text for row in rows]


def test_entries_that_fit_are_shown_and_zeros_at_the_end_are_not(segment: Path) -> None:
    file = segment.with_suffix(".index")
    file.write_bytes(pack(">iiii", 1, SIZE, 3, 3 * SIZE) + bytes(80))
    findings = Findings()
    assert texts(dump_offset_index(file, OPTIONS, findings)) == [
        f"offset: 1 position: {SIZE}",
        f"offset: 3 position: {3 * SIZE}",
    ]
    assert findings.lines() == []


@pytest.mark.parametrize("position", [7, 400_000])
def test_an_entry_that_points_nowhere_is_a_finding(segment: Path, position: int) -> None:
    file = segment.with_suffix(".index")
    file.write_bytes(pack(">ii", 1, position))
    findings = Findings()
    assert len(texts(dump_offset_index(file, OPTIONS, findings))) == 1
    assert findings.faults_count == 1


def test_a_time_index_needs_no_offset_index(segment: Path) -> None:
    file = segment.with_suffix(".timeindex")
    file.write_bytes(pack(">qiqi", 1, 1, 3, 3))
    findings = Findings()
    assert texts(dump_time_index(file, OPTIONS, findings)) == [
        "timestamp: 1 offset: 1",
        "timestamp: 3 offset: 3",
    ]
    assert findings.lines() == []


def test_files_set_aside_are_compared_with_one_another(segment: Path) -> None:
    for suffix in (".log", ".timeindex", ".index"):
        file = segment.with_suffix(suffix)
        file.touch()
        file.rename(file.with_name(file.name + ".deleted"))
    file = segment.with_name(segment.name + ".timeindex.deleted")
    file.write_bytes(pack(">qi", 3, 3))
    findings = Findings()
    assert len(texts(dump_time_index(file, OPTIONS, findings))) == 1
    assert findings.lines() == []


def test_a_segment_cut_in_a_header_is_a_finding_beside_the_index(segment: Path) -> None:
    segment.with_suffix(".log").write_bytes(bytes(90))
    file = segment.with_suffix(".timeindex")
    file.write_bytes(pack(">qi", 3, 3))
    findings = Findings()
    assert len(texts(dump_time_index(file, OPTIONS, findings))) == 1
    assert findings.faults_count == 1


def test_a_transaction_index_of_an_unknown_version_is_a_finding(segment: Path) -> None:
    file = segment.with_suffix(".txnindex")
    file.write_bytes(pack_aborted(AbortedTransaction(1, 2, 3, 4)) + pack(">h", 7) + bytes(32))
    findings = Findings()
    texts(dump_transaction_index(file, findings))
    assert findings.faults_count == 1
