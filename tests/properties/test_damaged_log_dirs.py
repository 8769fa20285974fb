"""Any files of a log dir damaged in any way: it is loaded, or offline, or the start is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.recovery import LoadedLog, StartupRefused, load_log_dir
from broker.storage.shutdown import close_log_dir, write_checkpoints
from broker.storage.swap import SwapNote, render_swap_note
from protocol.ids import TopicPartition
from tests.broker.storage.builders import Config, batch

CONFIG = Config(segment_bytes=900)
NAMES = ("t-0", "t-1", f"t-2.{'a' * 32}-future")
NOTE = render_swap_note(SwapNote("/d2", f"t-0.{'b' * 32}-delete"))
WORLDS, STORIES = 20, 15


def filled(chance: random.Random) -> MemoryDisk:
    """Return a log dir with three logs of a few segments and epochs, after a kill or a stop."""
    disk = MemoryDisk("/d1")
    files, logs = LogDirFiles(disk), dict[TopicPartition, PartitionLog]()
    for number, name in enumerate(NAMES):
        log = PartitionLog.create(files, name, CONFIG, now_ms=0, topic_id=bytes([number + 1] * 16))
        for offset in range(chance.randrange(16)):
            written = bytearray(batch(offset, size=chance.choice([1, 100, 300])))
            written[12:16] = (offset // 6).to_bytes(4)
            log.append([bytes(written)], now_ms=0)
        log.write_leader_epochs([(0, 0)])
        logs[TopicPartition("t", number)] = log
    disk.write_file("t-0/swap-note", NOTE)
    watermarks = {tp: log.log_end_offset // 2 for tp, log in logs.items()}
    write_checkpoints(disk, logs, watermarks)
    if chance.random() < 0.4:
        close_log_dir(files, logs, watermarks, broker_epoch=1)
    disk.kill()
    return disk


def files_of(disk: MemoryDisk, below: str = "") -> Iterator[str]:
    for entry in disk.list_dir(below):
        name = f"{below}/{entry}" if below else entry
        if disk.is_dir(name):
            yield from files_of(disk, name)
        else:
            yield name


def damage(disk: MemoryDisk, chance: random.Random) -> None:
    """Flip, cut, empty, lengthen, overwrite or remove one file."""
    name = chance.choice(list(files_of(disk)))
    data = bytearray(disk.read_file(name))
    at = chance.randrange(len(data) + 1)
    match chance.choice(["flip", "flip", "flip", "cut", "zeros", "more", "over", "gone"]):
        case "flip" if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        case "cut":
            del data[at:]
        case "zeros":
            data = bytearray(len(data))
        case "more":
            data += chance.randbytes(at)
        case "over":
            data[at : at + 40] = chance.randbytes(40)
        case _:
            disk.remove(name)
            return
    disk.write_file(name, bytes(data))


def loaded(disk: MemoryDisk) -> list[LoadedLog] | None:
    """Load a log dir; None when it is lost or nobody may start over it."""
    try:
        found = load_log_dir(
            LogDirFiles(disk), configs=lambda _: CONFIG, now_ms=0, progress=lambda _: None
        )
    except (OSError, StartupRefused):
        return None
    return found.logs


@pytest.mark.parametrize("world", range(WORLDS))
def test_a_damaged_log_dir_is_loaded_whole_or_given_up(world: int) -> None:
    chance = random.Random(world)
    for _ in range(STORIES):
        disk = filled(chance)
        for _ in range(chance.choice([1, 1, 1, 2, 4])):
            damage(disk, chance)
        for found in loaded(disk) or ():
            log = found.log
            assert log.log_start_offset <= found.high_watermark <= log.log_end_offset
            assert log.recovery_point <= log.log_end_offset
