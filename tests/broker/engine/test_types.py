"""What answers of the engine say of what there is not."""

from __future__ import annotations

from broker.core.isolation_level import READ_COMMITTED
from broker.engine.types import (
    DeletedRecords,
    EpochAnswer,
    FetchParams,
    FetchResult,
    ListedOffset,
    ProducePart,
    ProduceResult,
)
from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchRequest, PartitionData
from protocol.messages.produce import PartitionProduceResponse
from tests.broker.engine.messages import ORDERS, records


def test_a_refused_batch_has_no_offset_no_time_and_no_log_as_kafka_s_answers_have_none() -> None:
    """A time of 0 would be one of 1970, by which clients stamp what they report to callers."""
    ours, kafkas = ProduceResult(), PartitionProduceResponse(index=0, base_offset=-1)
    assert (ours.base_offset, ours.log_append_time_ms, ours.log_start_offset) == (
        kafkas.base_offset,
        kafkas.log_append_time_ms,
        kafkas.log_start_offset,
    )
    assert (ours.base_offset, ours.log_append_time_ms, ours.log_start_offset) == (-1, -1, -1)


def test_what_a_fetch_does_not_say_is_what_kafka_s_message_takes_it_to_say() -> None:
    ours, kafkas = FetchParams(), FetchRequest()
    assert ours.replica_id == kafkas.replica_id == -1
    assert (ours.max_wait_ms, ours.min_bytes) == (kafkas.max_wait_ms, kafkas.min_bytes) == (0, 0)
    assert ours.max_bytes == kafkas.max_bytes
    assert ours.isolation_level == kafkas.isolation_level
    assert ours.client_rack == kafkas.rack_id
    assert ours.leader_only, "an older consumer knows of no other replica"
    assert ours.replica_epoch == -1


def test_records_are_a_client_s_unless_it_is_said_that_a_coordinator_writes_them() -> None:
    part = ProducePart(ORDERS, records("a"))
    assert (part.is_coordinators, part.marker, part.guard) == (False, None, None)


def test_what_an_answer_does_not_know_is_minus_one_as_in_kafka() -> None:
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert EpochAnswer(code) == (code, -1, -1)
    assert ListedOffset(code) == (code, -1, -1, -1)
    assert DeletedRecords(code) == (code, -1)
    ours, kafkas = FetchResult(code), PartitionData(partition_index=0)
    assert (ours.last_stable_offset, ours.log_start_offset, ours.preferred_read_replica) == (
        kafkas.last_stable_offset,
        kafkas.log_start_offset,
        kafkas.preferred_read_replica,
    )
    assert (ours.high_watermark, ours.preferred_read_replica) == (-1, -1)
    assert (ours.last_stable_offset, ours.log_start_offset) == (-1, -1)
    assert (ours.records, ours.records_size_bytes) == ((), 0)


def test_only_consumers_may_ask_for_what_is_committed_alone() -> None:
    """A follower needs all that its leader has, also that of broker 0."""
    asked = [FetchParams(replica_id=id_, isolation_level=READ_COMMITTED) for id_ in (-1, 0, 1)]
    assert [params.is_committed for params in asked] == [True, False, False]
    assert not FetchParams().is_committed
