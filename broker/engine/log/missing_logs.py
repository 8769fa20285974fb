"""Notices that somebody took the directory of a log away under the running broker.

Appends go on through open descriptors, into files that no restart finds. It compares what each
probe of a log dir saw in its root; what is missing is looked for once more before its log dir
fails, as it would at the next roll of a segment. Nothing is decided about other logs here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Final

from broker.core.log_dirs import LogDirFailed
from broker.engine.state import EngineState
from broker.storage.layout import current_dir_name
from broker.storage.log_dir import LogDir, Probed
from protocol.ids import TopicPartition

OPERATION: Final = "look for logs"


class MissingLogs:
    """The looks at all log dirs of a broker."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._looking: dict[str, asyncio.Future[Probed]] = {}
        """The last look at each log dir, by path."""

    def look(self) -> None:
        """Probe each log dir that is online, unless that is under way, and look what it saw."""
        for path, log_dir in self._state.log_dirs.items():
            with suppress(LogDirFailed):
                probe = log_dir.probe()
                if self._looking.get(path) is not probe:
                    self._looking[path] = probe
                    probe.add_done_callback(partial(self._on_probed, log_dir))

    def _on_probed(self, log_dir: LogDir, probe: asyncio.Future[Probed]) -> None:
        if probe.cancelled() or probe.exception() is not None:
            return
        present = frozenset(probe.result().names)
        for tp in self._hosted_in(log_dir):
            if current_dir_name(tp) not in present:
                self._look_again(log_dir, tp)

    def _hosted_in(self, log_dir: LogDir) -> list[TopicPartition]:
        logs = self._state.iterate_logs()
        return [tp for tp, log, _ in logs if log.dir is log_dir and not log.is_future]

    def _look_again(self, log_dir: LogDir, tp: TopicPartition) -> None:
        """It may have been promoted by another thread since the listing."""
        with suppress(LogDirFailed):
            looked = log_dir.queue.submit(
                OPERATION, partial(log_dir.disk.is_dir, current_dir_name(tp))
            )
            looked.add_done_callback(partial(self._on_looked_again, log_dir, tp))

    def _on_looked_again(
        self, log_dir: LogDir, tp: TopicPartition, looked: asyncio.Future[bool]
    ) -> None:
        if looked.cancelled() or looked.exception() is not None or looked.result():
            return
        if tp in self._hosted_in(log_dir):
            cause = FileNotFoundError(
                f"{log_dir.path}/{current_dir_name(tp)} was taken away; put it back or let it go, "
                "then bring the log dir back"
            )
            log_dir.fail(OPERATION, cause)
