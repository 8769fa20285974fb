"""The names in a log dir, and the smallest files: partition.metadata, the clean marker.

No IO. Checkpoints are in `checkpoints`, identity in `meta_properties`.

Source: LogManager.scala, UnifiedLog.scala (names), PartitionMetadataFile.java,
CleanShutdownFileHandler.java.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from protocol.ids import TopicPartition, uuid_from_text, uuid_text
from protocol.topic_names import CLUSTER_METADATA

CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
LEADER_EPOCH_FILE: Final = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE: Final = "partition.metadata"
SWAP_NOTE_FILE: Final = "swap-note"
"""Ours: lies in the partition dir of a move's target while the two renames are under way."""

LOG_SUFFIX: Final = ".log"
OFFSET_INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
TEMPORARY_SUFFIX: Final = ".tmp"

DIR_NAME_LENGTH_MAX: Final = 255
_LOST_AND_FOUND: Final = "lost+found"
_IGNORED_DIRS: Final = frozenset({"remote-log-index-cache", _LOST_AND_FOUND})
_REPLACED: Final = TopicPartition("__replaced", 0)
"""No topic's: what lay in a log dir before an empty one took its place."""
_SUFFIXED_NAME: Final = re.compile(r"^(\S+)-(\S+)\.(\S+)-(delete|future|stray)$")
_TOPIC_NAME: Final = re.compile(r"^[a-zA-Z0-9._-]{1,249}$")
_BASE_NAME: Final = re.compile(r"^(\d{20})(\.[a-z]+)$")


class DirKind(Enum):
    """What the name of a partition dir says it is."""

    CURRENT = ""
    FUTURE = "-future"
    DELETE = "-delete"
    STRAY = "-stray"


class PartitionDirName(NamedTuple):
    """The parts of a partition dir's name."""

    topic_partition: TopicPartition
    kind: DirKind
    unique: str
    """The hex digits before the suffix; empty for a current log."""


class BadDirName(ValueError):  # noqa: N818 -- says what it met
    """A directory in a log dir that is no partition's; the broker does not start over it."""


def current_dir_name(topic_partition: TopicPartition) -> str:
    """Return ``topic-partition``."""
    return f"{topic_partition.topic}-{topic_partition.partition}"


def future_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """Return the name of a log that a move builds.

    ``unique`` is 32 hex digits. May pass 255 characters.
    """
    return f"{current_dir_name(topic_partition)}.{unique}{DirKind.FUTURE.value}"


def delete_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """Return the name of a log that waits for deletion, at most 255 characters.

    Source: KAFKA-4893.
    """
    return _shortened(topic_partition, f".{unique}{DirKind.DELETE.value}")


def stray_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """Return the name of a log that is set aside, at most 255 characters."""
    return _shortened(topic_partition, f".{unique}{DirKind.STRAY.value}")


def replaced_dir_name(unique: str) -> str:
    """Return the name of a folder for all that lay in a log dir.

    It is a stray's: every start leaves such a directory alone for good, Kafka's as ours.
    """
    return stray_dir_name(_REPLACED, unique)


def is_left_alone(name: str) -> bool:
    """Tell whether it may lie in a log dir that counts as empty."""
    is_replaced = name.startswith(f"{current_dir_name(_REPLACED)}.")
    return name == _LOST_AND_FOUND or (is_replaced and name.endswith(DirKind.STRAY.value))


def is_ignored_dir(name: str) -> bool:
    """Tell whether the loader skips this directory: no partition of ours."""
    return name in _IGNORED_DIRS or name.rpartition("-")[0] == CLUSTER_METADATA


def parse_dir_name(name: str) -> PartitionDirName:
    """Read a partition dir's name.

    Raises:
        BadDirName: it is none. Source: UnifiedLog.parseTopicPartitionName.
    """
    kind, unique, plain = DirKind.CURRENT, "", name
    for suffixed in (DirKind.DELETE, DirKind.FUTURE, DirKind.STRAY):
        if name.endswith(suffixed.value):
            if not _SUFFIXED_NAME.match(name):
                raise BadDirName(name)
            kind, plain = suffixed, name[: name.rindex(".")]
            unique = name[len(plain) + 1 : -len(suffixed.value)]
    topic, dash, partition = plain.rpartition("-")
    if not dash or not partition.isdecimal() or not _TOPIC_NAME.match(topic):
        raise BadDirName(name)
    return PartitionDirName(TopicPartition(topic, int(partition)), kind, unique)


def segment_file_name(base_offset: int, suffix: str) -> str:
    """Return the name of one file of a segment: 20 digits and the suffix."""
    return f"{base_offset:020d}{suffix}"


def parse_segment_file_name(name: str) -> tuple[int, str] | None:
    """Return base offset and suffix; None for any other name."""
    match = _BASE_NAME.match(name)
    return (int(match[1]), match[2]) if match else None


def render_partition_metadata(topic_id: bytes) -> bytes:
    """Return the content of partition.metadata."""
    return f"version: 0\ntopic_id: {uuid_text(topic_id)}\n".encode()


def parse_partition_metadata(data: bytes) -> bytes | None:
    """Return the topic id; None when there is no readable one.

    A version above 0 is read as 0, which it promises to be compatible with.
    Source: PartitionMetadataFile.java.
    """
    lines = dict(
        line.split(": ", 1) for line in data.decode(errors="replace").splitlines() if ": " in line
    )
    if not lines.get("version", "").isdecimal():
        return None
    try:
        return uuid_from_text(lines.get("topic_id", ""))
    except ValueError:
        return None


def render_clean_shutdown(broker_epoch: int) -> bytes:
    """Return the content of the marker. Source: CleanShutdownFileHandler.java (3.7+)."""
    return f'{{"version":0,"brokerEpoch":{broker_epoch}}}'.encode()


def _shortened(topic_partition: TopicPartition, suffix: str) -> str:
    tail = f"-{topic_partition.partition}{suffix}"
    return topic_partition.topic[: DIR_NAME_LENGTH_MAX - len(tail)] + tail
