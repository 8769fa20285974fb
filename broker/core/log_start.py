"""What DeleteRecords may do to the log start offset, and the low watermark that it waits for.

It raises nothing (`log_positions` does) and removes no file; retention does that later.
Source: Partition.scala deleteRecordsOnLeader, lowWatermarkIfLeader;
ReplicaManager.scala deleteRecordsOnLocalLog; KIP-107.
"""

from __future__ import annotations

from collections.abc import Collection

from broker.core.partition import Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.topics import TO_HIGH_WATERMARK
from protocol.topic_names import INTERNAL_TOPICS


def new_log_start(
    partition: Partition,
    offset: int,
    *,
    cleanup_policy: Collection[str],
    is_empty_enough: bool = False,
) -> int:
    """Return the log start offset that DeleteRecords asks for, not below which records stay.

    It may lie below the present one, which then stays.

    Args:
        partition: the one.
        offset: that is asked for.
        cleanup_policy: of the topic.
        is_empty_enough: whether records go, too, where the policy is empty, as from 4.2 on.

    Raises:
        KafkaError: INVALID_TOPIC_EXCEPTION, NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION,
            OFFSET_OUT_OF_RANGE.
    """
    if partition.tp.topic in INTERNAL_TOPICS:
        message = f"Cannot delete records of internal topic {partition.tp.topic}"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    if not partition.is_leader:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.tp} is led elsewhere")
    if "delete" not in cleanup_policy and (cleanup_policy or not is_empty_enough):
        message = f"Records of partition {partition.tp} can not be deleted due to its policy"
        raise KafkaError(ErrorCode.POLICY_VIOLATION, message)
    wanted = partition.high_watermark if offset == TO_HIGH_WATERMARK else offset
    if not 0 <= wanted <= partition.high_watermark:
        message = f"offset {wanted} is not in 0 to the high watermark {partition.high_watermark}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
    return wanted


def low_watermark(partition: Partition, future_log_start: int | None) -> int:
    """Return the smallest log start offset of this leader, its followers and a future log.

    Of followers those count that live, and those of the Isr also while they do not: one of these
    may lead next without having heard of anything. -1 while one that counts has not fetched from
    this leader yet.
    """
    members = partition.isr.maximal
    starts = [
        follower.log_start_offset
        for replica, follower in partition.followers.items()
        if replica in members or partition.is_alive(replica)
    ]
    if future_log_start is not None:
        starts.append(future_log_start)
    return min([partition.log_start_offset, *starts])
