"""What the contracts of what is durable say of wrong rules, and of who asks too early."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.indexes import AbortedTransaction
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.shutdown import close_log_dir, write_recovery_points
from protocol.ids import TopicPartition
from protocol.ports import Disk
from tests.broker.storage.builders import ORDERS, Config, filled_log
from tests.broker.storage.keyed import Pairs, keyed_log
from tests.broker.storage.test_cleaner import compact
from tests.broker.storage.test_swap import Move
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
CONFIG: Final = Config(segment_bytes=900)
FLUSH: Final = PartitionLog.flush
SEALED: Final = PartitionLog.flush_sealed
EMPTY: Final = PartitionLog.truncate_fully_and_start_at
TRUNCATE: Final = PartitionLog.truncate_to


def log() -> PartitionLog:
    """Twelve batches in three segments."""
    return filled_log(MemoryDisk(), 12, CONFIG)


def marks(log: PartitionLog, **_: object) -> None:
    log.mark_durable()


def marks_all(disk: Disk, logs: Mapping[TopicPartition, PartitionLog]) -> None:
    for each in logs.values():
        marks(each)


def keeps_the_recovery_point(log: PartitionLog, offset: int) -> object:
    before = log.recovery_point
    producers = TRUNCATE(log, offset)
    log._sync.recovery_point = before
    return producers


def cut() -> None:
    whole = log()
    whole.flush()
    whole.truncate_to(7)


def forgets_its_cut(log: PartitionLog, **_: object) -> None:
    log._sync.is_due = False
    FLUSH(log)


def flush_what_was_cut() -> None:
    whole = log()
    whole.flush()
    whole.truncate_to(11)
    whole.flush()


def forgets_what_a_cut_owes(log: PartitionLog) -> None:
    SEALED(log)
    log._sync.is_due = False


def flush_what_is_sealed_after_a_cut() -> None:
    whole = log()
    whole.flush()
    whole.truncate_to(11)
    whole.flush_sealed()


def keeps_a_snapshot(log: PartitionLog, offset: int, **how: Any) -> None:
    EMPTY(log, offset, **how)
    log._segments._snapshots._offsets.append(12)


def forgets_transactions(log: PartitionLog, **how: Any) -> None:
    FLUSH(log, **how)
    log.segments[0].append_aborted(AbortedTransaction(7, 1, 2, 2))


def write() -> None:
    disk = MemoryDisk()
    write_recovery_points(disk, {ORDERS: filled_log(disk, 12, CONFIG)})


def close() -> None:
    disk = MemoryDisk()
    logs = {ORDERS: filled_log(disk, 12, CONFIG)}
    disk.lock()
    close_log_dir(LogDirFiles(disk), logs, {}, broker_epoch=1)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("shutdown.write_recovery_points", marks_all, write),
    ("PartitionLog.flush", answers(None), lambda: log().flush()),
    ("PartitionLog.flush", marks, lambda: log().flush()),
    ("PartitionLog.flush", forgets_its_cut, flush_what_was_cut),
    ("PartitionLog.flush", forgets_transactions, lambda: log().flush()),
    ("PartitionLog.flush_sealed", answers(None), lambda: log().flush_sealed()),
    ("PartitionLog.flush_sealed", marks, lambda: log().flush_sealed()),
    (
        "PartitionLog.flush_sealed",
        forgets_what_a_cut_owes,
        flush_what_is_sealed_after_a_cut,
    ),
    ("PartitionLog.truncate_to", keeps_the_recovery_point, cut),
    (
        "PartitionLog.truncate_fully_and_start_at",
        answers(None),
        lambda: log().truncate_fully_and_start_at(5),
    ),
    (
        "PartitionLog.truncate_fully_and_start_at",
        keeps_a_snapshot,
        lambda: log().truncate_fully_and_start_at(5),
    ),
    ("Swap.promote", answers(None), lambda: Move().run()),
    ("shutdown.close_log_dir", answers(None), close),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def compacted(*, is_written: bool) -> None:
    disk = MemoryDisk()
    batches: list[Pairs] = [[(b"key", bytes(50))]] * 12
    whole = keyed_log(disk, batches, CONFIG)
    whole.flush()
    if is_written:
        write_recovery_points(disk, {ORDERS: whole})
    compact(whole)


@pytest.mark.parametrize("is_written", [True, False])
def test_gaps_are_made_only_before_the_recovery_point(*, is_written: bool) -> None:
    told = told_of(None, "LogSegments.replace", lambda: compacted(is_written=is_written))

    assert bool(told) is not is_written
