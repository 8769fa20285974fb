"""The two renames by which a move ends, and the note that lets a start after a crash finish them.

It does not decide when a future log has caught up, and it copies nothing.

Kafka renames the future log first, so that a crash leaves two current logs rather than none, and
then refuses to start. Here the future log carries a note: it wins over the log that the note names.

Source: LogManager.replaceCurrentWithFutureLog.
"""

from __future__ import annotations

import errno
from typing import Final, NamedTuple

from broker.storage.files import LogDirFiles
from broker.storage.layout import SWAP_NOTE_FILE, current_dir_name, delete_dir_name
from broker.storage.partition_log import PartitionLog
from protocol.ids import TopicPartition

_VERSION: Final = "0"


class SwapNote(NamedTuple):
    """What the promoted log replaces."""

    source_root: str
    """The log dir that holds the old log."""
    delete_name: str
    """The name that the old log gets."""


class Swap:
    """One promotion of a future log. Each step is a job of one log dir, in this order, each once.

    After ``promote`` the future log is the current one; a failure of the source in ``retire``
    changes nothing in that. The renames are jobs of the threads beside those that clients wait for.
    """

    __slots__ = ("_background_files", "_delete_name", "_future", "_name", "_source", "_source_root")

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        source: PartitionLog,
        source_root: str,
        future: PartitionLog,
        background_files: LogDirFiles,
        unique: str,
    ) -> None:
        """Note what is to be done.

        Args:
            topic_partition: whose logs they are.
            source: the current log.
            source_root: its log dir.
            future: the log that takes its place.
            background_files: the open files that ``future`` has up to then.
            unique: 32 hex digits for the name under which the old log waits for deletion.
        """
        self._name = current_dir_name(topic_partition)
        self._delete_name = delete_dir_name(topic_partition, unique)
        self._source = source
        self._source_root = source_root
        self._future = future
        self._background_files = background_files

    def promote(self, files: LogDirFiles) -> None:
        """On the destination's thread beside.

        Make the future log durable, write the note, give it the current name, and leave it to the
        thread of ``files``.
        """
        self._future.flush()
        note = SwapNote(self._source_root, self._delete_name)
        self._background_files.disk.write_atomic(
            f"{self._future.name}/{SWAP_NOTE_FILE}", render_swap_note(note)
        )
        self._future.rename(self._name)
        self._future.hand_over(files)

    def release(self, background_files: LogDirFiles) -> None:
        """On the source's own thread: leave the old log to the one beside."""
        self._source.leave_small_files()
        self._source.hand_over(background_files)

    def retire(self) -> None:
        """On the source's thread beside: set the old log aside for deletion."""
        self._source.rename(self._delete_name)

    def finish(self) -> None:
        """On the destination's thread beside: remove the note."""
        remove_swap_note(self._background_files, self._future.name)


def render_swap_note(note: SwapNote) -> bytes:
    """Return the note's content."""
    return f"{_VERSION}\n{note.source_root}\n{note.delete_name}\n".encode()


def read_swap_note(files: LogDirFiles, name: str) -> SwapNote | None:
    """Return the note in the log directory ``name``, None without one.

    Raises:
        OSError: the note is damaged, so that nobody can tell which log is the right one.
    """
    path = f"{name}/{SWAP_NOTE_FILE}"
    if not files.disk.exists(path):
        return None
    lines = files.disk.read_file(path).decode(errors="replace").split("\n")
    is_damaged = any("\N{REPLACEMENT CHARACTER}" in line for line in lines)
    if is_damaged or len(lines) != 4 or lines[0] != _VERSION:
        raise OSError(errno.EIO, f"malformed swap note {lines}", path)
    return SwapNote(lines[1], lines[2])


def remove_swap_note(files: LogDirFiles, name: str) -> None:
    """Remove the note from the log directory ``name``."""
    files.disk.remove(f"{name}/{SWAP_NOTE_FILE}")
    files.disk.sync_dir(name)
