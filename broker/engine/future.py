"""The future log of a replica at run time: the copy that a move builds in another log dir.

In `broker.engine.move`, `moves` starts and ends moves and `mover` copies.
"""

from __future__ import annotations

from broker.core.future_log import Move
from broker.core.log_positions import LogPositions
from broker.engine.hosted_log import HostedLog
from broker.storage.log_dir import LogDir


class FutureReplica:
    """A future log and the move it belongs to."""

    __slots__ = ("copied_bytes", "dir", "log", "move", "started_at_ms")

    def __init__(
        self,
        move: Move,
        log_dir: LogDir,
        log: HostedLog[LogPositions] | None,
        *,
        started_at_ms: int,
    ) -> None:
        self.move = move
        self.dir = log_dir
        self.log = log
        """None while it is being created."""
        self.copied_bytes = 0
        self.started_at_ms = started_at_ms
        """Wall-clock time."""

    @property
    def is_promoting(self) -> bool:
        """Whether the renames have begun: nothing may interrupt the swap any more."""
        return self.log is not None and self.log.is_promoting
