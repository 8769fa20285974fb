"""The small files of a log dir: producer snapshots, checkpoints, identity, the clean marker.

Kafka's tool shows the snapshots only; what a file looks like is decided in ``broker.storage``.

Source: DumpLogSegments.scala (dumpProducerIdSnapshot).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from broker.core.producers import ProducerEntry
from broker.storage.checkpoints import parse_leader_epochs, parse_offsets
from broker.storage.layout import parse_partition_metadata
from broker.storage.meta_properties import parse_meta_properties
from broker.storage.producer_snapshot import CorruptSnapshot, unpack_snapshot
from jbodlab.decoding.dumps.row import Findings, Row, row_of
from protocol.ids import uuid_text


def dump_snapshot(path: Path, findings: Findings) -> Iterator[Row]:
    """Give the producers of a snapshot."""
    try:
        entries = unpack_snapshot(path.read_bytes())
    except CorruptSnapshot as error:
        findings.note(f"Broken in {path.absolute()}", f"  {error}")
        return
    yield from map(_producer_row, entries)


def _producer_row(entry: ProducerEntry) -> Row:
    first = entry.transaction_first_offset
    content: dict[str, Any] = {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": None if first < 0 else first,
        "lastTimestamp": entry.timestamp,
    }
    shown = {
        **content,
        "currentTxnFirstOffset": f"OptionalLong{'.empty' if first < 0 else [first]}",
    }
    batch: dict[str, Any] = {}
    if entry.last_offset >= 0:
        batch = {
            "firstSequence": (entry.last_sequence - entry.offset_delta) % 2**31,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.offset_delta,
            "timestamp": entry.timestamp,
        }
    # Kafka leaves a space behind the last word when a producer has no batch.
    text = row_of(shown).text + " " + row_of(batch).text
    return Row(text, {**content, **batch})


def dump_leader_epochs(path: Path) -> Iterator[Row]:
    """Give the entries of a leader-epoch-checkpoint.

    Raises:
        OSError: it is malformed.
    """
    for epoch, offset in parse_leader_epochs(path.read_bytes()):
        yield row_of({"epoch": epoch, "startOffset": offset})


def dump_offsets(path: Path) -> Iterator[Row]:
    """Give the entries of an offset checkpoint.

    Raises:
        OSError: it is malformed.
    """
    for (topic, partition), offset in parse_offsets(path.read_bytes()).items():
        yield row_of({"topic": topic, "partition": partition, "offset": offset})


def dump_meta_properties(path: Path) -> Iterator[Row]:
    """Give the identity of a log dir.

    Raises:
        OSError: it is malformed.
    """
    known = parse_meta_properties(path.read_bytes())
    directory_id = known.directory_id
    content = {
        "version": known.version,
        "brokerId" if known.version == 0 else "nodeId": known.node_id,
        "clusterId": known.cluster_id,
        "directoryId": None if directory_id is None else uuid_text(directory_id),
    }
    yield row_of({key: value for key, value in content.items() if value is not None})


def dump_partition_metadata(path: Path, findings: Findings) -> Iterator[Row]:
    """Give the topic id of a log."""
    topic_id = parse_partition_metadata(path.read_bytes())
    if topic_id is None:
        findings.note(f"Broken in {path.absolute()}", "  no topic id")
        return
    yield row_of({"version": 0, "topicId": uuid_text(topic_id)})


def dump_clean_shutdown(path: Path, findings: Findings) -> Iterator[Row]:
    """Give the broker epoch of a clean marker; before 3.7 the file was empty."""
    data = path.read_bytes()
    try:
        content = msgspec.json.decode(data, type=dict[str, Any]) if data else {}
    except msgspec.DecodeError as error:
        findings.note(f"Broken in {path.absolute()}", f"  {error}")
        return
    yield row_of(
        {"version": content.get("version", 0), "brokerEpoch": content.get("brokerEpoch", -1)}
    )
