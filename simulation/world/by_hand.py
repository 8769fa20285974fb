"""What somebody does to the files of a simulated disk by hand, past its broker and its faults.

It takes no time, and what is changed is durable at once.
"""

from __future__ import annotations

import errno
import os

from broker.storage.layout import LOG_SUFFIX
from broker.storage.memory_disk import MemoryDisk
from simulation.core.file_text import WHOLE_LOG_DIR, small_text


def write_by_hand(memory: MemoryDisk, name: str, text: str) -> None:
    """Put a file there, with the directories above it.

    Raises:
        OSError: a file is where a directory must be, or the other way round.
    """
    parts = name.split("/")
    above = ["/".join(parts[:depth]) for depth in range(len(parts))]
    for each in above[1:]:
        if not memory.exists(each):
            memory.make_dir(each)
    memory.write_file(name, text.encode())
    memory.sync_file(name)
    for each in above:
        memory.sync_dir(each)


def remove_by_hand(memory: MemoryDisk, name: str) -> None:
    """Take a file or a directory away, or all there is.

    Raises:
        OSError: there is nothing of this name.
    """
    is_whole = name == WHOLE_LOG_DIR
    if not is_whole and not memory.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    for each in memory.list_dir("") if is_whole else [name]:
        memory.remove_tree(each)
    memory.sync_dir("" if is_whole else name.rpartition("/")[0])


def holds_records(memory: MemoryDisk, name: str) -> bool:
    """Tell whether records lie under this name."""
    below = "" if name == WHOLE_LOG_DIR else f"{name}/"
    return any(
        each.endswith(LOG_SUFFIX) and (each == name or each.startswith(below))
        for each in texts_below(memory)
    )


def texts_below(memory: MemoryDisk) -> dict[str, str]:
    """Return every name with its text, as ``Stage.files`` does."""
    return {
        name: "" if memory.is_dir(name) else small_text(memory.read_file(name))
        for name in memory.names_below()
    }
