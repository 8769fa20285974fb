"""The files and directories of a MemoryDisk, and what of them outlives a power cut.

It knows no names of files, raises no errors and cuts nothing by itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from protocol.ports import Buffer

_HOLE_SHARE: Final = 0.25
"""How often a kept tail has a hole: some file systems make a size durable before the content."""


class MemoryFile:
    """The bytes behind one name."""

    __slots__ = ("data", "modified_ms", "synced")

    def __init__(self, synced: bytes = b"", modified_ms: int = 0) -> None:
        self.data = bytearray(synced)
        self.modified_ms = modified_ms
        self.synced = synced

    def append(self, buffers: Sequence[Buffer], now_ms: int = 0) -> None:
        """Add content that is not durable."""
        self.modified_ms = now_ms
        for buffer in buffers:
            self.data += buffer

    def sync(self) -> None:
        """Make the content durable."""
        self.synced = bytes(self.data)

    def lose_unsynced(self) -> None:
        """Turn back to what is durable."""
        self.data = bytearray(self.synced)


class MemoryDir:
    """The names in one directory."""

    __slots__ = ("children", "lost", "pending", "synced")

    def __init__(self) -> None:
        self.children: dict[str, MemoryNode] = {}
        self.synced: dict[str, MemoryNode] = {}
        self.pending: list[dict[str, MemoryNode | None]] = []
        """What happened to names since the last sync, in order; None: the name went."""
        self.lost: dict[str, MemoryNode | None] = {}
        """What is durable of names whose last change never will be; None: not there."""

    def change(self, names: dict[str, MemoryNode | None]) -> None:
        """Give names to nodes or take them away (None), all in one step."""
        _apply(self.children, names)
        self.pending.append(names)
        for name in names:
            self.lost.pop(name, None)

    def sync(self) -> None:
        """Make the names durable, not what is behind them.

        A directory may hold thousands of files that wait for their removal: only what changed is
        written down, but where a change never becomes durable.
        """
        if self.lost:
            self.synced = dict(self.children)
            _apply(self.synced, self.lost)
        else:
            for change in self.pending:
                _apply(self.synced, change)
        self.pending.clear()

    def lose(self, name: str) -> None:
        """Never make durable what last happened to a name."""
        self.lost[name] = self.synced.get(name)
        for change in self.pending:
            change.pop(name, None)

    def lose_unsynced(self) -> None:
        """Turn back to the names that are durable."""
        self.children = dict(self.synced)
        self.pending.clear()
        self.lost.clear()


MemoryNode: TypeAlias = MemoryDir | MemoryFile


def left_by_power_cut(directory: MemoryDir, chance: random.Random | None = None) -> MemoryDir:
    """Return what a power cut leaves of a tree: what was synced.

    With ``chance`` also a drawn part of the rest: of each file a part of what was written since its
    sync, of each directory its first changes (journals keep their order).
    """
    names = dict(directory.synced)
    if chance is not None:
        for change in directory.pending[: chance.randint(0, len(directory.pending))]:
            _apply(names, change)
    left = MemoryDir()
    for name, node in names.items():
        left.children[name] = (
            left_by_power_cut(node, chance)
            if isinstance(node, MemoryDir)
            else MemoryFile(_durable_content(node, chance), node.modified_ms)
        )
    left.synced = dict(left.children)
    return left


def sync_below(directory: MemoryDir) -> None:
    """Make a whole tree durable."""
    directory.sync()
    for node in directory.children.values():
        if isinstance(node, MemoryDir):
            sync_below(node)
        else:
            node.sync()


def lose_unsynced_below(directory: MemoryDir) -> None:
    """Turn a whole tree back to what is durable."""
    directory.lose_unsynced()
    for node in directory.children.values():
        if isinstance(node, MemoryDir):
            lose_unsynced_below(node)
        else:
            node.lose_unsynced()


def files_below(directory: MemoryDir) -> Iterator[MemoryFile]:
    """Give every file of a tree."""
    for node in directory.children.values():
        if isinstance(node, MemoryDir):
            yield from files_below(node)
        else:
            yield node


def _apply(names: dict[str, MemoryNode], change: dict[str, MemoryNode | None]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def _durable_content(file: MemoryFile, chance: random.Random | None) -> bytes:
    synced, data = file.synced, bytes(file.data)
    if chance is None or data == synced:
        return synced
    if not data.startswith(synced) and chance.random() < 0.5:
        return synced
    certain = _same_until(synced, data)
    end = chance.randint(certain, len(data))
    if end > certain and chance.random() < _HOLE_SHARE:
        start = chance.randint(certain, end)
        return data[:start] + bytes(end - start)
    return data[:end]


def _same_until(synced: bytes, data: bytes) -> int:
    """Return how far both are the same; a cut file and one written anew part early."""
    low, high = 0, min(len(synced), len(data))
    while low < high:
        middle = (low + high + 1) // 2
        if synced[:middle] == data[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
