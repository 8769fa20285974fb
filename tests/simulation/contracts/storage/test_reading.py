"""What the contracts of reads, cuts and emptied logs say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.storage.indexes import AbortedTransaction, TimestampOffset
from broker.storage.log_reader import FoundOffset
from broker.storage.log_segments import LogSegments, SetAside
from broker.storage.memory_disk import MemoryDisk
from broker.storage.memory_tree import MemoryDir
from broker.storage.partition_log import PartitionLog
from simulation.contracts.storage.disks import tree_of
from tests.broker.storage.builders import Config, filled_log
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
CONFIG: Final = Config(segment_bytes=900)
READ: Final = PartitionLog.read
CUT: Final = LogSegments.cut
ABORTED: Final = AbortedTransaction(7, 5, 9, 9)


def log() -> PartitionLog:
    """Twelve batches in three segments, and a transaction that was aborted by the tenth."""
    filled = filled_log(MemoryDisk(), 12, CONFIG)
    filled.segments[-1].append_aborted(ABORTED)
    filled.flush()
    return filled


def tells_of_no_transaction(log: PartitionLog, offset: int, size_bytes: int, **how: Any) -> object:
    return READ(log, offset, size_bytes, **how)._replace(aborted=())


def reads_beyond(log: PartitionLog, offset: int, size_bytes: int, **_: Any) -> object:
    return READ(log, offset, size_bytes)


def reads_before(log: PartitionLog, offset: int, size_bytes: int, **_: Any) -> object:
    return READ(log, offset - 3, size_bytes)


def goes_on_too_late(log: PartitionLog, offset: int, size_bytes: int, **how: Any) -> object:
    return READ(log, offset, size_bytes, **how)._replace(next_offset=20)


def read() -> None:
    log().read(6, 10_000, up_to=11, with_aborted=True)


def find() -> None:
    log().offset_for_timestamp(4_500)


def cut(offset: int = 8) -> None:
    log().truncate_to(offset)


def keeps_aborted(segments: LogSegments, offset: int) -> object:
    producers = CUT(segments, offset)
    segments.active.replace_transactions([ABORTED])
    return producers


def keeps_its_newest_time(segments: LogSegments, offset: int) -> object:
    producers = CUT(segments, offset)
    segments.active.largest_timestamp = TimestampOffset(11_000, 11)
    return producers


def keeps_its_index(segments: LogSegments, offset: int) -> object:
    producers = CUT(segments, offset)
    segments.active.time_index.maybe_append(TimestampOffset(11_000, 11))
    return producers


def empties(log: PartitionLog) -> None:
    log.remove_oldest(len(log.segments), now_ms=0)


def leaves_no_file(segments: LogSegments, count: int) -> SetAside:
    removed = segments.segments[:count]
    del segments.segments[:count]
    return segments._set_aside(removed)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("PartitionLog.read", tells_of_no_transaction, read),
    ("PartitionLog.read", reads_beyond, read),
    ("PartitionLog.read", reads_before, read),
    ("PartitionLog.read", goes_on_too_late, read),
    ("PartitionLog.offset_for_timestamp", answers(None), find),
    ("PartitionLog.offset_for_timestamp", answers(FoundOffset(6_000, 6, 0)), find),
    ("PartitionLog.offset_for_timestamp", answers(FoundOffset(4_000, 4, 0)), find),
    ("LogSegments.cut", keeps_aborted, cut),
    ("LogSegments.cut", keeps_its_newest_time, cut),
    ("LogSegments.cut", keeps_its_index, cut),
    ("LogSegments.remove_oldest", leaves_no_file, lambda: empties(log())),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_what_stays_of_a_cut_log_is_told_still() -> None:
    assert told_of(None, "LogSegments.cut", lambda: cut(10)) == []
    assert told_of(None, "LogSegments.cut", lambda: cut(0)) == []


def test_nothing_is_told_of_a_log_whose_folder_a_power_cut_would_take() -> None:
    """Another one of its name was there (seed 1063781)."""
    filled = log()
    tree = tree_of(filled.segments[0].directory.files.disk)
    assert tree is not None
    tree.synced[filled.segments[0].directory.name] = MemoryDir()
    assert told_of(leaves_no_file, "LogSegments.remove_oldest", lambda: empties(filled)) == []
