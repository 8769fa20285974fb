"""The journal: every decision as one line, durable before anyone is told; replayed at the start.

A line is ``<crc32c in hex> [sequence, first sequence of its group, [[class, fields], ...]]``. All
lines of a group are made durable by one fsync. It decides nothing and knows no record's meaning.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

import msgspec
from crc32c import crc32c

from controller.core.decision import Decision, Durable
from controller.core.records import RECORD_CLASSES, Record
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.core.store import Loaded

COMPACT_BYTES_MIN: Final = 4 * 1024 * 1024
COMPACT_GROWTH: Final = 4
"""It is compacted when it has grown to so many times its size after the last compaction."""

_DECODERS: Final = {cls.__name__: msgspec.json.Decoder(cls) for cls in RECORD_CLASSES}
_CRC_LENGTH: Final = 8
_LINE_BEGIN: Final = re.compile(rb"[0-9a-f]{8} \[\d")
T = TypeVar("T")


class JournalCorruptError(Exception):
    """A line that was durable once is not what was written."""

    def __init__(self, path: Path, line_number: int, reason: str) -> None:
        super().__init__(f"{path}, line {line_number}: {reason}")
        self.path = path
        self.line_number = line_number


class JournalInUseError(Exception):
    """Another process holds the journal."""


class Entry(NamedTuple):
    """One decoded line."""

    sequence: int
    group: int
    """Sequence of the first line that was made durable together with this one."""
    records: list[Record]


def encode_entry(entry: Entry) -> bytes:
    """Return the line of one decision, line end included."""
    named = [(type(record).__name__, record) for record in entry.records]
    body = msgspec.json.encode((entry.sequence, entry.group, named))
    return b"%08x %s\n" % (crc32c(body), body)


def decode_entry(line: bytes) -> Entry:
    """Return the decision of a line without its line end.

    Raises:
        ValueError: it is damaged.
    """
    body = line[_CRC_LENGTH + 1 :]
    if line[: _CRC_LENGTH + 1] != b"%08x " % crc32c(body):
        raise ValueError("the checksum does not match")
    sequence, group, named = _decode_body(body)
    return Entry(sequence, group, [_decode_record(name, raw) for name, raw in named])


_decode_body: Final = msgspec.json.Decoder(tuple[int, int, list[tuple[str, msgspec.Raw]]]).decode


def _decode_record(name: str, raw: msgspec.Raw) -> Record:
    decoder = _DECODERS.get(name)
    if decoder is None:
        raise ValueError(f"unknown record {name}")
    return decoder.decode(raw)


@dataclass(slots=True)
class Replayed(Loaded):
    """What a journal's bytes hold."""

    next_sequence: int = 0
    size_bytes: int = 0
    """Without a torn tail."""


def replay(data: bytes, path: Path) -> Replayed:
    """Rebuild the state; lines that never became durable at the end are left out.

    Raises:
        JournalCorruptError: a damaged line that had been durable.
    """
    state = ClusterState()
    position = 0
    sequence = 0
    line_number = 0
    while position < len(data):
        end = data.find(b"\n", position)
        line = data[position : end if end >= 0 else len(data)]
        line_number += 1
        try:
            entry = decode_entry(line)
            _check_order(entry, sequence, is_whole=end >= 0)
        except ValueError as error:
            if _has_later_group(data, position, sequence):
                raise JournalCorruptError(path, line_number, str(error)) from error
            break
        for record in entry.records:
            record.apply(state)
        state.journal_number += 1
        sequence = entry.sequence + 1
        position = end + 1
    return Replayed(
        state,
        torn_bytes=len(data) - position,
        next_sequence=sequence,
        size_bytes=position,
    )


def _check_order(entry: Entry, expected: int, *, is_whole: bool) -> None:
    if not is_whole:
        raise ValueError("the line has no end")
    if entry.sequence != expected:
        raise ValueError(f"sequence {entry.sequence} where {expected} belongs")


def _has_later_group(data: bytes, position: int, sequence: int) -> bool:
    """Tell damage from a torn tail: a group that began later proves that this line was durable.

    Looks for the beginnings of lines themselves, as line ends may be damaged too.
    """
    for begin in _LINE_BEGIN.finditer(data, position):
        end = data.find(b"\n", begin.start())
        try:
            entry = decode_entry(data[begin.start() : end if end >= 0 else len(data)])
        except ValueError:
            continue
        if entry.group > sequence:
            return True
    return False


class JournalStore(Protocol):
    """Where a journal lies. Blocking: used by one thread at a time."""

    path: Path
    """For messages."""

    def open(self) -> bytes:
        """Take the lock, return the content. Raises JournalInUseError or OSError."""
        ...

    def truncate(self, size_bytes: int) -> None:
        """Cut a torn tail off."""
        ...

    def append(self, data: bytes) -> None:
        """Write at the end and make it durable."""
        ...

    def replace(self, data: bytes) -> None:
        """Put new content in the place of the old, all or nothing."""
        ...

    def close(self) -> None:
        """Release file and lock."""
        ...


class JournalFile:
    """The file of a journal and its lock. Implements ``JournalStore``."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "journal.jsonl"
        self._data_dir = data_dir
        self._lock: int | None = None
        self._fd: int | None = None

    def open(self) -> bytes:
        """Make the folder, take the lock, return the content.

        Raises:
            JournalInUseError: another controller runs on this folder.
            OSError: the folder cannot be used.
        """
        self._data_dir.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._data_dir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise JournalInUseError(f"{self._data_dir} belongs to a running controller") from error
        self._fd = self._open_file(self.path)
        self._sync_dir()
        return self.path.read_bytes()

    def truncate(self, size_bytes: int) -> None:
        """Cut a torn tail off."""
        assert self._fd is not None
        os.ftruncate(self._fd, size_bytes)
        os.fsync(self._fd)

    def append(self, data: bytes) -> None:
        """Write at the end and make it durable."""
        assert self._fd is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        os.fdatasync(self._fd)

    def replace(self, data: bytes) -> None:
        """Put new content in the place of the old, all or nothing."""
        new = self.path.with_suffix(".tmp")
        new.unlink(missing_ok=True)
        old, self._fd = self._fd, self._open_file(new)
        self.append(data)
        new.rename(self.path)
        self._sync_dir()
        if old is not None:
            os.close(old)

    def close(self) -> None:
        """Release file and lock."""
        for descriptor in (self._fd, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._fd = self._lock = None

    def _open_file(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        os.fchmod(descriptor, 0o600)  # It may be older than the credentials in it.
        return descriptor

    def _sync_dir(self) -> None:
        descriptor = os.open(self._data_dir, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Journal:
    """Appends decisions in groups; its file is touched in the executor's one thread only.

    Implements ``Store``.
    """

    def __init__(
        self,
        file: JournalStore,
        executor: Executor,
        *,
        compact_bytes_min: int = COMPACT_BYTES_MIN,
    ) -> None:
        """Prepare; ``load`` opens the file.

        Args:
            file: the file.
            executor: runs one job at a time, in order.
            compact_bytes_min: a journal smaller than this is never compacted.
        """
        self._file = file
        self._executor = executor
        self._next_sequence = 0
        self._size_bytes = 0
        self._compact_bytes_min = compact_bytes_min
        self._compact_at_bytes = compact_bytes_min

    async def load(self) -> Replayed:
        """Open the file, rebuild the state, cut off a torn tail.

        Raises:
            JournalCorruptError, JournalInUseError, OSError: as the file says.
        """
        replayed = replay(await self._run(self._file.open), self._file.path)
        if replayed.torn_bytes:
            await self._run(lambda: self._file.truncate(replayed.size_bytes))
        self._next_sequence = replayed.next_sequence
        self._size_bytes = replayed.size_bytes
        return replayed

    async def append(self, decisions: Sequence[Decision]) -> Durable:
        """Make decisions durable, one line for each that has records and one fsync for all.

        Returns:
            What lets their effects be done.

        Raises:
            OSError: the journal cannot be written; what is on disk is unknown until the next start.
        """
        group = self._next_sequence
        recorded = [decision.records for decision in decisions if decision.records]
        self._next_sequence += len(recorded)

        def job() -> int:
            entries = (Entry(group + i, group, list(each)) for i, each in enumerate(recorded))
            data = b"".join(map(encode_entry, entries))
            self._file.append(data)
            return len(data)

        if recorded:
            self._size_bytes += await self._run(job)
        return Durable(decisions[-1].journal_number)

    @property
    def should_compact(self) -> bool:
        """Whether the journal has grown enough to be replaced by a snapshot."""
        return self._size_bytes >= self._compact_at_bytes

    async def compact(self, state: ClusterState) -> Durable:
        """Replace the journal by one decision that rebuilds ``state``; it counts as one more.

        Call it only when every decision in ``state`` has been appended.
        """
        entry = Entry(0, 0, snapshot(state))
        state.journal_number += 1
        durable = Durable(state.journal_number)

        def job() -> int:
            data = encode_entry(entry)
            self._file.replace(data)
            return len(data)

        self._next_sequence = 1
        self._size_bytes = await self._run(job)
        self._compact_at_bytes = max(self._compact_bytes_min, COMPACT_GROWTH * self._size_bytes)
        return durable

    async def close(self) -> None:
        """Release file and lock."""
        await self._run(self._file.close)

    async def _run(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, job)
