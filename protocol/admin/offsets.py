"""Offsets: how to ask leaders where logs begin, end and change epochs, and to raise log starts.

Nobody is named who leads: who asks looks for the leaders by metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.offsets import (
    CONSUMER,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)


class WantedEpoch(NamedTuple):
    """A leader epoch whose end is asked for."""

    epoch: int
    current: int = NO_EPOCH
    """The epoch that the leader has to be in to answer; ``NO_EPOCH``: any."""


class EpochEnd(NamedTuple):
    """Where a leader epoch ends."""

    leader_epoch: int
    """The largest one up to that which was asked for; ``NO_EPOCH`` where there is none."""
    end_offset: int
    """-1 where there is none."""


def list_offsets_request(
    timestamps: Mapping[TopicPartition, int],
    *,
    current_epochs: Mapping[TopicPartition, int] | None = None,
    replica_id: int = CONSUMER,
) -> ListOffsetsRequest:
    """Ask a leader for the first offsets at timestamps, or at ``EARLIEST`` or ``LATEST``.

    Args:
        timestamps: by partition.
        current_epochs: the epochs that the leader has to be in to answer; without: any.
        replica_id: of the follower that asks.
    """
    epochs = current_epochs or {}
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for tp, timestamp in timestamps.items():
        part = ListOffsetsPartition(
            partition_index=tp.partition,
            current_leader_epoch=epochs.get(tp, NO_EPOCH),
            timestamp=timestamp,
        )
        by_topic.setdefault(tp.topic, []).append(part)
    return ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=0,
        topics=[ListOffsetsTopic(name=name, partitions=each) for name, each in by_topic.items()],
    )


def found_offsets(answer: ListOffsetsResponse) -> dict[TopicPartition, int | ErrorCode]:
    """Return the offset of each partition, or why it has none; of versions from 1 on."""
    return {
        TopicPartition(topic.name, each.partition_index): (
            ErrorCode(each.error_code) if each.error_code else each.offset
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def epoch_ends_request(
    epochs: Mapping[TopicPartition, WantedEpoch], *, replica_id: int = CONSUMER
) -> OffsetForLeaderEpochRequest:
    """Ask a leader where leader epochs end in its logs; ``replica_id``: a follower asks."""
    by_topic: dict[str, list[OffsetForLeaderPartition]] = {}
    for (topic, number), (epoch, current) in epochs.items():
        part = OffsetForLeaderPartition(
            partition=number, current_leader_epoch=current, leader_epoch=epoch
        )
        by_topic.setdefault(topic, []).append(part)
    return OffsetForLeaderEpochRequest(
        replica_id=replica_id,
        topics=[
            OffsetForLeaderTopic(topic=name, partitions=each) for name, each in by_topic.items()
        ],
    )


def epoch_ends(answer: OffsetForLeaderEpochResponse) -> dict[TopicPartition, EpochEnd | ErrorCode]:
    """Return where the epoch of each partition ends, or why its leader does not tell."""
    return {
        TopicPartition(topic.topic, each.partition): (
            ErrorCode(each.error_code)
            if each.error_code
            else EpochEnd(each.leader_epoch, each.end_offset)
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def delete_records_request(
    offsets: Mapping[TopicPartition, int], *, timeout_ms: int
) -> DeleteRecordsRequest:
    """Raise log starts; -1 stands for the high watermark. Leaders take it, each for its own."""
    by_topic: dict[str, list[DeleteRecordsPartition]] = {}
    for (topic, number), offset in offsets.items():
        part = DeleteRecordsPartition(partition_index=number, offset=offset)
        by_topic.setdefault(topic, []).append(part)
    return DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=name, partitions=each) for name, each in by_topic.items()],
        timeout_ms=timeout_ms,
    )
