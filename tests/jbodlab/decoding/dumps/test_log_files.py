"""Dumping segments; what Kafka prints of the same bytes is in tests/jbodlab/commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jbodlab.decoding.dumps.log_files import base_offset_of, dump_log, map_file
from jbodlab.decoding.dumps.row import DumpOptions, Findings
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set

NAME = "00000000000000000100.log"


def dumped(path: Path, content: bytes, **options: Any) -> tuple[list[str], Findings]:
    file = path / NAME
    file.write_bytes(content)
    findings = Findings()
    return [row.text for row in dump_log(file, DumpOptions(**options), findings)], findings


def test_an_empty_segment_has_its_first_offset_only(tmp_path: Path) -> None:
    lines, findings = dumped(tmp_path, b"")
    assert lines == ["Log starting offset: 100"]
    assert findings.lines() == []


def test_gaps_between_records_are_told_and_are_no_fault(tmp_path: Path) -> None:
    batches = [build_batch([NewRecord(b"v")], BatchOptions(base_offset=at)) for at in (100, 105)]
    _, findings = dumped(tmp_path, b"".join(batches), is_deep=True)
    assert findings.lines()[1:] == ["  100 is followed by 105"]
    assert findings.faults_count == 0


def test_garbage_behind_the_batches_is_measured_and_told(tmp_path: Path) -> None:
    batch = build_batch([NewRecord(b"v")], BatchOptions(base_offset=100))
    lines, findings = dumped(tmp_path, bytes(batch) + bytes(40))
    assert lines[-1] == f"Found 40 invalid bytes at the end of {NAME}"
    assert findings.faults_count == 1


def test_records_that_cannot_be_opened_are_a_finding(tmp_path: Path) -> None:
    batch = build_batch([NewRecord(b"v")], BatchOptions(compression=Compression.GZIP))
    batch[-10:] = bytes(10)
    lines, findings = dumped(tmp_path, bytes(batch), is_deep=True)
    assert "isvalid: false" in lines[1]
    assert findings.faults_count == 1


def test_the_messages_in_a_wrapper_have_sums_of_their_own(tmp_path: Path) -> None:
    options = MessageSetOptions(magic=1, base_offset=100, compression=Compression.GZIP)
    messages = build_message_set([NewRecord(b"v")] * 2, options)
    lines, _ = dumped(tmp_path, bytes(messages), is_deep=True)
    assert [line.partition("isValid: ")[2][:4] for line in lines[2:]] == ["true", "true"]


def test_a_mapped_file_is_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / NAME
    file.write_bytes(b"content")
    assert bytes(map_file(file)) == b"content"
    assert base_offset_of(file) == 100
