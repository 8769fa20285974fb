"""What a simulated disk holds, and what of it a power cut would leave.

It looks behind the faults that are laid over a disk, takes no time and counts as no operation.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from broker.storage.memory_tree import MemoryDir, MemoryFile, MemoryNode
from protocol.ports import Disk


def tree_of(disk: Disk) -> MemoryDir | None:
    """Return what lies on a simulated disk that does what it is told; None of another one.

    A disk with faults in force may read and write what it likes. On one that wrote to wrong places
    before (seed 163), or whose files were edited by hand, lies what no broker knows of.
    """
    inner: object = disk
    while isinstance(inner, FaultyDisk):
        if inner.rules or inner.struck_files:
            return None
        inner = inner._inner  # noqa: SLF001 -- behind the faults
    memory: object = getattr(inner, "memory", inner)
    if not isinstance(memory, MemoryDisk) or memory.is_edited:
        return None
    return memory._tree  # noqa: SLF001 -- as it is


def content(tree: MemoryDir, name: str) -> bytes | None:
    """Return what is in a file, durable or not; None without one."""
    node: MemoryNode | None = tree
    for part in name.split("/"):
        node = node.children.get(part) if isinstance(node, MemoryDir) else None
    return bytes(node.data) if isinstance(node, MemoryFile) else None


def durable(tree: MemoryDir, name: str) -> bytes | None:
    """Return what a power cut is sure to leave of a file; None: nothing."""
    node: MemoryNode | None = tree
    for part in name.split("/"):
        node = node.synced.get(part) if isinstance(node, MemoryDir) else None
    return node.synced if isinstance(node, MemoryFile) else None


def has_durable(tree: MemoryDir, name: str, size_bytes: int) -> bool:
    """Tell whether so much of a file, as it is now, outlives a power cut.

    Also of one that is gone, or whose name the disk never keeps, which is the disk's own fault.
    """
    now: MemoryNode | None = tree
    kept: MemoryNode | None = tree
    for part in name.split("/"):
        now = now.children.get(part) if isinstance(now, MemoryDir) else None
        kept = kept.synced.get(part) if isinstance(kept, MemoryDir) else None
    if not isinstance(now, MemoryFile) or is_spoilt(tree, name):
        return True
    if not isinstance(kept, MemoryFile):
        return False
    return kept.synced[:size_bytes] == bytes(now.data[:size_bytes])


def is_spoilt(tree: MemoryDir, name: str) -> bool:
    """Tell whether a disk will never keep the name of a file, or of a directory around it."""
    node: MemoryNode | None = tree
    for part in name.split("/"):
        if not isinstance(node, MemoryDir):
            return False
        if part in node.lost:
            return True
        node = node.children.get(part)
    return False
