"""What the contracts of deletions, and of logs that go or move, say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.cleaner_offsets import CleanerOffsets
from broker.core.delayed import DelayedProduce, ProduceWaiters
from broker.core.future_log import CleaningPauses
from broker.core.leader_epochs import LeaderEpochs
from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.retention import RetentionLimits
from broker.engine.control.failures import Failures
from broker.engine.control.leadership import Leadership
from broker.engine.follow.fetcher import Fetcher
from broker.engine.log.cleaning import Cleaner
from broker.engine.log.deletions import Deletions
from broker.engine.log.log_start_writes import LogStartWrites
from broker.engine.log.retention import Retention
from broker.engine.move.moving import MovingLog
from broker.engine.replica import Replica
from broker.engine.serve.record_deletion import RecordDeletions
from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from broker.storage.shutdown import write_log_start_offsets
from jbodlab.worlds.scenario_files import load_plan
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.storage.builders import ORDERS, filled_log
from tests.simulation.contracts.broker.test_engine import is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

DELETES: Final = "move-keeps-deleted-records-deleted"
CANCELLED: Final = "move-is-cancelled-by-an-order-to-stay"
RENAME: Final = Deletions._rename
LIMITS: Final = Retention._limits
NONE: Final = answers(None)


def with_cleaned(log_dir: str = "/d1") -> CleanerOffsets:
    offsets = CleanerOffsets()
    offsets.put(log_dir, ORDERS, 7)
    return offsets


def replica_at(start: int, disk: MemoryDisk | None = None, path: str = "/d1") -> Any:
    """A replica that begins somewhere in a log of twelve records."""
    replica: Any = object.__new__(Replica)
    replica.tp = ORDERS
    replica.is_ended, replica.tell_log_start = False, None
    replica.log_start_write, replica.kept_log_start = None, 0
    epochs = LeaderEpochs()
    replica.partition = SimpleNamespace(log_start_offset=start, high_watermark=9, epochs=epochs)
    disk = disk or MemoryDisk()
    log_dir = SimpleNamespace(disk=disk, path=path)
    queue = SimpleNamespace(_queue=[])
    replica.log = SimpleNamespace(dir=log_dir, files=filled_log(disk, 12), queue=queue)
    return replica


def told_written(start: int, written: int, *, is_synced: bool = True) -> list[str]:
    """Return what is told when a log's start counts as written down."""
    replica = replica_at(start)
    files = replica.log.files
    write_log_start_offsets(replica.log.dir.disk, {ORDERS: files}, raised={ORDERS: written})
    if not is_synced:
        replica.log.dir.disk._tree.synced.clear()
    done = SimpleNamespace(result=lambda: True)
    rule = "Replica._on_log_start_written"
    return told_of(NONE, rule, lambda: replica._on_log_start_written(done))


def test_a_deletion_counts_when_it_outlives_a_power_cut() -> None:
    assert not told_written(5, 5)
    assert told_written(5, 4)
    assert told_written(5, 5, is_synced=False)


def told_risen(before: int, *, again: bool = False) -> list[str]:
    """Return what is told when a log's start rises to 7 of which 5 is written down."""
    replica = replica_at(7)
    files = replica.log.files
    write_log_start_offsets(replica.log.dir.disk, {ORDERS: files}, raised={ORDERS: 5})
    written: Any = SimpleNamespace(add_done_callback=NONE)
    if again:
        replica.log_start_rose(5, written)

    def rises(one: Any, kept: int, _: object) -> None:
        one.log_start_write, one.kept_log_start = written, kept

    return told_of(rises, "Replica.log_start_rose", lambda: replica.log_start_rose(before, written))


def test_what_is_not_written_down_yet_does_not_count_as_deleted() -> None:
    assert not told_risen(5)
    assert told_risen(6, again=True)


def told_moved(
    written: int,
    *,
    moves_offset: bool = True,
    segment_bytes: int | None = None,
    epochs: tuple[int, ...] = (),
) -> list[str]:
    """Return what is told when a log that begins at 5 moves from /d1 to /d2."""
    replica, promoted = replica_at(5), replica_at(5, path="/d2").log
    write_log_start_offsets(promoted.dir.disk, {ORDERS: promoted.files}, raised={ORDERS: written})
    moving: Any = object.__new__(MovingLog)
    offsets = with_cleaned()
    config = promoted.files.config
    replica.log.files.config = replace(config, segment_bytes=segment_bytes or config.segment_bytes)
    state = SimpleNamespace(cleaner_offsets=offsets)
    moving._replica, moving._state = replica, state
    if epochs:
        promoted.files.write_leader_epochs([(epochs[0], 0)])
    replica.partition.epochs = LeaderEpochs([(epoch, n) for n, epoch in enumerate(epochs)])

    def moves(*_: object) -> None:
        replica.log = promoted
        if moves_offset:
            offsets.move(ORDERS, "/d1", "/d2")

    rule = "MovingLog._point_to_promoted"
    return told_of(moves, rule, lambda: moving._point_to_promoted(None, []))


def test_what_was_deleted_and_compacted_of_a_log_is_known_where_it_moves_to() -> None:
    assert not told_moved(5)
    assert told_moved(3)
    assert told_moved(5, moves_offset=False)


def test_a_log_that_has_moved_is_written_as_its_topic_says() -> None:
    assert told_moved(5, segment_bytes=7)


def test_a_log_that_has_moved_has_its_leader_epochs() -> None:
    assert not told_moved(5, epochs=(3,))
    assert told_moved(5, epochs=(3, 4))


def forgets_nothing(deletions: Any, tp: Any, log: Any, *how: Any) -> Any:
    known = deletions._state.cleaner_offsets.get(log.log_dir, tp)
    renamed = RENAME(deletions, tp, log, *how)
    deletions._state.cleaner_offsets.put(log.log_dir, tp, known or 0)
    return renamed


def test_who_remembers_how_far_a_log_that_goes_is_compacted_is_told() -> None:
    assert is_well(CANCELLED)
    told = told_by(load_plan(CANCELLED), "Deletions._rename", forgets_nothing)
    assert told.startswith("Deletions._rename breaks its promise")


def told_failed(*, forgets: bool) -> list[str]:
    failures: Any = object.__new__(Failures)
    states = SimpleNamespace(is_online=answers(False))
    offsets, rebuilds = with_cleaned(), RebuildThrottle()
    failures.state = SimpleNamespace(
        log_dir_states=states, cleaner_offsets=offsets, rebuilds=rebuilds
    )

    def fails(*_: object) -> None:
        if forgets:
            offsets.log_dir_failed("/d1")

    failure = SimpleNamespace(log_dir="/d1")
    rule = "Failures.on_log_dir_failed"
    return told_of(fails, rule, lambda: failures.on_log_dir_failed(failure))


def test_nothing_is_known_of_the_logs_of_a_failed_log_dir() -> None:
    assert not told_failed(forgets=True)
    assert told_failed(forgets=False)


def limits(**changes: int) -> RetentionLimits:
    right = RetentionLimits(
        high_watermark=9,
        log_start_offset=2,
        retention_ms=TopicConfig().retention_ms,
        retention_bytes=-1,
        now_ms=0,
        deletes=True,
    )
    return replace(right, **changes)


@pytest.mark.parametrize(
    ("told", "is_wrong"),
    [
        (limits(), False),
        (limits(high_watermark=12), True),
        (limits(log_start_offset=3), True),
        (limits(retention_ms=1), True),
        (limits(retention_bytes=1), True),
    ],
)
def test_retention_goes_by_what_is_committed_and_by_its_topic(
    told: RetentionLimits, *, is_wrong: bool
) -> None:
    retention: Any = object.__new__(Retention)

    def use() -> None:
        retention._limits(replica_at(2), TopicConfig())

    assert bool(told_of(answers(told), "Retention._limits", use)) is is_wrong


def test_of_a_log_that_moves_nothing_goes_by_retention() -> None:
    retention: Any = object.__new__(Retention)
    pauses = CleaningPauses()
    retention._state = SimpleNamespace(cleaning_pauses=pauses)

    def use() -> None:
        retention.look(replica_at(0))

    assert not told_of(NONE, "Retention.look", use)
    pauses.pause(ORDERS)
    assert told_of(NONE, "Retention.look", use)


def forgets_those_of_others(files: LogDirFiles, dir_name: str) -> None:
    for name in [name for name in files._unsynced if name.startswith(dir_name)]:
        del files._unsynced[name]


def close() -> None:
    files = LogDirFiles(MemoryDisk())
    for name in ("orders-1", "orders-12"):
        files.disk.make_dir(name)
        files.replace(f"{name}/leader-epoch-checkpoint", b"")
    files.close_below("orders-1")


WRONG_RULES: Final[list[tuple[Callable[..., object] | None, bool]]] = [
    (None, False),
    (NONE, True),
    (forgets_those_of_others, True),
]


@pytest.mark.parametrize(("wrong", "is_wrong"), WRONG_RULES)
def test_what_is_closed_for_one_log_stays_for_others(
    wrong: Callable[..., object] | None, *, is_wrong: bool
) -> None:
    assert bool(told_of(wrong, "LogDirFiles.close_below", close)) is is_wrong


@pytest.mark.parametrize(("is_answered", "low_watermark"), [(True, 4), (False, 5)])
def test_a_deletion_is_answered_once_all_have_it(*, is_answered: bool, low_watermark: int) -> None:
    tp = TopicPartition("orders", 0)
    partition = SimpleNamespace(high_watermark=9)
    replica = SimpleNamespace(partition=partition, low_watermark=low_watermark)
    hosted = SimpleNamespace(online_replica=answers(replica))
    deletions: Any = SimpleNamespace(_state=SimpleNamespace(hosted=hosted))
    delayed = DelayedProduce(1, lambda: None)

    def begins(
        _: object, __: object, ___: object, asked: DelayedProduce, index: int, **____: object
    ) -> int:
        if is_answered:
            asked.complete(index, ErrorCode.NONE)
        return low_watermark

    def use() -> None:
        RecordDeletions._begin(deletions, tp, 5, delayed, 0, is_empty_enough=False)

    assert told_of(begins, "RecordDeletions._begin", use)


@pytest.mark.parametrize("low_watermark", [4, 5])
def test_nobody_waits_for_a_broker_that_is_gone(low_watermark: int) -> None:
    waiters = ProduceWaiters()
    waiters.add(5, DelayedProduce(1, lambda: None), 0)
    replica = SimpleNamespace(deleted=waiters, low_watermark=low_watermark, tp="orders-0")
    hosted = SimpleNamespace(iterate_online=lambda: [("orders-0", replica)])
    leadership: Any = SimpleNamespace(state=SimpleNamespace(hosted=hosted))

    def use() -> None:
        Leadership._look_at_high_watermarks(leadership)

    told = told_of(answers(None), "Leadership._look_at_high_watermarks", use)
    assert bool(told) is (low_watermark == 5)


@pytest.mark.parametrize("is_written_again", [True, False])
def test_log_starts_that_are_asked_for_meanwhile_are_written_again(
    *, is_written_again: bool
) -> None:
    writes: Any = SimpleNamespace(_asked={"/d1": None}, _writing={"/d1": None})
    log_dir: Any = SimpleNamespace(path="/d1")
    asked: Any = None

    def ends(writes: Any, *_: object, **__: object) -> None:
        if not is_written_again:
            del writes._writing["/d1"]

    def use() -> None:
        LogStartWrites._end(writes, log_dir, asked, is_written=True)

    assert bool(told_of(ends, "LogStartWrites._end", use)) is not is_written_again


class Compacted(SimpleNamespace):
    """A compacted replica, as far as its cleaner looks at it."""

    tp = ORDERS
    is_ended = False
    log_dir = "/d1"


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, False),
        ({"is_ended": True}, True),
        ({"future": SimpleNamespace()}, True),
        ({"log": SimpleNamespace(files=None, dir="d1", is_still=answers(False))}, True),
        ({"log": SimpleNamespace(files=1, dir="d1", is_still=answers(True))}, True),
        ({"log": SimpleNamespace(files=None, dir="d2", is_still=answers(True))}, True),
    ],
)
def test_what_was_looked_at_is_compacted_while_it_stands(
    changed: dict[str, object], *, is_told: bool
) -> None:
    log = SimpleNamespace(files=None, dir="d1", is_still=answers(True))
    replica = Compacted(**{"log": log, "future": None} | changed)
    cleaner: Any = SimpleNamespace(_log_dir="d1")
    target: Any = SimpleNamespace(
        replica=replica, files=None, token=0, log_dir=SimpleNamespace(path="/d1")
    )

    def use(may: object) -> list[str]:
        return told_of(answers(may), "Cleaner._stands", lambda: Cleaner._stands(cleaner, target))

    assert bool(use(True)) is is_told
    assert not use(False)


def fetching(replica: Any, *, named: str) -> Fetcher:
    """Return a fetcher that has a replica in its session, and names it in one of its tables."""
    fetcher: Any = object.__new__(Fetcher)
    key = (replica.topic_id, replica.tp.partition)
    fetcher._ready, fetcher._told_again, fetcher._changed = {key: None}, {}, {}
    getattr(fetcher, named)[key] = None
    return fetcher


@pytest.mark.parametrize("named", ["_told_again", "_changed", "_ready"])
def test_a_leader_hears_of_a_log_start_that_is_written_down(named: str) -> None:
    replica = replica_at(5)
    replica.topic_id = bytes(16)
    files = replica.log.files
    write_log_start_offsets(replica.log.dir.disk, {ORDERS: files}, raised={ORDERS: 5})
    replica.tell_log_start = partial(fetching(replica, named=named).tell_again, replica)
    written: Any = SimpleNamespace(result=lambda: True)
    rule = "Replica._on_log_start_written"
    told = told_of(NONE, rule, lambda: replica._on_log_start_written(written))
    assert bool(told) is (named == "_ready")


@pytest.mark.parametrize(
    ("is_finished", "is_done", "stands", "is_told"),
    [
        (True, True, True, False),
        (True, False, True, True),
        (True, True, False, True),
        (False, False, True, False),
    ],
)
def test_what_was_not_gone_through_does_not_count_as_compacted(
    *, is_finished: bool, is_done: bool, stands: bool, is_told: bool
) -> None:
    async def works(*_: object) -> bool:
        return is_finished

    cleaner: Any = object.__new__(Cleaner)
    target = SimpleNamespace(replica=SimpleNamespace(tp=ORDERS))
    cleaning = SimpleNamespace(is_done=is_done, end_offset=9)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Cleaner, "_stands", answers(stands))
        found = told_of(
            works, "Cleaner._work", lambda: asyncio.run(cleaner._work(target, cleaning))
        )
    assert bool(found) is is_told
