"""What is promised of records that go by age, size or order, and of the log start.

Source: UnifiedLog.scala deleteOldSegments, Partition.scala deleteRecordsOnLeader; KIP-107.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from itertools import accumulate

from broker.core import log_start
from broker.core import retention as rules
from broker.core.partition import Partition
from broker.core.retention import Expired, RetainedSegment, RetentionLimits
from broker.storage.segment import Segment
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId
from protocol.topic_names import INTERNAL_TOPICS
from simulation.contracts.contract import Broken, of_function


@of_function(rules.expired_segments)
def replicated(
    segments: Sequence[RetainedSegment], log_end_offset: int, limits: RetentionLimits
) -> Generator[None, Expired, Broken]:
    """Only what is committed goes, and by the log start what lies wholly before it."""
    ends = [*(segment.base_offset for segment in segments[1:]), log_end_offset]
    expired = yield
    if expired.total > len(segments) or min(expired) < 0:
        return f"{expired} of {len(segments)} segments"
    if expired.total and ends[expired.total - 1] > limits.high_watermark:
        return f"{expired} go up to {ends[expired.total - 1]}, committed {limits.high_watermark}"
    if expired.total and expired.total == len(segments) and segments[-1].size_bytes == 0:
        return f"{expired}: an empty active segment goes"
    bound = min(limits.log_start_offset, limits.high_watermark)
    below = sum(1 for end in ends[:-1] if end <= bound)
    if expired.by_start != below:
        return f"{expired.by_start} go by the log start {limits.log_start_offset}, not {below}"
    if not limits.deletes and expired.total != expired.by_start:
        return f"{expired} without the policy delete"
    return None


@of_function(rules.expired_segments)
def by_size_and_age(
    segments: Sequence[RetainedSegment], log_end_offset: int, limits: RetentionLimits
) -> Generator[None, Expired, Broken]:
    """What stays is retention.bytes or more, and nothing goes that is not older than retention.ms.

    And no segment stays that could go: the oldest first, the active one last and not empty.
    """
    may_go = _committed_count(segments, log_end_offset, limits.high_watermark)
    sizes = [segment.size_bytes for segment in segments]
    expired = yield
    if not limits.deletes:
        return None
    left = sizes[expired.by_start :]
    spare = sum(left) - limits.retention_bytes
    fitting = sum(1 for gone in accumulate(left) if gone <= spare)
    by_size = min(fitting, max(may_go - expired.by_start, 0)) if limits.retention_bytes >= 0 else 0
    if expired.by_size != by_size:
        return f"{expired.by_size} of {left} bytes go, not {by_size}: {limits.retention_bytes} stay"
    return _aged(segments, expired, limits, may_go)


def _aged(
    segments: Sequence[RetainedSegment], expired: Expired, limits: RetentionLimits, may_go: int
) -> Broken:
    if limits.retention_ms < 0:
        return f"{expired} without a bound of age" if expired.by_age else None
    first = expired.by_start + expired.by_size
    for number in range(first, min(expired.total + 1, len(segments))):
        newest_ms = _newest_ms(segments[number])
        if newest_ms is None:
            continue
        is_old = number < may_go and limits.now_ms - newest_ms > limits.retention_ms
        if is_old is not (number < expired.total):
            age_ms = limits.now_ms - newest_ms
            return f"segment {number} is {age_ms} ms old, {expired} with {limits.retention_ms} ms"
    return None


def _committed_count(
    segments: Sequence[RetainedSegment], log_end_offset: int, high_watermark: int
) -> int:
    """Return how many of the oldest segments have nothing that is not committed."""
    ends = [*(segment.base_offset for segment in segments[1:]), log_end_offset]
    if segments and segments[-1].size_bytes == 0:
        ends.pop()
    return sum(1 for end in ends if end <= high_watermark)


def _newest_ms(segment: RetainedSegment) -> int | None:
    """Return the largest timestamp; None where only the disk tells, or refuses its time index."""
    if not isinstance(segment, Segment):
        return segment.newest_ms()
    try:
        newest = max(segment.time_index.last.timestamp, segment.largest_timestamp.timestamp)
    except OSError:  # the rule did not come to this segment, and its index is not in memory
        return None
    return None if newest < 0 else newest


@of_function(log_start.new_log_start)
def new_log_start(
    partition: Partition,
    offset: int,
    *,
    cleanup_policy: Collection[str],
    is_empty_enough: bool = False,
) -> Generator[None, int, Broken]:
    """DeleteRecords deletes what is committed, on leaders, where the policy deletes, or may."""
    committed, start = partition.high_watermark, partition.log_start_offset
    wanted = committed if offset == -1 else offset
    refusals = {
        ErrorCode.INVALID_TOPIC_EXCEPTION: partition.tp.topic in INTERNAL_TOPICS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: not partition.is_leader,
        ErrorCode.POLICY_VIOLATION: not (
            "delete" in cleanup_policy or (is_empty_enough and "compact" not in cleanup_policy)
        ),
        ErrorCode.OFFSET_OUT_OF_RANGE: wanted < 0 or wanted > committed,
    }
    code = next((code for code, holds in refusals.items() if holds), ErrorCode.NONE)
    try:
        found = yield
    except KafkaError as error:
        return None if error.code is code else f"{error.code.name}, not {code.name}, for {offset}"
    if code is not ErrorCode.NONE or found != wanted:
        return f"{found} for {offset}, committed is {committed}: {code.name}"
    is_same = (partition.high_watermark, partition.log_start_offset) == (committed, start)
    return None if is_same else "it changes the partition"


def followers_starts(partition: Partition) -> dict[BrokerId, int]:
    """Return where the logs of followers begin that live, or that may lead when they do."""
    proposed = partition.isr.proposed or ()
    return {
        broker: follower.log_start_offset
        for broker, follower in sorted(partition.followers.items())
        if partition.is_alive(broker) or broker in (*partition.isr.isr, *proposed)
    }


@of_function(log_start.low_watermark)
def low_watermark(
    partition: Partition, future_log_start: int | None
) -> Generator[None, int, Broken]:
    """The low watermark is where all that may lead and a future log have nothing before.

    Who has not fetched yet has told nothing: -1.
    """
    lowest = yield
    starts = {partition.broker_id: partition.log_start_offset} | followers_starts(partition)
    known = [*starts.values(), *([] if future_log_start is None else [future_log_start])]
    if lowest not in known or any(start < lowest for start in known):
        return f"{lowest} of {starts}, future log {future_log_start}"
    return None
