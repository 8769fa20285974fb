"""What faults do to bytes on their way to and from a disk. Which are met is decided elsewhere."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Final

from broker.storage.fault_rules import file_class_of
from protocol.ports import Disk

_VICTIM_BYTES_MAX: Final = 64 << 20
"""Larger files are left alone: what is overwritten is read and written as a whole."""


def injected(number: int, name: str) -> OSError:
    """Return the error of a fault, told apart from a real one by its text."""
    return OSError(number, f"{os.strerror(number)} (injected)", name)


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
