"""Log start offsets that are written down at once: what is answered as deleted never comes back.

At most one write of a log dir is queued or under way, and one more is due for all who ask
meanwhile. Which offsets rise is decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog
from broker.engine.state import EngineState
from broker.storage.log_dir import LogDir
from broker.storage.shutdown import write_log_start_offsets
from protocol.ids import TopicPartition


class LogStartWrites:
    """Writes ``log-start-offset-checkpoint`` of single log dirs for those who wait for it."""

    def __init__(
        self,
        state: EngineState,
        logs_of: Callable[[LogDir], Mapping[TopicPartition, HostedLog[LogPositions]]],
    ) -> None:
        self._state = state
        self._logs_of = logs_of
        self._asked: dict[str, asyncio.Future[bool]] = {}
        """Of the next write of each log dir, by path."""
        self._writing: dict[str, None] = {}
        """Log dirs with a write that is due in this turn, queued or under way."""

    def ask(self, log_dir: LogDir) -> asyncio.Future[bool]:
        """Have the log starts of now written, also where the files do not have them yet.

        The future tells whether they are; False: the log dir went offline before.
        """
        asked = self._asked.get(log_dir.path)
        if asked is None:
            asked = self._asked[log_dir.path] = self._state.loop.create_future()
            if log_dir.path not in self._writing:
                self._writing[log_dir.path] = None
                self._state.loop.call_soon(self._write, log_dir)
        return asked

    def _write(self, log_dir: LogDir) -> None:
        asked = self._asked.pop(log_dir.path)
        logs = self._logs_of(log_dir)
        starts = {tp: log.positions.log_start_offset for tp, log in logs.items()}
        files = {tp: log.files for tp, log in logs.items()}
        job = partial(write_log_start_offsets, log_dir.disk, files, raised=starts)
        try:
            written = log_dir.queue.submit("write log starts", job)
        except LogDirFailed:
            self._end(log_dir, asked, is_written=False)
        else:
            written.add_done_callback(partial(self._on_written, log_dir, asked))

    def _on_written(
        self, log_dir: LogDir, asked: asyncio.Future[bool], written: asyncio.Future[None]
    ) -> None:
        is_written = not written.cancelled() and written.exception() is None
        self._end(log_dir, asked, is_written=is_written)

    def _end(self, log_dir: LogDir, asked: asyncio.Future[bool], *, is_written: bool) -> None:
        asked.set_result(is_written)
        if log_dir.path in self._asked:
            self._state.loop.call_soon(self._write, log_dir)
        else:
            del self._writing[log_dir.path]
