"""Which operations on which files fail, and how. Values and counters only."""

from __future__ import annotations

from dataclasses import dataclass
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
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from broker.storage.meta_properties import META_PROPERTIES_FILE
from protocol.fault_model import MET_BY, DiskMode, FileClass, Operation

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


@dataclass(slots=True, kw_only=True)
class FaultRule:
    """Which operations fail, and how. None means any that the mode can meet."""

    mode: DiskMode
    operations: frozenset[Operation] | None = None
    file_classes: frozenset[FileClass] | None = None
    nth: int | None = None
    """Only this match, counted from 1; None: every one."""
    from_nth: int = 1
    """This match and all later ones: what a crash at the n-th operation leaves."""
    probability: float = 1.0
    delay_ms: int = 1000
    """SLOW only."""
    capacity_bytes: int = 0
    """ENOSPC only: how much may be written before it."""
    matches: int = 0
    """Operations that it could have met."""
    hits: int = 0
    """Operations that it changed."""

    def meets(self, operation: Operation, name: str) -> bool:
        """Count and decide one operation, but for its probability."""
        if operation not in MET_BY[self.mode]:
            return False
        if self.operations is not None and operation not in self.operations:
            return False
        if self.file_classes is not None and file_class_of(name) not in self.file_classes:
            return False
        self.matches += 1
        return self.matches >= self.from_nth and self.nth in {None, self.matches}


def file_class_of(name: str) -> FileClass:
    """Tell what kind of file ``name`` is; directories are OTHER."""
    base = name.rpartition("/")[2].removesuffix(".tmp")
    suffix = base[base.rfind(".") :] if "." in base else ""
    return _CLASS_BY_NAME.get(base) or _CLASS_BY_SUFFIX.get(suffix, FileClass.OTHER)
