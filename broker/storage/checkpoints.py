"""The text checkpoints of Kafka: offsets per partition of a log dir, leader epochs of a log. No IO.

Source: CheckpointFile.java, OffsetCheckpointFile.java, LeaderEpochCheckpointFile.java.
"""

from __future__ import annotations

import errno
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from protocol.ids import TopicPartition

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT: Final = "cleaner-offset-checkpoint"

_VERSION: Final = "0"


class CorruptCheckpoint(OSError):  # noqa: N818 -- says what it met
    """A malformed checkpoint.

    As in Kafka it counts as an I/O error: unless it is forgiven, the dir is lost.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EIO, f"malformed checkpoint: {reason}")


def render_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Return the content of an offset checkpoint, in the mapping's order."""
    return _render(
        [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    )


def parse_offsets(data: bytes) -> dict[TopicPartition, int]:
    """Read an offset checkpoint; an empty file holds no offset.

    Raises:
        CorruptCheckpoint: unknown version, a malformed line, another count than promised.
    """
    rows = _parse(data, field_count=3)
    return {
        TopicPartition(topic, _integer(partition)): _integer(offset)
        for topic, partition, offset in rows
    }


def render_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Return the content of ``leader-epoch-checkpoint``: (epoch, start offset), ascending."""
    return _render([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def parse_leader_epochs(data: bytes) -> list[tuple[int, int]]:
    """Read ``leader-epoch-checkpoint``.

    Raises:
        CorruptCheckpoint: as ``parse_offsets``, or entries that do not ascend.
    """
    entries = [(_integer(epoch), _integer(offset)) for epoch, offset in _parse(data, field_count=2)]
    for before, after in itertools.pairwise(entries):
        if after[0] <= before[0] or after[1] < before[1]:
            raise CorruptCheckpoint(f"epoch {after} after {before}")
    return entries


def _render(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in [_VERSION, str(len(lines)), *lines]).encode()


def _parse(data: bytes, *, field_count: int) -> list[list[str]]:
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise CorruptCheckpoint("the last line is cut")
    lines = data.decode(errors="replace").splitlines()
    if lines[0] != _VERSION:
        raise CorruptCheckpoint(f"version {lines[0]!r}, known is {_VERSION}")
    rows = [line.split() for line in lines[2:]]
    if len(lines) < 2 or _integer(lines[1]) != len(rows):
        raise CorruptCheckpoint(f"{len(rows)} entries, promised {lines[1:2]}")
    for row in rows:
        if len(row) != field_count:
            raise CorruptCheckpoint(f"line {row} has not {field_count} fields")
    return rows


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise CorruptCheckpoint(f"{text!r} is no number") from exc
