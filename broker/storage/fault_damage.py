"""What faults do to bytes on their way to and from a disk. Which are met is decided elsewhere."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, assert_never

from broker.storage.fault_rules import file_class_of
from protocol.faults.model import DiskMode
from protocol.ports import Disk

WriteDamage: TypeAlias = Literal[DiskMode.TORN_WRITE, DiskMode.MISDIRECTED_WRITE]
ReadDamage: TypeAlias = Literal[DiskMode.BIT_FLIP, DiskMode.SHORT_READ]
SyncDamage: TypeAlias = Literal[DiskMode.SYNC_FAILURE]
NameDamage: TypeAlias = Literal[DiskMode.LOST_ENTRY]
Damage: TypeAlias = WriteDamage | ReadDamage | SyncDamage | NameDamage
"""The modes that are done to data or names on their way, by the operation that meets them."""

_VICTIM_BYTES_MAX: Final = 64 << 20
"""Larger files are left alone: what is overwritten is read and written as a whole."""


def damage_of(mode: DiskMode) -> Damage | None:
    """Return the mode if it is one of damage; None: it lets an operation fail or wait."""
    match mode:
        case DiskMode.EIO | DiskMode.ENOSPC | DiskMode.READ_ONLY | DiskMode.HANG | DiskMode.SLOW:
            return None
        case (
            DiskMode.TORN_WRITE
            | DiskMode.MISDIRECTED_WRITE
            | DiskMode.BIT_FLIP
            | DiskMode.SHORT_READ
            | DiskMode.SYNC_FAILURE
            | DiskMode.LOST_ENTRY
        ):
            return mode
        case _:
            assert_never(mode)


def injected(number: int, name: str) -> OSError:
    """Return the error of a fault, told apart from a real one by its text."""
    return OSError(number, f"{os.strerror(number)} (injected)", name)


def damaged(data: bytes, damage: ReadDamage | None, chance: random.Random) -> bytes:
    """Return what a read gives of ``data``."""
    match damage:
        case None:
            return data
        case DiskMode.BIT_FLIP:
            return flip_bit(data, chance)
        case DiskMode.SHORT_READ:
            return part_of(data, chance)
        case _:
            assert_never(damage)


def flip_bit(data: bytes, chance: random.Random) -> bytes:
    """Return ``data`` with one bit changed."""
    if not data:
        return data
    flipped = bytearray(data)
    bit = chance.randrange(len(data) * 8)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def part_of(data: bytes, chance: random.Random) -> bytes:
    """Return a part of ``data`` from its start, not all."""
    return data[: chance.randrange(max(1, len(data)))]


def write_elsewhere(disk: Disk, name: str, data: bytes, chance: random.Random) -> str | None:
    """Write over a drawn place of another file of the same class; return its name, if any."""
    victims = [each for each in _files(disk, "") if _may_suffer(disk, name, each)]
    if not victims:
        return None
    victim = victims[chance.randrange(len(victims))]
    content = bytearray(disk.read_file(victim))
    at = chance.randrange(max(1, len(content) - len(data) + 1))
    content[at : at + len(data)] = data[: len(content) - at]
    disk.write_file(victim, content)
    return victim


def _files(disk: Disk, below: str) -> Iterator[str]:
    for entry in disk.list_dir(below):
        name = f"{below}/{entry}" if below else entry
        if not disk.is_dir(name):
            yield name
        elif not below:
            yield from _files(disk, name)


def _may_suffer(disk: Disk, name: str, other: str) -> bool:
    return (
        other != name
        and file_class_of(other) is file_class_of(name)
        and 0 < disk.size(other) <= _VICTIM_BYTES_MAX
    )
