"""The controller's journal on a simulated disk, with the same power cuts and faults as log dirs.

Nothing of the journal's content is known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Final

from controller.core.records import ControllerStarted
from controller.journal import JournalInUseError, decode_entry, replay
from protocol.ports import Disk, DiskFile, DiskWorker

JOURNAL_FILE: Final = "journal.jsonl"
_STARTED: Final = ControllerStarted.__name__.encode()


class DiskJournal:
    """A journal on a ``Disk``. Implements ``JournalStore``."""

    def __init__(self, disk: Disk) -> None:
        self.path = Path(disk.root) / JOURNAL_FILE
        self._disk = disk
        self._file: DiskFile | None = None
        self.durable_number = 0
        """The journal number of the last decision that is on the disk, as its bytes tell."""

    def open(self) -> bytes:
        """See ``JournalStore.open``."""
        self._disk.prepare()
        try:
            self._disk.lock()
        except BlockingIOError as error:
            raise JournalInUseError(f"{self._disk.root} belongs to a running controller") from error
        self._file = self._disk.open(JOURNAL_FILE, create=True)
        self._disk.sync_dir("")
        data = self._disk.read_file(JOURNAL_FILE)
        self.durable_number = replay(data, self.path).state.journal_number
        return data

    def truncate(self, size_bytes: int) -> None:
        """See ``JournalStore.truncate``."""
        assert self._file is not None
        self._file.truncate(size_bytes)
        self._file.sync()

    def append(self, data: bytes) -> None:
        """See ``JournalStore.append``."""
        assert self._file is not None
        self._file.append([data])
        self._file.sync()
        self._count(data)

    def replace(self, data: bytes) -> None:
        """See ``JournalStore.replace``."""
        self._disk.write_atomic(JOURNAL_FILE, data)
        self._file = self._disk.open(JOURNAL_FILE, create=False)
        self._count(data)

    def close(self) -> None:
        """See ``JournalStore.close``."""
        self._file = None
        self._disk.drop_lock()

    def _count(self, data: bytes) -> None:
        """Follow the numbers of what was just made durable; only a start may leave some out."""
        for line in data.splitlines():
            if _STARTED in line:
                for record in decode_entry(line).records:
                    if isinstance(record, ControllerStarted):
                        number = record.journal_number
                        self.durable_number = max(self.durable_number, number)
            self.durable_number += 1


class SimExecutor(Executor):
    """The executor of the world: the only one that ``SimLoop.run_in_executor`` takes."""

    def __init__(self, worker: DiskWorker) -> None:
        self._worker = worker

    async def call(self, job: Callable[[], Any]) -> Any:
        """Run ``job`` on the disk's worker and return its result."""
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._worker.run([job], done.set_result)
        (result,) = await done
        if isinstance(result, BaseException):
            raise result
        return result
