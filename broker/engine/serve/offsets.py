"""Answers about offsets: ListOffsets and OffsetForLeaderEpoch.

Source: Partition.scala fetchOffsetForTimestamp and lastOffsetForLeaderEpoch, KIP-101, KIP-207.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial

from broker.core.isolation_level import READ_COMMITTED
from broker.core.log_dirs import LogDirFailed
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.state import EngineState
from broker.engine.types import EpochAnswer, ListedOffset
from broker.storage.log_reader import FoundOffset
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.messages.offsets import (
    CONSUMER,
    DEBUGGING,
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)


class _View(Enum):
    """Who asks, and so how far it sees."""

    FOLLOWER = auto()
    CONSUMER = auto()
    COMMITTED = auto()


class Offsets:
    """Serves ListOffsets and OffsetForLeaderEpoch."""

    def __init__(self, state: EngineState, fetches: Fetches) -> None:
        self.state = state
        self._fetches = fetches

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset:
        """Find the offset for a timestamp or one of Kafka's special timestamps."""
        replica = self.state.hosted.online_replica(tp)
        if replica is None:
            return ListedOffset(self.state.absence(tp))
        partition = replica.partition
        check = partition.check_leader_epoch if replica_id == DEBUGGING else partition.check_leader
        code = check(current_leader_epoch)
        if code is not ErrorCode.NONE:
            return ListedOffset(code)
        view = _view(isolation_level, replica_id)
        special = _special(replica, timestamp, view)
        if special is not None:
            return special
        return await self._listed(replica, timestamp, view)

    async def _listed(self, replica: Replica, timestamp: int, view: _View) -> ListedOffset:
        try:
            found = await self._search(replica, timestamp)
        except LogDirFailed:
            return ListedOffset(ErrorCode.KAFKA_STORAGE_ERROR)
        except Malformed:  # What its disk gave is no batch; Kafka: CorruptRecordException.
            return ListedOffset(ErrorCode.CORRUPT_MESSAGE)
        except KafkaError as error:
            return ListedOffset(error.code)
        if found is None or found.offset >= _end(replica, view):
            return _not_found(replica, view)
        return ListedOffset(ErrorCode.NONE, found.timestamp, found.offset, found.leader_epoch)

    async def _search(self, replica: Replica, timestamp: int) -> FoundOffset | None:
        files, queue = replica.log.files, replica.log.queue
        if timestamp == MAX_TIMESTAMP:
            return await queue.submit("find offset", files.offset_for_max_timestamp)
        return await queue.submit("find offset", partial(files.offset_for_timestamp, timestamp))

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer:
        """Tell where ``leader_epoch`` ends here.

        A follower asks when it begins to follow; its waiting fetch ends, so that it can ask for
        more partitions at once.
        """
        self._fetches.force_complete(replica_id)
        replica = self.state.hosted.online_replica(tp)
        if replica is None:
            return EpochAnswer(self.state.absence(tp))
        partition = replica.partition
        code = partition.check_leader(current_leader_epoch)
        if code is not ErrorCode.NONE:
            return EpochAnswer(code)
        end = partition.epochs.end_offset_for(leader_epoch, partition.log_end_offset)
        return EpochAnswer(ErrorCode.NONE, end.epoch, end.end_offset)


def _view(isolation_level: int, replica_id: int) -> _View:
    if replica_id != CONSUMER:
        return _View.FOLLOWER
    return _View.COMMITTED if isolation_level == READ_COMMITTED else _View.CONSUMER


def _end(replica: Replica, view: _View) -> int:
    """Return the offset before which the asking one may read."""
    partition = replica.partition
    match view:
        case _View.FOLLOWER:
            return partition.log_end_offset
        case _View.CONSUMER:
            return partition.high_watermark
        case _View.COMMITTED:
            return partition.last_stable_offset


def _special(replica: Replica, timestamp: int, view: _View) -> ListedOffset | None:
    """Answer what needs no disk; None for what does."""
    partition = replica.partition
    if timestamp == LATEST:
        if _lags(replica, view):
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        return _known(_end(replica, view), partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = partition.log_start_offset
        return _known(start, partition.epochs.epoch_at(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):  # There is no tiered storage.
        return ListedOffset(ErrorCode.NONE)
    return None


def _known(offset: int, leader_epoch: int) -> ListedOffset:
    return ListedOffset(ErrorCode.NONE, offset=offset, leader_epoch=leader_epoch)


def _not_found(replica: Replica, view: _View) -> ListedOffset:
    lags = _lags(replica, view)
    return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE if lags else ErrorCode.NONE)


def _lags(replica: Replica, view: _View) -> bool:
    """Tell whether a consumer must wait: the high watermark has not reached this leader's start."""
    partition = replica.partition
    is_behind = partition.leader_epoch_start_offset > partition.high_watermark
    return is_behind and view is not _View.FOLLOWER
