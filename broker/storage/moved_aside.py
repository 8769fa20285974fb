"""What lies in a log dir goes into one folder within it, so that the log dir begins empty.

For log dirs that cannot be renamed as a whole: mount points. A crash on the way deletes nothing
and hides nothing: the checkpoints, by which a start knows what was there, leave last.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.storage.layout import is_left_alone, replaced_dir_name
from protocol.ports import Disk


def move_aside_within(disk: Disk, unique: str) -> None:
    """Move all that is not left alone by a start anyhow; ``unique`` is 32 hex digits."""
    names = [name for name in disk.list_dir("") if not is_left_alone(name)]
    folder = replaced_dir_name(unique)
    disk.make_dir(folder)
    disk.sync_dir("")
    logs = [name for name in names if disk.is_dir(name)]
    _move(disk, logs, folder)
    _move(disk, [name for name in names if name not in logs], folder)


def _move(disk: Disk, names: Iterable[str], folder: str) -> None:
    """Move durably: there first, gone from here afterwards."""
    for name in names:
        disk.rename(name, f"{folder}/{name}")
    disk.sync_dir(folder)
    disk.sync_dir("")
