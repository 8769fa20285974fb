"""Logs on their way out: renamed to ``-delete`` at once, removed after ``file.delete.delay.ms``.

Logs of a log dir that fails meanwhile stay where they are.
Source: LogManager.scala asyncDelete, deleteLogs.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from functools import partial

from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog
from broker.engine.state import EngineState
from broker.storage.disk_queue import DiskQueue
from broker.storage.layout import delete_dir_name, stray_dir_name
from broker.storage.partition_log import PartitionLog
from protocol.ids import TopicPartition

logger = logging.getLogger(__name__)


class Deletions:
    """The logs that wait to be removed."""

    def __init__(self, state: EngineState, on_gone: Callable[[str, TopicPartition], None]) -> None:
        self._state = state
        self.on_gone = on_gone
        """Is told of the log dir, by its path, that a log leaves for good."""
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def set_aside(
        self, tp: TopicPartition, log: HostedLog[LogPositions], delay_ms: int
    ) -> asyncio.Future[None]:
        """Rename a log and have it removed later; the future ends when it is renamed.

        Raises:
            LogDirFailed: the log dir is offline; in the future when it fails meanwhile.
        """
        renamed = self._rename(tp, log, delete_dir_name(tp, self._state.unique()))

        def done(future: asyncio.Future[None]) -> None:
            if not future.cancelled() and future.exception() is None:
                self.schedule(log.queue, log.files.delete_files, delay_ms)

        renamed.add_done_callback(done)
        return _waited_for(renamed)

    def keep_as_stray(
        self, tp: TopicPartition, log: HostedLog[LogPositions], reason: str
    ) -> asyncio.Future[None]:
        """Rename a log that is nobody's; every start leaves it alone. As ``set_aside`` else."""
        name = stray_dir_name(tp, self._state.unique())
        logger.warning("%s/%s -> %s: %s", log.log_dir, tp, name, reason)
        return _waited_for(self._rename(tp, log, name))

    def _rename(
        self, tp: TopicPartition, log: HostedLog[LogPositions], name: str
    ) -> asyncio.Future[None]:
        """Rename a log; the checkpoints may forget it at once.

        Another one of its partition may be made there before the disk has come to this.
        """
        renamed = log.queue.submit("set aside", partial(log.files.rename, name))
        self.on_gone(log.log_dir, tp)
        self._state.log_dir_states.uncount_log(log.log_dir)
        self._state.cleaner_offsets.forget(log.log_dir, tp)
        return renamed

    def renamed(
        self, tp: TopicPartition, files: PartitionLog, queue: DiskQueue, delay_ms: int
    ) -> None:
        """Remove a log later that has its name for deletion; the checkpoints forget it.

        A log of its partition that is made here later would be taken for the old one after a
        crash. Source: LogManager.scala asyncDelete.
        """
        self.on_gone(queue.path, tp)
        self.schedule(queue, files.delete_files, delay_ms)

    def schedule(self, queue: DiskQueue, remove: Callable[[], None], delay_ms: int) -> None:
        """Run ``remove`` in this queue of a log dir after ``delay_ms``.

        Never at once. Source: KAFKA-16588.
        """
        number = next(self._numbers)
        delay_s = max(delay_ms, 1) / 1000
        self._waiting[number] = self._state.loop.call_later(
            delay_s, self._remove, number, queue, remove
        )

    def stop(self) -> None:
        """Remove nothing any more; what is left is found at the next start."""
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()

    def _remove(self, number: int, queue: DiskQueue, remove: Callable[[], None]) -> None:
        del self._waiting[number]
        try:
            queue.submit("delete", remove, bounded=False)
        except LogDirFailed as failed:
            logger.warning("a log set aside is not removed: %s", failed)


def _waited_for(renamed: asyncio.Future[None]) -> asyncio.Future[None]:
    """Return what ends with it: who gives up waiting does not take the renaming back.

    Nobody has to wait at all.
    """
    waited = asyncio.shield(renamed)
    waited.add_done_callback(lambda future: future.cancelled() or future.exception())
    return waited
