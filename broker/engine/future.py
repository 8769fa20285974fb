"""The future log of a replica at run time: the copy that a move builds in another log dir.

It keeps positions; in `broker.engine.move`, `moves` starts and ends moves and `mover` copies.
"""

from __future__ import annotations

from functools import partial

from broker.core.future_log import Move
from broker.core.leader_epochs import LeaderEpochs
from broker.storage.disk_queue import DiskQueue
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.ids import ZERO_UUID


class FutureReplica:
    """A future log and the move it belongs to."""

    __slots__ = (
        "copied_bytes",
        "dir",
        "epochs",
        "high_watermark",
        "is_promoting",
        "log",
        "log_end_offset",
        "move",
        "noted_topic_id",
        "started_at_ms",
    )

    def __init__(self, move: Move, log_dir: LogDir, *, started_at_ms: int) -> None:
        self.move = move
        self.dir = log_dir
        self.log: PartitionLog | None = None
        """None while it is being created."""
        self.epochs = LeaderEpochs()
        self.log_end_offset = 0
        self.high_watermark = 0
        self.copied_bytes = 0
        self.started_at_ms = started_at_ms
        """Wall-clock time."""
        self.noted_topic_id = ZERO_UUID
        """The topic's id as its log dir has it, as far as that is known."""
        self.is_promoting = False
        """The renames have begun: nothing may interrupt the swap any more."""

    @property
    def queue(self) -> DiskQueue:
        """Where jobs of its log go: beside what clients wait for, up to the swap.

        While it is promoted the thread beside is about to give the log away: what is submitted
        then must touch no file.
        """
        return self.dir if self.is_promoting else self.dir.beside

    def note_topic_id(self, topic_id: bytes) -> None:
        """Write the topic's id if it became known after the log was made; before its promotion."""
        assert self.log is not None, f"{self.move.tp}: a topic id for a log that is not there"
        if topic_id not in {ZERO_UUID, self.noted_topic_id}:
            self.noted_topic_id = topic_id
            job = partial(self.log.write_partition_metadata, topic_id)
            self.queue.submit("write topic id", job)

    def attach(self, log: PartitionLog, epochs: LeaderEpochs, *, high_watermark: int) -> None:
        """Take over a created log, or one found on disk at the start."""
        self.log = log
        self.epochs = epochs
        self.log_end_offset = log.log_end_offset
        self.high_watermark = min(high_watermark, log.log_end_offset)
