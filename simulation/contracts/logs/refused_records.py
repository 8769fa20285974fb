"""What is told of records that no log takes: those that are at fault, and in Kafka's bounds.

Source: LogValidator.java validateTimestamp.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator

from broker.core import record_errors as rules
from broker.core.append import AppendLimits
from protocol.ids import NO_TIMESTAMP
from protocol.records.batch import BatchHeader
from protocol.records.records import RecordView
from simulation.contracts.contract import Broken, of_function


@of_function(rules._time_fault)  # noqa: SLF001 -- nothing public looks at one record
def time_fault(
    header: BatchHeader, record: RecordView, limits: AppendLimits, now_ms: int
) -> Generator[None, str | None, Broken]:
    """A record is at fault for its time where that is older or newer than the topic allows.

    It is told between which times it may lie, as 64 bits hold them.
    """
    text = yield
    if header.is_log_append_time:
        return None if text else "a producer may say when a record is appended"
    at_ms = record.timestamp_ms
    if at_ms == NO_TIMESTAMP or limits.is_log_append_time:
        return f"{at_ms} does not count, and is told: {text}" if text else None
    age_ms = now_ms - at_ms
    is_late = age_ms > limits.timestamp_before_max_ms or -age_ms > limits.timestamp_after_max_ms
    if is_late is not bool(text):
        return f"{at_ms} at {now_ms}, within {limits}: {text}"
    first_ms = _as_long(now_ms - limits.timestamp_before_max_ms)
    last_ms = _as_long(now_ms + limits.timestamp_after_max_ms)
    is_told = text is None or f"[{first_ms}, {last_ms}]" in text
    return None if is_told else f"it may lie within {first_ms} to {last_ms}, told is: {text}"


def _as_long(number: int) -> int:
    return int.from_bytes((number & (1 << 64) - 1).to_bytes(8), signed=True)
