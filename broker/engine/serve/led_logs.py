"""Reads whole logs that this broker leads, for itself: to the end of the log, replicated or not.

Nobody's fetch waits for it beyond one slice. Who needs what is decided elsewhere.
Source: CoordinatorLoaderImpl, GroupMetadataManager.doLoadGroupsAndOffsets.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from broker.core.log_dirs import LogDirFailed
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.ports import Buffer


class LogSpan(NamedTuple):
    """Offsets of a log: the first, and the one behind the last."""

    start: int
    end: int


class Slice(NamedTuple):
    """Whole batches of a log."""

    buffers: tuple[Buffer, ...]
    next_offset: int
    """Where to read on."""


class LedLogs:
    """The logs that this broker leads."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def span(self, tp: TopicPartition) -> LogSpan:
        """Return where the log begins and ends now, with what is on its way to the disk.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION.
        """
        positions = self._led(tp).partition
        return LogSpan(positions.log_start_offset, positions.next_offset)

    async def read(self, tp: TopicPartition, offset: int, *, up_to: int, max_bytes: int) -> Slice:
        """Read batches from ``offset`` on; the first one comes even when it is larger.

        Raises:
            KafkaError: as ``span``, and CORRUPT_MESSAGE.
        """
        await self._state.until_swapped(tp)
        replica = self._led(tp)
        token = replica.log.token
        job = partial(replica.log.files.read, offset, max_bytes, min_one=True, up_to=up_to)
        try:
            read = await replica.log.dir.queue.submit("read", job)
        except LogDirFailed as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        if not replica.log.is_still(token):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{tp} is not what it was")
        return Slice(read.buffers, read.next_offset)

    def _led(self, tp: TopicPartition) -> Replica:
        replica = self._state.hosted.online_replica(tp)
        if replica is None:
            raise KafkaError(self._state.absence(tp), f"{tp} is not online here")
        if not replica.partition.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{tp} is led elsewhere")
        return replica
