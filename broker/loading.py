"""How far the loading of the log dirs is: told by their threads, shown by the control endpoint.

It loads nothing.

Source: LogManager.scala (remainingLogsToRecover, remainingSegmentsToRecover), which exist while
logs are loaded only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from broker.metrics import Family, Sample
from broker.storage.recovery import LoadProgress

_LOG_EVERY_LOGS: Final = 500
_LOG_EVERY_SEGMENTS: Final = 10
_LOGS_HELP: Final = "Logs that are still to be loaded; only while a log dir is loaded."
_SEGMENTS_HELP: Final = "Segments of the present log that are still to be checked."
logger = logging.getLogger(__name__)


class Loading:
    """The progress of each log dir that is being loaded."""

    def __init__(self, is_online: Callable[[str], bool]) -> None:
        """``is_online`` tells whether a log dir is: one that failed is loaded no further."""
        self._is_online = is_online
        self._progress: dict[str, LoadProgress] = {}

    def note(self, path: str, progress: LoadProgress) -> None:
        """Take in what a log dir's thread tells; log it now and then."""
        self._progress[path] = progress
        done, total, segments = progress
        if segments == 0 and (done == total or done % _LOG_EVERY_LOGS == 0):
            logger.info("loading %s: %d of %d logs", path, done, total)
        elif segments > 0 and segments % _LOG_EVERY_SEGMENTS == 0:
            logger.info(
                "loading %s: %d of %d logs, %d segments of the next one to be checked",
                path,
                done,
                total,
                segments,
            )

    def remaining(self) -> dict[str, dict[str, int]]:
        """Return the remaining logs, and segments of the present log, by path."""
        return {
            path: {"logs": progress.logs_left, "segments": progress.segments_left}
            for path, progress in list(self._progress.items())
            if progress.logs_left > 0 and self._is_online(path)
        }

    def families(self) -> list[Family]:
        """Return Kafka's two gauges; none when nothing is loaded."""
        remaining = self.remaining()
        if not remaining:
            return []
        gauges = (
            ("kafka_log_logmanager_remaininglogstorecover", _LOGS_HELP, "logs"),
            ("kafka_log_logmanager_remainingsegmentstorecover", _SEGMENTS_HELP, "segments"),
        )
        return [
            Family(
                name,
                "gauge",
                text,
                ("dir",),
                [Sample((path,), left[key]) for path, left in remaining.items()],
            )
            for name, text, key in gauges
        ]
