"""Every operation of the victim's disks as a moment: there a copy of the world crashes.

The world itself goes on undisturbed. Copies whose disks and promises would be the same as a copy's
before are not made: they are counted with it. A torn power cut that leaves what a plain one does is
one of them.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple

from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import Operation
from simulation.matrix.forks import Forks
from simulation.matrix.outcome import DISK_ERRORS, Crash, CrashPoint
from simulation.world.node import SimNode

TORN_DRAWS: Final = 2
"""Torn power cuts at each change."""


class Crashed(SystemExit):
    """In a copy: the victim's process ends here, in the middle of a disk operation.

    asyncio lets a SystemExit pass through to who runs the loop.
    """


class _Key(NamedTuple):
    crash: Crash
    disks: bytes


class CrashPoints:
    """The moments of one story, at the operations of the disks of one node."""

    def __init__(
        self,
        nodes: Sequence[SimNode],
        crashes: Collection[Crash],
        forks: Forks[CrashPoint],
        *,
        promised: Callable[[], bytes],
        break_disk: Callable[[str], None],
        on_same: Callable[[CrashPoint, CrashPoint], None],
    ) -> None:
        """Look at nothing yet.

        Args:
            nodes: who crashes, and those that are killed at the same moment.
            crashes: the kinds.
            forks: makes the copies.
            promised: what sets a moment apart besides the disks: what was promised until then.
            break_disk: in a copy, lets the disk at a path fail for good.
            on_same: gets a moment that needs no copy, and the one that it is like.
        """
        self.moment: CrashPoint | None = None
        """In a copy: its own."""
        self.count = 0
        self._victim, *self._companions = nodes
        self._promised = promised
        self._break_disk = break_disk
        self._forks = forks
        self._crashes = [crash for crash in Crash if crash in crashes]
        self._on_same = on_same
        self._seen: dict[_Key, CrashPoint] = {}
        self._was_look = False

    def begin(self) -> None:
        """Look at every operation from now on."""
        for path, drive in self._victim.drives.items():
            drive.before_change = partial(self._on_change, path)
            if self._disk_errors():
                drive.before_operation = partial(self._on_operation, path)

    def end(self) -> None:
        """Look no more."""
        for drive in self._victim.drives.values():
            drive.before_change = drive.before_operation = None

    def cut_power(self, moment: CrashPoint) -> None:
        """Let the victim go dark, with the disks that ``moment`` is about."""
        for disk in self._disks():
            disk.power_cut(chance_of(moment))
        self._victim.power_cut()

    # Crashes in the middle of a change.

    def _on_change(self, path: str, operation: str, name: str) -> None:
        self.count += 1
        for moment in self._moments(path, f"{operation} {name}"):
            is_power = moment.crash is not Crash.KILL
            key = _Key(Crash.POWER_CUT if is_power else Crash.KILL, self._fingerprint(moment))
            like = self._seen.setdefault(key, moment)
            if like is not moment:
                self._on_same(moment, like)
            elif self._forks.fork(moment):
                self._become(moment)
                raise Crashed

    def _moments(self, path: str, before: str) -> Iterator[CrashPoint]:
        for crash in self._crashes:
            if crash is Crash.TORN:
                for draw in range(TORN_DRAWS):
                    yield CrashPoint(self.count, crash, path, before, draw)
            elif crash in {Crash.KILL, Crash.POWER_CUT}:
                yield CrashPoint(self.count, crash, path, before)

    def _become(self, moment: CrashPoint) -> None:
        self.moment = moment
        self.end()

    def _fingerprint(self, moment: CrashPoint) -> bytes:
        found = hashlib.blake2b(self._promised())
        for disk in self._disks():
            left = disk
            if moment.crash is not Crash.KILL:
                left = disk.copy()
                left.power_cut(chance_of(moment))
            _add_content(found, left)
        for node in self._companions:
            for drive in node.drives.values():
                _add_content(found, drive.disk.memory)
        return found.digest()

    def _disks(self) -> list[MemoryDisk]:
        return [drive.disk.memory for drive in self._victim.drives.values()]

    # A disk that fails.

    def _on_operation(self, path: str, operation: Operation) -> None:
        """From here on every operation of this disk fails in a copy; the story goes on there.

        Looks that follow each other find the same: only the first of them is a moment.
        """
        is_look, self._was_look = operation is Operation.LOOK, self._was_look
        if is_look and self._was_look:
            return
        self._was_look = is_look
        self.count += 1
        moment = CrashPoint(self.count, self._disk_errors()[0], path, operation.value)
        if self._victim.drives[path].faults.rules or not self._forks.fork(moment):
            return
        self._become(moment)
        self._break_disk(path)
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def _disk_errors(self) -> list[Crash]:
        return [each for each in self._crashes if each in DISK_ERRORS]


def chance_of(moment: CrashPoint) -> Random | None:
    """Return what draws the part of unsynced content that stays; None: nothing stays."""
    if moment.crash is Crash.TORN:
        return Random(f"{moment.number}/{moment.draw}")
    return None


def _add_content(found: hashlib.blake2b, disk: MemoryDisk) -> None:
    for name in disk.names_below():
        found.update(f"{disk.root}/{name} ".encode())
        if not disk.is_dir(name):
            found.update(disk.read_file(name))
