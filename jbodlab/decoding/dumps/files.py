"""Which file is dumped how. Decides by the file's name, as Kafka's tool does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from broker.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from broker.storage.layout import (
    CLEAN_SHUTDOWN_FILE,
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA_FILE,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file_name,
)
from broker.storage.meta_properties import META_PROPERTIES_FILE
from jbodlab.decoding.dumps.index_files import (
    dump_offset_index,
    dump_time_index,
    dump_transaction_index,
)
from jbodlab.decoding.dumps.log_files import dump_log
from jbodlab.decoding.dumps.row import DumpOptions, Findings, Row
from jbodlab.decoding.dumps.small_files import (
    dump_clean_shutdown,
    dump_leader_epochs,
    dump_meta_properties,
    dump_offsets,
    dump_partition_metadata,
    dump_snapshot,
)

_OFFSET_CHECKPOINTS: Final = frozenset(
    {
        RECOVERY_POINT_CHECKPOINT,
        LOG_START_OFFSET_CHECKPOINT,
        REPLICATION_OFFSET_CHECKPOINT,
        CLEANER_OFFSET_CHECKPOINT,
    }
)
_SET_ASIDE: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)


def files_below(path: Path) -> list[Path]:
    """Return the files that can be dumped: ``path`` itself, or all below a directory, sorted."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and dump_file(file, *_NOTHING) is not None
    )


def dump_file(path: Path, options: DumpOptions, findings: Findings) -> Iterator[Row] | None:
    """Return the rows of a file, read as they are asked for; None for a file of no known name.

    Segment files set aside (`.deleted`, `.cleaned`, `.swap`) are read as what they were.

    Raises:
        OSError: while rows are read: the file cannot be read, or a checkpoint is malformed.
    """
    return _segment_file(path, options, findings) or _other_file(path, findings)


def _segment_file(path: Path, options: DumpOptions, findings: Findings) -> Iterator[Row] | None:
    name = path.name
    for suffix in _SET_ASIDE:
        name = name.removesuffix(suffix)
    match (parse_segment_file_name(name) or (0, ""))[1]:
        case known if known == LOG_SUFFIX:
            return dump_log(path, options, findings)
        case known if known == OFFSET_INDEX_SUFFIX:
            return dump_offset_index(path, options, findings)
        case known if known == TIME_INDEX_SUFFIX:
            return dump_time_index(path, options, findings)
        case known if known == TRANSACTION_INDEX_SUFFIX:
            return dump_transaction_index(path, findings)
        case known if known == SNAPSHOT_SUFFIX:
            return dump_snapshot(path, findings)
        case _:
            return None


def _other_file(path: Path, findings: Findings) -> Iterator[Row] | None:
    if path.name in _OFFSET_CHECKPOINTS:
        return dump_offsets(path)
    readers = {
        LEADER_EPOCH_FILE: dump_leader_epochs,
        META_PROPERTIES_FILE: dump_meta_properties,
        PARTITION_METADATA_FILE: partial(dump_partition_metadata, findings=findings),
        CLEAN_SHUTDOWN_FILE: partial(dump_clean_shutdown, findings=findings),
    }
    reader = readers.get(path.name)
    return None if reader is None else reader(path)


_NOTHING: Final = (DumpOptions(), Findings())
