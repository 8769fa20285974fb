"""When a log leaves its active segment for a new one. A rule without effects.

Source: LogSegment.shouldRoll.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.storage.segment import RELATIVE_OFFSET_MAX, LogConfig, Segment
from protocol.records.batch import BatchHeader


def must_roll(
    active: Segment,
    config: LogConfig,
    batches: Sequence[tuple[int, BatchHeader]],
    pending_bytes: int,
    now_ms: int,
) -> bool:
    """Tell whether ``batches`` need a new segment: by offset, size, index or age, in this order.

    ``batches`` are the (position, header) of one append, ``pending_bytes`` what is about to be
    written to ``active`` before it. Age goes from the first batch's timestamp to the newest
    of ``batches``, or by the clock when the first one has none. Source: LogSegment.shouldRoll.
    """
    assert batches, "an append without a whole batch"
    position, last = batches[-1]
    if not active.can_hold(last.last_offset):
        return True
    active_bytes = active.size_bytes + pending_bytes
    if active_bytes == 0:
        return False
    if active_bytes + position + last.size_bytes > config.segment_bytes or active.index_is_full():
        return True
    roll_ms = config.max_segment_ms - active.roll_jitter_ms
    first_timestamp = active.first_timestamp()
    if first_timestamp is None or first_timestamp < 0:
        return now_ms - active.created_ms > roll_ms
    newest_timestamp = last.max_timestamp
    if len(batches) > 1:
        newest_timestamp = max(header.max_timestamp for _, header in batches)
    return newest_timestamp - first_timestamp > roll_ms


def next_base_offset(batches: Sequence[tuple[int, BatchHeader]], log_end_offset: int) -> int:
    """Return where the segment that begins with ``batches`` is to begin: at the end of the log.

    So a gap between two segments is a loss (or compaction), also in a copy of a compacted log,
    whose batches leave offsets out. Kafka begins at the first batch; so does this where the
    segment could not hold its last offset otherwise.
    """
    last_offset = batches[-1][1].last_offset
    if last_offset - log_end_offset <= RELATIVE_OFFSET_MAX:
        return log_end_offset
    return max(batches[0][1].base_offset, log_end_offset)
