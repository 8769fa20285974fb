"""Which operations on which files fail, and how. Values and counters only."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from broker.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
)
from broker.storage.layout import (
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA_FILE,
    SNAPSHOT_SUFFIX,
    TEMPORARY_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from broker.storage.meta_properties import META_PROPERTIES_FILE
from protocol.faults.model import DiskFault, FileClass, Operation

_CLASS_BY_SUFFIX: Final = {
    LOG_SUFFIX: FileClass.LOG,
    OFFSET_INDEX_SUFFIX: FileClass.INDEX,
    TIME_INDEX_SUFFIX: FileClass.INDEX,
    TRANSACTION_INDEX_SUFFIX: FileClass.INDEX,
    SNAPSHOT_SUFFIX: FileClass.SNAPSHOT,
}
_CLASS_BY_NAME: Final = {
    LEADER_EPOCH_FILE: FileClass.LEADER_EPOCHS,
    PARTITION_METADATA_FILE: FileClass.PARTITION_METADATA,
    META_PROPERTIES_FILE: FileClass.META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT: FileClass.CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT: FileClass.CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT: FileClass.CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT: FileClass.CHECKPOINT,
}


@dataclass(slots=True, eq=False)
class FaultRule:
    """A fault in force on one log dir, with what it has met there."""

    fault: DiskFault
    matches: int = 0
    """Operations that it could have met."""
    hits: int = 0
    """Operations that it changed."""
    taken_bytes: int = 0
    """ENOSPC only: what was written of its ``capacity_bytes``."""
    unwaited_us: int = 0
    """SLOW only: what was not waited for yet, less than a millisecond."""

    def meets(self, operation: Operation, name: str) -> bool:
        """Count and decide one operation, but for its probability."""
        fault = self.fault
        if operation not in fault.mode.row.meets:
            return False
        if fault.operations is not None and operation not in fault.operations:
            return False
        if fault.files is not None and file_class_of(name) not in fault.files:
            return False
        if fault.name is not None and not _is_named(name, fault.name):
            return False
        self.matches += 1
        if fault.times is not None and self.hits >= fault.times:
            return False
        return self.matches >= fault.from_nth and fault.nth in {None, self.matches}

    def has_room(self, size_bytes: int) -> bool:
        """Tell whether so many bytes may still be written, and count them if so: ENOSPC."""
        if not 0 < self.fault.capacity_bytes - self.taken_bytes >= size_bytes:
            return False
        self.taken_bytes += size_bytes
        return True

    def wait_ms(self, size_bytes: int) -> int:
        """Return how long one operation takes longer: SLOW.

        A log dir does one after the other, so that those behind it wait for it, too.
        """
        fault = self.fault
        self.unwaited_us += fault.delay_ms * 1000
        if fault.operations_per_second is not None:
            self.unwaited_us += 1_000_000 // fault.operations_per_second
        if fault.bytes_per_second is not None:
            self.unwaited_us += size_bytes * 1_000_000 // fault.bytes_per_second
        wait_ms, self.unwaited_us = divmod(self.unwaited_us, 1000)
        return wait_ms


def file_class_of(name: str) -> FileClass:
    """Tell what kind of file ``name`` is; directories are OTHER."""
    base = name.rpartition("/")[2].removesuffix(TEMPORARY_SUFFIX)
    suffix = base[base.rfind(".") :] if "." in base else ""
    return _CLASS_BY_NAME.get(base) or _CLASS_BY_SUFFIX.get(suffix, FileClass.OTHER)


def _is_named(name: str, pattern: str) -> bool:
    """Match a name, or its partition directory's; a file being replaced has its final name."""
    final = name.removesuffix(TEMPORARY_SUFFIX)
    return fnmatchcase(final, pattern) or fnmatchcase(final.partition("/")[0], pattern)
