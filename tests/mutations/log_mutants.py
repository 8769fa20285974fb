"""Mutants of what a broker knows of its logs, and takes into them."""

from __future__ import annotations

from broker.core.leader_epochs import LeaderEpochs
from broker.core.log_positions import RaisedStart
from broker.core.partition import Partition
from broker.engine.log.checkpoints import Checkpoints
from broker.storage.log_dir import LogDir
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


class HoardingPartition(Partition):
    """Keeps the leader epochs of records that are deleted."""

    __slots__ = ()

    def raise_log_start(self, offset: int) -> RaisedStart | None:
        kept = self.epochs.entries
        raised = super().raise_log_start(offset)
        self.epochs = LeaderEpochs(kept)
        return raised if raised is None else raised._replace(epochs=kept)


class AcceptingPartition(Partition):
    """Appends whatever the Isr is, and answers that it was too small."""

    __slots__ = ()

    def check_append(self, acks: int) -> ErrorCode:
        return ErrorCode.NONE


class HopefulCheckpoints(Checkpoints):
    """Writes down log ends for high watermarks."""

    def high_watermarks_of(self, log_dir: LogDir) -> dict[TopicPartition, int]:
        logs = self.hosted_logs_of(log_dir)
        return {tp: log.positions.log_end_offset for tp, log in logs.items()}
