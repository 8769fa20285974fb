"""The end of a move, cut at every operation: one current log is left, and it has every record."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.storage.files import LogDirFiles
from broker.storage.layout import future_dir_name
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.recovery import LoadedLogDir, StartupRefused
from broker.storage.startup import LoadOptions, load_log_dirs
from broker.storage.swap import Swap, SwapNote, read_swap_note, render_swap_note
from protocol.faults.model import FileClass, Operation
from protocol.ports import Disk
from tests.broker.storage.builders import (
    ORDERS,
    Config,
    batches,
    faulty,
    filled_log,
    inline_log_dir,
    offsets_read,
)

CONFIG = Config(segment_bytes=900)
FUTURE = future_dir_name(ORDERS, "f" * 32)
DELETE = f"orders-0.{'d' * 32}-delete"
OPTIONS = LoadOptions(configs=lambda _: CONFIG, now_ms=0, progress=lambda _path, _progress: None)


class Move:
    """A source with its log and a destination with a future log that has caught up."""

    def __init__(self) -> None:
        self.memories = [MemoryDisk("/source"), MemoryDisk("/destination")]
        self.disks = [faulty(memory) for memory in self.memories]
        source, self.destination = (LogDirFiles(disk) for disk in self.disks)
        self.source_background_files, self.background_files = (
            LogDirFiles(disk) for disk in self.disks
        )
        self.source = PartitionLog.create(source, "orders-0", CONFIG, now_ms=0)
        self.future = PartitionLog.create(self.background_files, FUTURE, CONFIG, now_ms=0)
        for log in (self.source, self.future):
            log.append(batches(0, 20), now_ms=0)
        self.source.flush()
        self.swap = Swap(
            ORDERS,
            source=self.source,
            source_root="/source",
            future=self.future,
            background_files=self.background_files,
            unique="d" * 32,
        )

    def run(self) -> None:
        self.swap.promote(self.destination)
        self.swap.release(self.source_background_files)
        self.swap.retire()
        self.swap.finish()

    async def restart(self, *present: int) -> dict[str, LoadedLogDir]:
        for memory in self.memories:
            memory.kill()
        log_dirs = [inline_log_dir(self.memories[number]) for number in present or (0, 1)]
        return await load_log_dirs(log_dirs, OPTIONS)


def served(loaded: dict[str, LoadedLogDir]) -> list[tuple[str, list[int]]]:
    return [
        (path, offsets_read(log.log, 0))
        for path, found in loaded.items()
        for log in found.logs
        if not log.is_future
    ]


def cut_at(count: int, number: int, *, power_cut: bool) -> Move | None:
    """Run a swap until its ``count``-th operation on one of the disks; None when it got through."""
    move = Move()
    rules = [disk.set_fault("eio", from_nth=count) for disk in move.disks]
    move.disks[1 - number].clear()
    with contextlib.suppress(OSError):
        move.run()
    if rules[number].hits == 0:
        return None
    if power_cut:
        for memory in move.memories:
            memory.power_cut()
    return move


def test_a_finished_swap_leaves_the_new_log_and_the_old_one_to_delete() -> None:
    move = Move()
    move.run()
    assert dirs_of(move.memories[0]) == [DELETE]
    assert move.memories[1].list_dir("") == ["orders-0"]
    assert read_swap_note(LogDirFiles(move.memories[1]), "orders-0") is None
    assert offsets_read(move.future, 0) == list(range(20))
    assert (move.source.name, move.future.name) == (DELETE, "orders-0")


@pytest.mark.scenario(147, 267)
@pytest.mark.parametrize("number", [0, 1], ids=["source", "destination"])
@pytest.mark.parametrize("power_cut", [False, True], ids=["killed", "power cut"])
async def test_a_swap_cut_at_any_operation_leaves_one_whole_current_log(
    number: int, *, power_cut: bool
) -> None:
    count = 1
    outcomes: set[str] = set()
    while (move := cut_at(count, number, power_cut=power_cut)) is not None:
        loaded = await move.restart()
        ((path, offsets),) = served(loaded)
        assert offsets == list(range(20)), f"cut at operation {count}"
        outcomes.add(path)
        again = await move.restart()
        assert served(again) == [(path, offsets)]
        assert all(log.swap_note is None for found in again.values() for log in found.logs)
        count += 1
    assert count > (2 if number == 0 else 10)
    assert "/destination" in outcomes


@pytest.mark.scenario(147)
async def test_a_swap_cut_between_its_renames_is_finished() -> None:
    move = Move()
    move.swap.promote(move.destination)
    loaded = await move.restart()
    assert served(loaded) == [("/destination", list(range(20)))]
    assert loaded["/source"].to_delete == [DELETE]
    assert dirs_of(move.memories[0]) == [DELETE]
    assert "swap-note" not in move.memories[1].list_dir("orders-0")


async def test_the_note_waits_while_the_source_is_away() -> None:
    move = Move()
    move.swap.promote(move.destination)
    loaded = await move.restart(1)
    assert served(loaded) == [("/destination", list(range(20)))]
    assert loaded["/destination"].logs[0].swap_note == SwapNote("/source", DELETE)
    assert served(await move.restart()) == [("/destination", list(range(20)))]
    assert dirs_of(move.memories[0]) == [DELETE]


async def test_a_log_whose_old_one_was_deleted_while_it_was_away_is_left_over() -> None:
    """Seed 986350: their replica was deleted, and what had been promoted came back later."""
    move = Move()
    move.swap.promote(move.destination)
    (old,) = (await move.restart(0))["/source"].logs
    old.log.rename(DELETE.replace("d" * 32, "e" * 32))
    (log,) = (await move.restart())["/destination"].logs
    assert (log.is_left_over, log.swap_note) == (True, None)
    (log,) = (await move.restart())["/destination"].logs
    assert not log.is_left_over


async def test_the_old_log_wins_when_it_was_written_while_the_destination_was_away() -> None:
    move = Move()
    move.swap.promote(move.destination)
    (only,) = (await move.restart(0))["/source"].logs
    only.log.append(batches(20, 25), now_ms=0)
    loaded = await move.restart()
    assert served(loaded) == [("/source", list(range(25)))]
    assert loaded["/destination"].to_delete == [DELETE]
    assert served(await move.restart()) == [("/source", list(range(25)))]


async def test_a_move_that_was_cut_before_the_first_rename_just_goes_on() -> None:
    move = Move()
    note = render_swap_note(SwapNote("/source", DELETE))
    move.memories[1].write_file(f"{FUTURE}/swap-note", note)
    loaded = await move.restart()
    assert served(loaded) == [("/source", list(range(20)))]
    (future,) = loaded["/destination"].logs
    assert future.is_future
    assert future.swap_note is None
    assert not move.memories[1].exists(f"{FUTURE}/swap-note")


@pytest.mark.scenario(37)
async def test_two_current_logs_without_a_note_stop_the_start_and_are_both_named() -> None:
    disks: list[Disk] = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    for disk in disks:
        filled_log(disk, 1)
    with pytest.raises(StartupRefused, match=r"/d1/orders-0 and /d2/orders-0"):
        await load_log_dirs([inline_log_dir(disk) for disk in disks], OPTIONS)


@pytest.mark.parametrize("content", [b"9\n", b"", b"0\n/sourc\xe5\nname\n"])
async def test_a_damaged_note_costs_the_dir_and_no_data(content: bytes) -> None:
    move = Move()
    move.swap.promote(move.destination)
    move.memories[1].write_file("orders-0/swap-note", content)
    loaded = await move.restart()
    assert served(loaded) == [("/source", list(range(20)))]
    assert list(loaded) == ["/source"]


async def test_a_source_that_breaks_while_the_swap_is_finished_leaves_the_new_log() -> None:
    move = Move()
    move.swap.promote(move.destination)
    broken = move.disks[0]
    log_dirs = [inline_log_dir(broken), inline_log_dir(move.memories[1])]
    loading = asyncio.ensure_future(load_log_dirs(log_dirs, OPTIONS))  # noqa: TID251
    broken.set_fault("read_only")
    loaded = await loading
    assert isinstance(log_dirs[0].failure, LogDirFailed)
    assert served(loaded) == [("/destination", list(range(20)))]


async def test_a_source_that_breaks_while_swaps_are_finished_is_offline_and_their_notes_stay() -> (
    None
):
    move = Move()
    move.swap.promote(move.destination)
    for files in (LogDirFiles(move.memories[0]), move.destination):
        PartitionLog.create(files, "orders-1", CONFIG, now_ms=0).append(batches(0, 5), now_ms=0)
    note = render_swap_note(SwapNote("/source", DELETE.replace("-0.", "-1.")))
    move.memories[1].write_file("orders-1/swap-note", note)
    for disk in move.memories:
        disk.kill()
    dirs = (FileClass.OTHER,)
    move.disks[0].set_fault("eio", operations=(Operation.RENAME,), files=dirs)
    log_dirs = [inline_log_dir(disk) for disk in move.disks]
    loaded = await load_log_dirs(log_dirs, OPTIONS)
    assert not log_dirs[0].is_online
    whole = [("/destination", list(range(20))), ("/destination", list(range(5)))]
    assert served(loaded) == whole
    assert list(loaded) == ["/destination"]
    assert served(await move.restart()) == whole
    assert len(dirs_of(move.memories[0])) == 2


def dirs_of(disk: MemoryDisk) -> list[str]:
    return [name for name in disk.list_dir("") if disk.is_dir(name)]
