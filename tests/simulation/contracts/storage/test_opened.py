"""What the contracts of opened, cut and new logs say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.producers import ProducerStates
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, OpenedLog, open_log
from broker.storage.log_segments import LogSegments
from broker.storage.memory_disk import MemoryDisk
from broker.storage.recovery import LoadedLogDir, load_log_dir
from broker.storage.segment_files import PartitionFiles
from broker.storage.shutdown import write_recovery_points
from tests.broker.storage.builders import ORDERS, Config, filled_log, log_on, produced
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
CONFIG: Final = Config(segment_bytes=300)
CUT: Final = LogSegments.cut


def written() -> MemoryDisk:
    """A log of one producer in some segments, of which nothing is durable."""
    disk = MemoryDisk()
    log = log_on(disk, config=CONFIG)
    log.append([produced(number, 7, number) for number in range(12)], now_ms=0)
    log.write_leader_epochs([(0, 0)])
    return disk


def reopen() -> OpenedLog:
    directory = PartitionFiles(LogDirFiles(written()), str(ORDERS))
    return open_log(directory, CONFIG, KnownOffsets(), now_ms=0)


def changed(
    change: Callable[[OpenedLog], OpenedLog | None], right: Callable[..., OpenedLog] = open_log
) -> Wrong:
    """Return a rule that opens a log, and then changes what it found."""

    def rule(*args: Any, **kwargs: Any) -> OpenedLog:
        opened = right(*args, **kwargs)
        return change(opened) or opened

    return rule


def says_all_is_durable(opened: OpenedLog) -> None:
    opened.log.mark_durable()


def ends_early(opened: OpenedLog) -> None:
    opened.log.log_end_offset -= 1


def ends_too_late(opened: OpenedLog) -> None:
    opened.log._sync.recovery_point = 13


def forgets_producers(opened: OpenedLog) -> OpenedLog:
    return replace(opened, producers=ProducerStates())


def knows_an_older_state(opened: OpenedLog) -> OpenedLog:
    entry = opened.producers.snapshot_entries()[0]
    older = entry._replace(last_sequence=10, last_offset=10)
    return replace(opened, producers=ProducerStates([older]))


def knows_a_later_state(opened: OpenedLog) -> OpenedLog:
    entry = opened.producers.snapshot_entries()[0]
    return replace(opened, producers=ProducerStates([entry._replace(last_offset=12)]))


def knows_another_epoch(opened: OpenedLog) -> OpenedLog:
    return replace(opened, leader_epochs=[(0, 0), (1, 5)])


def keeps_snapshots(segments: LogSegments, offset: int) -> ProducerStates:
    before = segments._snapshots.offsets
    states = CUT(segments, offset)
    segments._snapshots._offsets = before
    return states


def cut() -> None:
    log = log_on(MemoryDisk(), config=CONFIG)
    log.append([produced(number, 7, number) for number in range(12)], now_ms=0)
    log.truncate_to(4)


def load(disk: MemoryDisk | None = None) -> LoadedLogDir:
    return load_log_dir(
        LogDirFiles(disk or MemoryDisk()),
        configs=lambda _: CONFIG,
        now_ms=0,
        progress=lambda _: None,
    )


def load_clean() -> None:
    disk = MemoryDisk()
    disk.write_atomic(".kafka_cleanshutdown", b"")
    load(disk)


def load_what_a_log_has_left() -> None:
    disk = MemoryDisk()
    write_recovery_points(disk, {ORDERS: filled_log(disk, 3, CONFIG)})
    disk.remove_tree("orders-0")
    load(disk)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("log_recovery.open_log", changed(says_all_is_durable), reopen),
    ("log_recovery.open_log", changed(ends_early), reopen),
    ("log_recovery.open_log", changed(ends_too_late), reopen),
    ("log_recovery.open_log", changed(forgets_producers), reopen),
    ("log_recovery.open_log", changed(knows_an_older_state), reopen),
    ("log_recovery.open_log", changed(knows_a_later_state), reopen),
    ("log_recovery.open_log", changed(knows_another_epoch), reopen),
    ("LogSegments.cut", keeps_snapshots, cut),
    ("LogSegments.cut", lambda *_: ProducerStates(), cut),
    ("recovery.load_log_dir", answers(LoadedLogDir(was_clean=True)), load_clean),
    (
        "recovery.load_log_dir",
        answers(LoadedLogDir(was_clean=False)),
        load_what_a_log_has_left,
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def make(*, knows_an_older_one: bool) -> None:
    disk = MemoryDisk()
    if knows_an_older_one:
        other = MemoryDisk()
        older = filled_log(other, 3)
        older.flush()
        write_recovery_points(disk, {ORDERS: older})
    log_on(disk)


@pytest.mark.parametrize("knows_an_older_one", [True, False])
def test_a_log_is_made_when_its_checkpoints_know_no_older_one(*, knows_an_older_one: bool) -> None:
    told = told_of(None, "PartitionLog.create", lambda: make(knows_an_older_one=knows_an_older_one))

    assert bool(told) is knows_an_older_one


def test_a_damaged_log_is_no_evidence() -> None:
    disk = written()
    name = f"{ORDERS}/00000000000000000000.log"
    data = bytearray(disk.read_file(name))
    data[30] ^= 1
    disk.write_file(name, bytes(data))
    disk.sync_all()
    directory = PartitionFiles(LogDirFiles(disk), str(ORDERS))

    def use() -> None:
        open_log(directory, CONFIG, KnownOffsets(was_clean=True), now_ms=0)

    assert told_of(None, "log_recovery.open_log", use) == []
