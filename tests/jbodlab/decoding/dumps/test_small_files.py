"""Dumping checkpoints, identity and producer snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.core.producers import ProducerEntry
from broker.storage.layout import render_clean_shutdown, render_partition_metadata
from broker.storage.meta_properties import MetaProperties, render_meta_properties
from broker.storage.producer_snapshot import pack_snapshot
from jbodlab.decoding.dumps import small_files
from jbodlab.decoding.dumps.row import Findings

FINDINGS = Findings()


def test_a_producer_with_a_batch_and_one_known_by_its_marker(tmp_path: Path) -> None:
    file = tmp_path / "00000000000000000009.snapshot"
    entries = [ProducerEntry(1, 2, 1, 8, 3, 77, 5, 4), ProducerEntry(3, 0, -1, -1, 0, 78, 6, -1)]
    file.write_bytes(pack_snapshot(entries))
    first, second = small_files.dump_snapshot(file, FINDINGS)
    assert first.text == (
        "producerId: 1 producerEpoch: 2 coordinatorEpoch: 5 currentTxnFirstOffset: OptionalLong[4] "
        "lastTimestamp: 77 firstSequence: 2147483646 lastSequence: 1 lastOffset: 8 offsetDelta: 3 "
        "timestamp: 77"
    )
    assert second.text.endswith("currentTxnFirstOffset: OptionalLong.empty lastTimestamp: 78 ")
    assert second.content["currentTxnFirstOffset"] is None


def test_checkpoints_are_told_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    file.write_text("0\n2\n0 0\n3 17\n")
    assert [row.text for row in small_files.dump_leader_epochs(file)] == [
        "epoch: 0 startOffset: 0",
        "epoch: 3 startOffset: 17",
    ]
    file.write_text("0\n1\norders 2 40\n")
    (row,) = small_files.dump_offsets(file)
    assert row.text == "topic: orders partition: 2 offset: 40"


@pytest.mark.parametrize(("version", "key"), [(0, "brokerId"), (1, "nodeId")])
def test_identity_is_told_in_the_words_of_its_version(
    tmp_path: Path, version: int, key: str
) -> None:
    file = tmp_path / "meta.properties"
    file.write_bytes(render_meta_properties(MetaProperties(version, 7, "c", bytes(16))))
    (row,) = small_files.dump_meta_properties(file)
    assert row.text == (
        f"version: {version} {key}: 7 clusterId: c directoryId: AAAAAAAAAAAAAAAAAAAAAA"
    )


def test_the_topic_id_and_the_clean_marker(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(render_partition_metadata(bytes(16)))
    (row,) = small_files.dump_partition_metadata(file, FINDINGS)
    assert row.text == "version: 0 topicId: AAAAAAAAAAAAAAAAAAAAAA"
    file.write_bytes(render_clean_shutdown(41))
    (row,) = small_files.dump_clean_shutdown(file, FINDINGS)
    assert row.content == {"version": 0, "brokerEpoch": 41}
    file.write_bytes(b"")
    (row,) = small_files.dump_clean_shutdown(file, FINDINGS)
    assert row.content == {"version": 0, "brokerEpoch": -1}


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[1]", b"7"])
def test_damage_is_a_finding(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    findings = Findings()
    dumps = (
        small_files.dump_snapshot,
        small_files.dump_partition_metadata,
        small_files.dump_clean_shutdown,
    )
    assert [list(dump(file, findings)) for dump in dumps] == [[], [], []]
    assert findings.faults_count == 3
