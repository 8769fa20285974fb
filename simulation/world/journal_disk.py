"""The controller's journal on a simulated disk, with the same power cuts and faults as log dirs.

What of it is durable is followed as it is written.
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
from simulation.sampling.durable_decisions import DurableDecisions

JOURNAL_FILE: Final = "journal.jsonl"


class DiskJournal:
    """A journal on a ``Disk``. Implements ``JournalStore``."""

    def __init__(self, disk: Disk) -> None:
        self.path = Path(disk.root) / JOURNAL_FILE
        self._disk = disk
        self._file: DiskFile | None = None
        self.durable_number = 0
        """The journal number of the last decision that is on the disk, as its bytes tell."""
        self.durable = DurableDecisions()
        """All decisions that are on the disk."""

    def open(self) -> bytes:
        self._disk.prepare()
        try:
            self._disk.lock()
        except BlockingIOError as error:
            raise JournalInUseError(f"{self._disk.root} belongs to a running controller") from error
        self._file = self._disk.open(JOURNAL_FILE, create=True)
        self._disk.sync_dir("")
        data = self._disk.read_file(JOURNAL_FILE)
        self._begin(data)
        return data

    def truncate(self, size_bytes: int) -> None:
        assert self._file is not None
        self._file.truncate(size_bytes)
        self._file.sync()

    def append(self, data: bytes) -> None:
        assert self._file is not None
        self._file.append([data])
        self._file.sync()
        self._count(data)

    def replace(self, data: bytes) -> None:
        self._disk.write_atomic(JOURNAL_FILE, data)
        self._file = self._disk.open(JOURNAL_FILE, create=False)
        self._begin(data)

    def close(self) -> None:
        self._file = None
        self._disk.drop_lock()

    def _begin(self, data: bytes) -> None:
        state = replay(data, self.path).state
        self.durable_number = state.journal_number
        self.durable.begin(state)

    def _count(self, data: bytes) -> None:
        """Follow what was just made durable; only a start may leave numbers out."""
        for line in data.splitlines():
            records = decode_entry(line).records
            for record in records:
                if isinstance(record, ControllerStarted):
                    self.durable_number = max(self.durable_number, record.journal_number)
            self.durable.take(records)
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
