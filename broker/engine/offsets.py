"""Answers about offsets: ListOffsets and OffsetForLeaderEpoch.

Source: Partition.scala fetchOffsetForTimestamp and lastOffsetForLeaderEpoch, KIP-101, KIP-207.
"""

from __future__ import annotations

from typing import Final

from broker.core.log_dirs import LogDirFailed
from broker.engine.fetch import Fetches
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.types import EpochAnswer, ListedOffset
from broker.storage.log_reader import FoundOffset
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
_CONSUMER_MAX: Final = -1
"""Larger ids are followers."""


class Offsets:
    """Serves ListOffsets and OffsetForLeaderEpoch."""

    def __init__(self, state: EngineState, fetches: Fetches) -> None:
        self._state = state
        self._fetches = fetches

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        replica_id: int,
    ) -> ListedOffset:
        """Find the offset for a timestamp or one of Kafka's special timestamps."""
        replica = self._state.hosted.online(tp)
        if replica is None:
            return ListedOffset(self._state.absence(tp))
        code = replica.partition.check_leader(current_leader_epoch)
        if code is not ErrorCode.NONE:
            return ListedOffset(code)
        is_consumer = replica_id <= _CONSUMER_MAX
        special = _special(replica, timestamp, is_consumer=is_consumer)
        if special is not None:
            return special
        return await self._listed(replica, timestamp, is_consumer=is_consumer)

    async def _listed(self, replica: Replica, timestamp: int, *, is_consumer: bool) -> ListedOffset:
        try:
            found = await self._search(replica, timestamp)
        except LogDirFailed:
            return ListedOffset(ErrorCode.KAFKA_STORAGE_ERROR)
        except KafkaError as error:
            return ListedOffset(error.code)
        if found is None or (is_consumer and found.offset >= replica.partition.high_watermark):
            return _not_found(replica, is_consumer=is_consumer)
        return ListedOffset(ErrorCode.NONE, found.timestamp, found.offset, found.leader_epoch)

    async def _search(self, replica: Replica, timestamp: int) -> FoundOffset | None:
        log = replica.log
        if timestamp == MAX_TIMESTAMP:
            return await replica.dir.submit("find offset", log.offset_for_max_timestamp)
        return await replica.dir.submit("find offset", lambda: log.offset_for_timestamp(timestamp))

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
        if replica_id >= 0:
            self._fetches.knock(replica_id)
        replica = self._state.hosted.online(tp)
        if replica is None:
            return EpochAnswer(self._state.absence(tp))
        partition = replica.partition
        code = partition.check_leader(current_leader_epoch)
        if code is not ErrorCode.NONE:
            return EpochAnswer(code)
        end = partition.epochs.end_offset_for(leader_epoch, partition.log_end_offset)
        return EpochAnswer(ErrorCode.NONE, end.epoch, end.end_offset)


def _special(replica: Replica, timestamp: int, *, is_consumer: bool) -> ListedOffset | None:
    """Answer what needs no disk; None for what does."""
    partition = replica.partition
    if timestamp == LATEST:
        if not is_consumer:
            return _known(partition.log_end_offset, partition.leader_epoch)
        if partition.leader_epoch_start_offset > partition.high_watermark:
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        return _known(partition.high_watermark, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = partition.log_start_offset
        return _known(start, partition.epochs.epoch_at(start))
    if timestamp == LATEST_TIERED:
        return ListedOffset(ErrorCode.NONE)
    return None


def _known(offset: int, leader_epoch: int) -> ListedOffset:
    return ListedOffset(ErrorCode.NONE, offset=offset, leader_epoch=leader_epoch)


def _not_found(replica: Replica, *, is_consumer: bool) -> ListedOffset:
    partition = replica.partition
    if is_consumer and partition.leader_epoch_start_offset > partition.high_watermark:
        return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
    return ListedOffset(ErrorCode.NONE)
