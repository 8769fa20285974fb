"""What this broker knows of the controller's journal: heard, kept in its log dirs, and reported.

A controller whose journal is behind learns from it. It decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from broker.core.log_dirs import LogDirFailed
from broker.storage.journal_checkpoint import (
    JOURNAL_CHECKPOINT,
    JournalCheckpoint,
    newest,
    render_journal_checkpoint,
)
from broker.storage.log_dir import LogDir
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, uuid_text
from protocol.messages.journal import JournalReport, JournalStamp, ReportedTopic, stamp_of
from protocol.messages.lifecycle import BrokerRegistrationResponse
from protocol.transport.alarm import Alarm

WRITE_AFTER_MS: Final = 5_000
"""A number alone is on disk so much later at most, as the high watermarks are."""
COPIES_WANTED: Final = 2
"""A block of producer ids is used once so many log dirs have it; or all that there are."""
COPIES_WITHIN_MS: Final = 500
"""A log dir that hangs is waited for no longer, when another one has it."""
logger = logging.getLogger(__name__)


class JournalKnowledge:
    """The knowledge of one broker. ``load`` it first; call it on the loop."""

    def __init__(
        self,
        log_dirs: Callable[[], Iterable[LogDir]],
        topics: Callable[[], Sequence[ReportedTopic]],
    ) -> None:
        """Know nothing yet.

        Args:
            log_dirs: all log dirs, online or not.
            topics: the online replicas.
        """
        self._log_dirs = log_dirs
        self._topics = topics
        self._known = JournalCheckpoint()
        self._alarm = Alarm(self._write)

    def load(self, found: Iterable[JournalCheckpoint]) -> None:
        """Take what lies in log dirs, besides what is known already."""
        self._known = newest([*found, self._known])

    def report(self, *, with_replicas: bool) -> JournalReport:
        """Return what the controller is told."""
        known = self._known
        return JournalReport(
            journal_id=known.journal_id,
            controller_epoch=known.controller_epoch,
            journal_number=known.journal_number,
            producer_ids_end=known.producer_ids_end,
            topics=self._topics() if with_replicas else None,
        )

    def heard(self, message: Any) -> None:
        """Remember which decision is behind a request or an answer of a controller."""
        stamp = stamp_of(message)
        if stamp is None:
            return
        known = self._known
        journal_id = bytes(stamp.journal_id)
        if journal_id != known.journal_id:
            if known.journal_id == ZERO_UUID or _is_accepted(message):
                self._take_up(journal_id, stamp)
        elif (stamp.controller_epoch, stamp.journal_number) > (
            known.controller_epoch,
            known.journal_number,
        ):
            is_new_epoch = stamp.controller_epoch > known.controller_epoch
            if is_new_epoch and _is_refused(message):
                return  # That controller may lack what this broker knows, and has to hear it first.
            self._change(stamp)
            self._write_soon(0 if is_new_epoch else WRITE_AFTER_MS)

    async def take_block(self, producer_ids_end: int) -> None:
        """Have it on disk that producer ids up to an end are given, before the first one is used.

        Law 3: one log dir that hangs is not waited for, if another one has it.
        """
        self._known = replace(
            self._known,
            generation=self._known.generation + 1,
            producer_ids_end=max(self._known.producer_ids_end, producer_ids_end),
        )
        enough = _Copies(self._write())
        with suppress(TimeoutError):
            async with asyncio.timeout(COPIES_WITHIN_MS / 1000):
                await enough.wanted.wait()
        await enough.first.wait()

    def write_now(self) -> None:
        """Queue the writes of what is not on disk yet: the broker ends."""
        if self._alarm.is_set:
            self._alarm.silence()
            self._write()

    def _take_up(self, journal_id: bytes, stamp: JournalStamp) -> None:
        if self._known.journal_id != ZERO_UUID:
            logger.warning("the controller has another journal now: %s", uuid_text(journal_id))
        self._known = replace(self._known, journal_id=journal_id)
        self._change(stamp)
        self._write_soon(0)

    def _change(self, stamp: JournalStamp) -> None:
        self._known = replace(
            self._known,
            generation=self._known.generation + 1,
            controller_epoch=stamp.controller_epoch,
            journal_number=stamp.journal_number,
        )

    def _write_soon(self, after_ms: int) -> None:
        self._alarm.ring_by(asyncio.get_running_loop().time() + after_ms / 1000)

    def _write(self) -> list[asyncio.Future[None]]:
        data = render_journal_checkpoint(self._known)
        writing: list[asyncio.Future[None]] = []
        for log_dir in self._log_dirs():
            if log_dir.is_online:
                job = partial(log_dir.disk.write_atomic, JOURNAL_CHECKPOINT, data)
                try:
                    written = log_dir.queue.submit("write journal checkpoint", job)
                except LogDirFailed:
                    continue
                written.add_done_callback(_note_outcome)
                writing.append(written)
        return writing


class _Copies:
    """Counts the log dirs that have written."""

    def __init__(self, writing: Sequence[asyncio.Future[None]]) -> None:
        self.first = asyncio.Event()
        """One has, or none can."""
        self.wanted = asyncio.Event()
        """As many as are wanted have, or all that there are."""
        self._open_count = len(writing)
        self._count = 0
        for one in writing:
            one.add_done_callback(self._on_done)
        self._look()

    def _on_done(self, written: asyncio.Future[None]) -> None:
        self._open_count -= 1
        self._count += not written.cancelled() and written.exception() is None
        self._look()

    def _look(self) -> None:
        if self._count or not self._open_count:
            self.first.set()
        if self._count >= COPIES_WANTED or not self._open_count:
            self.wanted.set()


def _is_accepted(message: Any) -> bool:
    return isinstance(message, BrokerRegistrationResponse) and message.error_code == ErrorCode.NONE


def _is_refused(message: Any) -> bool:
    return getattr(message, "error_code", ErrorCode.NONE) != ErrorCode.NONE


def _note_outcome(written: asyncio.Future[None]) -> None:
    """Take the exception of a log dir that failed: its failure is told by itself."""
    if not written.cancelled():
        written.exception()
