"""The doors to the outside world as typing.Protocol classes.

No code: rooms implement them, cores never call them.

The network's door is the event loop itself (``loop.create_server``, ``loop.create_connection``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview


class WallClock(Protocol):
    """Record timestamps and file ages. Durations come from ``loop.time()``, never from here."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        ...


class DiskUsage(NamedTuple):
    """Space of the file system that holds a log dir."""

    total_bytes: int
    usable_bytes: int


class RpcPort(Protocol):
    """A connection to another node that connects on first use and again after a loss."""

    # Any: which class answers which is in the API table, beyond what a type can say.
    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        """Send and wait for the answer.

        Raises:
            ConnectionError: refused or lost; MalformedAnswer, which is one, when the node sent what
                is no answer.
            TimeoutError: no answer within ``timeout_ms``.
        """
        ...

    def close(self) -> None:
        """Drop the connection; waiting requests end with ConnectionError."""
        ...


class DiskFile(Protocol):
    """An open file of one log dir. Every method may raise OSError.

    Short writes are the implementation's to finish.
    """

    def append(self, buffers: Sequence[Buffer]) -> int:
        """Write all of ``buffers`` at the end; return the new size in bytes."""
        ...

    def read(self, position: int, size_bytes: int) -> bytes:
        """Read at most ``size_bytes`` from ``position``; shorter only at the end of the file."""
        ...

    def forget(self, position: int) -> None:
        """Have what is durable behind ``position`` read from the device the next time.

        What is not written back yet stays in memory. It is no operation of the disk.
        """
        ...

    def size(self) -> int:
        """Return the size in bytes."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut the file to ``size_bytes``."""
        ...

    def sync(self) -> None:
        """Make content and size durable (fsync)."""
        ...

    def close(self) -> None:
        """Release the descriptor.

        Never called on the files of a failed log dir: closing can hang.
        """
        ...


class Disk(Protocol):
    """One log dir's file system. Every method may raise OSError and nothing else.

    Names are relative to its root, with ``/``; "" is the root. Blocking: only threads of the log
    dir call it.
    """

    @property
    def root(self) -> str:
        """The absolute path, for messages."""
        ...

    @property
    def operations_count(self) -> int:
        """Operations begun so far, those of open files included.

        Read by the loop: the watchdog sees by it that a disk stands still.
        """
        ...

    def for_second_thread(self) -> Disk:
        """Return the same disk for another thread, with a count of operations of its own.

        Two threads never write a file at the same time; one may read what the other appends.
        """
        ...

    def prepare(self) -> None:
        """Create the root when it is missing and remember which directory it is; the first call.

        Raises:
            OSError: the root is no directory that can be read, or cannot be made.
        """
        ...

    def check_root(self) -> None:
        """Do nothing while the root is still the directory that ``prepare`` saw.

        Raises:
            OSError: it was renamed away, replaced or unmounted; open files would not have told.
        """
        ...

    def open(self, name: str, *, create: bool) -> DiskFile:
        """Open for reading and appending; without ``create`` a missing one is an error."""
        ...

    def read_file(self, name: str) -> bytes:
        """Return the whole content."""
        ...

    def write_file(self, name: str, data: Buffer) -> None:
        """Replace the content in place, not durable: for files whose loss is harmless."""
        ...

    def replace_file(self, name: str, data: Buffer) -> None:
        """Write ``name.tmp`` and rename it over ``name``.

        Whole after a crash of the process; after a power cut only when it was synced.
        """
        ...

    def write_atomic(self, name: str, data: Buffer) -> None:
        """Write ``name.tmp``, sync it, rename it over ``name``, sync the directory."""
        ...

    def make_dir(self, name: str) -> None:
        """Create one directory; FileExistsError when it exists."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a directory."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...

    def remove_tree(self, name: str) -> None:
        """Remove a directory and all below it; missing parts are not an error."""
        ...

    def list_dir(self, name: str) -> list[str]:
        """Return the entries' names, sorted."""
        ...

    def exists(self, name: str) -> bool:
        """Tell whether ``name`` is there. Raises OSError when that cannot be known."""
        ...

    def is_dir(self, name: str) -> bool:
        """Tell whether ``name`` is a directory."""
        ...

    def size(self, name: str) -> int:
        """Return a file's size in bytes."""
        ...

    def modified_ms(self, name: str) -> int:
        """Return when a file was last written, in ms of the time of day."""
        ...

    def sync_file(self, name: str) -> None:
        """Make one file's content durable."""
        ...

    def sync_dir(self, name: str) -> None:
        """Make a directory's entries durable."""
        ...

    def sync_all(self) -> None:
        """Make all that was written to the file system durable: cheaper than many syncs."""
        ...

    def usage(self) -> DiskUsage:
        """Return the space of the file system (or of the configured capacity)."""
        ...

    def lock(self) -> None:
        """Take the exclusive OS lock on ``.lock``; BlockingIOError when another one has it."""
        ...

    def unlock(self) -> None:
        """Release the lock and remove the file."""
        ...

    def drop_lock(self) -> None:
        """Release the lock without touching the file: the log dir failed, or is another disk now.

        Never fails.
        """
        ...


class DiskWorker(Protocol):
    """Where a log dir's jobs run.

    Its own daemon thread in the real world, inline with virtual latency in the simulation.
    """

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        """Run ``jobs`` in order, then call ``done`` on the loop: one result or exception per job.

        After the first job that raises OSError the rest are not run; theirs is that same OSError.
        Called again only after ``done``. A hang never calls ``done``.
        """
        ...

    def abandon(
        self,
        last: Callable[[], None] | None = None,
        on_last: Callable[[], None] | None = None,
    ) -> None:
        """End the thread: ``done`` is never called again. A hung call may stay behind.

        ``last`` runs behind it, if that ever returns, and then ``on_last`` on the loop.
        """
        ...
