"""What somebody does to the files of a log dir past its broker: puts, takes and reads them.

The same for real disks and for those in memory. What is changed is durable at once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from broker.storage.layout import LOG_SUFFIX
from protocol.ports import Disk
from simulation.core.file_text import WHOLE_LOG_DIR, small_text


def put_file(disk: Disk, name: str, text: str) -> None:
    """Put a file there, with the directories above it.

    Raises:
        OSError: a file is where a directory must be, or the other way round.
    """
    parts = name.split("/")
    above = ["/".join(parts[:depth]) for depth in range(len(parts))]
    for each in above[1:]:
        if not disk.exists(each):
            disk.make_dir(each)
    disk.write_file(name, text.encode())
    disk.sync_file(name)
    for each in above:
        disk.sync_dir(each)


def take_file(disk: Disk, name: str) -> None:
    """Take a file or a directory away, or all that the log dir holds.

    Raises:
        OSError: there is nothing of this name.
    """
    is_whole = name == WHOLE_LOG_DIR
    if not is_whole and not disk.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    for each in disk.list_dir("") if is_whole else [name]:
        if disk.is_dir(each):
            disk.remove_tree(each)
        else:
            disk.remove(each)
    disk.sync_dir("" if is_whole else name.rpartition("/")[0])


def holds_records(disk: Disk, name: str) -> bool:
    """Tell whether records lie under this name."""
    below = "" if name == WHOLE_LOG_DIR else f"{name}/"
    return any(
        each.endswith(LOG_SUFFIX) and (each == name or each.startswith(below))
        for each in _names_below(disk)
    )


def texts_below(disk: Disk) -> dict[str, str]:
    """Return names and texts as ``ClusterInstance.files`` does; what goes meanwhile is left out."""
    found: dict[str, str] = {}
    for name in _names_below(disk):
        try:
            found[name] = "" if disk.is_dir(name) else small_text(disk.read_file(name))
        except FileNotFoundError:
            continue
    return found


def _names_below(disk: Disk, name: str = "") -> Iterator[str]:
    """Give every name below a directory, directories before what is in them."""
    try:
        bases = disk.list_dir(name)
    except FileNotFoundError:
        return
    for base in bases:
        path = f"{name}/{base}" if name else base
        yield path
        if disk.is_dir(path):
            yield from _names_below(disk, path)
