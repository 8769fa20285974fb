import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import (
    TopicPartition,
    broker_id_from_text,
    failure_id,
    listed,
    uuid_from_text,
    uuid_text,
)


def test_the_zero_uuid_is_written_as_kafka_writes_it() -> None:
    assert uuid_text(bytes(16)) == "A" * 22


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_survives_its_text(uuid: bytes) -> None:
    assert uuid_from_text(uuid_text(uuid)) == uuid


@pytest.mark.parametrize("text", ["", "A" * 21, "A" * 23, "é" * 22, "=" * 22, "A" * 21 + "!"])
def test_a_text_that_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the decoder's own message differs by text
        uuid_from_text(text)


def test_a_failure_is_named_by_broker_directory_and_epoch() -> None:
    assert failure_id(2, bytes([255] * 16), 7) == f"2-{uuid_text(bytes([255] * 16))}-7"
    assert "/" not in failure_id(2, bytes([255] * 16), 7)


def test_a_partition_is_printed_as_its_directory_is_named() -> None:
    assert str(TopicPartition("orders", 3)) == "orders-3"


def test_only_so_many_partitions_are_named_in_a_line() -> None:
    tps = [TopicPartition("t", number) for number in range(22)]
    assert listed(tps[:2]) == "t-0, t-1"
    assert listed(tps).endswith(", t-19 and 2 more")


@pytest.mark.parametrize(("text", "broker_id"), [("1", 1), ("01", 1), ("+1", 1), ("-1", -1)])
def test_a_broker_is_named_by_its_number(text: str, broker_id: int) -> None:
    assert broker_id_from_text(text) == broker_id


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_0", "1.0", "x", "\u0661"])
def test_what_is_no_number_names_no_broker(text: str) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        broker_id_from_text(text)
