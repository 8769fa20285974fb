"""What was read of a fetch's partitions, as the topics of its answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from broker.core.old_clients import fetch_error
from broker.engine.types import FetchPart, FetchResult
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from protocol.releases import is_since

_LEADER_HINTS_SINCE: Final = 16


class FetchTopics:
    """The topics of an answer: neighbours of one topic together, in the session's order."""

    __slots__ = ("_last", "_partitions", "_version", "leaders", "sent_bytes", "topics")

    def __init__(self, version: int) -> None:
        self._version = version
        self._last: tuple[str, bytes] | None = None
        self._partitions: list[PartitionData] = []
        self.topics: list[FetchableTopicResponse] = []
        self.leaders: dict[int, None] = {}
        """Those that are told of."""
        self.sent_bytes = 0
        """Of all records."""

    def add(self, news: Iterable[tuple[FetchPart, FetchResult]]) -> None:
        """Go on with these."""
        version = self._version
        for part, result in news:
            self.sent_bytes += result.records_size_bytes
            result.error_code = fetch_error(result.error_code, version)
            if result.current_leader is not None:
                self.leaders[result.current_leader.leader_id] = None
            topic = (part.tp.topic, part.topic_id)
            if self._last != topic:
                self._last, self._partitions = topic, []
                self.topics.append(
                    FetchableTopicResponse(
                        topic=part.tp.topic, topic_id=part.topic_id, partitions=self._partitions
                    )
                )
            self._partitions.append(_partition(part.tp.partition, result, version))

    def whose_endpoints(self, replica_id: int, release: str | None) -> Collection[int]:
        """Return the leaders whose addresses are told: to followers by releases before 4.0 alone.

        Source: KafkaApis.handleFetchRequest.
        """
        is_told = replica_id < 0 or not is_since(release, "4.0")
        return self.leaders if is_told and self._version >= _LEADER_HINTS_SINCE else ()


_ABSENT: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)


def _partition(index: int, result: FetchResult, version: int) -> PartitionData:
    data = PartitionData(
        partition_index=index,
        error_code=result.error_code,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        # Null, unless it was not looked for: as Kafka writes errors that it finds before it reads.
        aborted_transactions=() if result.error_code in _ABSENT else None,
        preferred_read_replica=result.preferred_read_replica,
        records=result.records,
    )
    if result.aborted is not None:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
            for aborted in result.aborted
        ]
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end_offset)
    if result.current_leader is not None and version >= _LEADER_HINTS_SINCE:
        leader_id, leader_epoch = result.current_leader
        data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return data
