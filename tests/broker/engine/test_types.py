"""What answers of the engine say of what there is not."""

from __future__ import annotations

from broker.engine.types import ProduceResult
from protocol.messages.produce import PartitionProduceResponse


def test_a_refused_batch_has_no_offset_no_time_and_no_log_as_kafka_s_answers_have_none() -> None:
    """A time of 0 would be one of 1970, by which clients stamp what they report to callers."""
    ours, kafkas = ProduceResult(), PartitionProduceResponse(index=0, base_offset=-1)
    assert (ours.base_offset, ours.log_append_time_ms, ours.log_start_offset) == (
        kafkas.base_offset,
        kafkas.log_append_time_ms,
        kafkas.log_start_offset,
    )
    assert ours.log_append_time_ms == -1
