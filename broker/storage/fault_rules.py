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
from protocol.faults.model import MET_BY, DiskFault, DiskMode, FileClass, Operation

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


@dataclass(slots=True, kw_only=True, eq=False)
class FaultRule:
    """Which operations fail, and how. None means any that the mode can meet."""

    mode: DiskMode
    operations: frozenset[Operation] | None = None
    file_classes: frozenset[FileClass] | None = None
    name: str | None = None
    """A pattern for the name in the log dir, or for that of its partition directory."""
    nth: int | None = None
    """Only this match, counted from 1; None: every one."""
    from_nth: int = 1
    """This match and all later ones: what a crash at the n-th operation leaves."""
    times: int | None = None
    """At most so many hits."""
    probability: float = 1.0
    delay_ms: int = 0
    """SLOW only: before every operation."""
    operations_per_second: int | None = None
    """SLOW only."""
    bytes_per_second: int | None = None
    """SLOW only."""
    capacity_bytes: int = 0
    """ENOSPC only: how much may be written before it."""
    matches: int = 0
    """Operations that it could have met."""
    hits: int = 0
    """Operations that it changed."""
    owed_us: int = 0
    """SLOW only: what was not waited for yet, less than a millisecond."""

    @classmethod
    def of(cls, fault: DiskFault) -> FaultRule:
        """Return the rule of a fault for one log dir, nothing counted."""
        return cls(
            mode=fault.mode,
            operations=None if fault.operations is None else frozenset(fault.operations),
            file_classes=None if fault.files is None else frozenset(fault.files),
            name=fault.name,
            nth=fault.nth,
            from_nth=fault.from_nth,
            times=fault.times,
            probability=fault.probability,
            delay_ms=fault.delay_ms,
            operations_per_second=fault.operations_per_second,
            bytes_per_second=fault.bytes_per_second,
            capacity_bytes=fault.capacity_bytes,
        )

    def meets(self, operation: Operation, name: str) -> bool:
        """Count and decide one operation, but for its probability."""
        if operation not in MET_BY[self.mode]:
            return False
        if self.operations is not None and operation not in self.operations:
            return False
        if self.file_classes is not None and file_class_of(name) not in self.file_classes:
            return False
        if self.name is not None and not _is_named(name, self.name):
            return False
        self.matches += 1
        if self.times is not None and self.hits >= self.times:
            return False
        return self.matches >= self.from_nth and self.nth in {None, self.matches}

    def wait_ms(self, size_bytes: int) -> int:
        """Return how long one operation takes longer: SLOW.

        A log dir does one after the other, so that those behind it wait for it, too.
        """
        self.owed_us += self.delay_ms * 1000
        if self.operations_per_second is not None:
            self.owed_us += 1_000_000 // self.operations_per_second
        if self.bytes_per_second is not None:
            self.owed_us += size_bytes * 1_000_000 // self.bytes_per_second
        wait_ms, self.owed_us = divmod(self.owed_us, 1000)
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


class RulesInForce:
    """The rules of one disk, for all threads that use it."""

    __slots__ = ("rules",)

    def __init__(self) -> None:
        self.rules: tuple[FaultRule, ...] = ()
