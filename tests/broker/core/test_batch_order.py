"""Batches that cannot stand where they were read."""

from __future__ import annotations

import pytest

from broker.core.batch_order import BatchOrder, check_copied
from broker.core.leader_epochs import LeaderEpochs
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import BatchHeader, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch

EPOCHS = LeaderEpochs([(2, 10), (5, 20)])


def batch(base_offset: int, leader_epoch: int, count: int = 1) -> bytes:
    options = BatchOptions(base_offset=base_offset, leader_epoch=leader_epoch)
    return bytes(build_batch([NewRecord(b"x")] * count, options))


def header(base_offset: int, leader_epoch: int, count: int = 1) -> BatchHeader:
    return read_batch_header(batch(base_offset, leader_epoch, count))


@pytest.mark.parametrize(
    ("base_offset", "leader_epoch", "count", "wrong"),
    [
        (12, 2, 1, None),
        (12, 2, 18, None),
        (29, 5, 1, None),
        (11, 2, 1, "offsets 11 to 11, expected within 12 to 29"),
        (12, 2, 19, "offsets 12 to 30, expected within 12 to 29"),
        (30, 5, 1, "offsets 30 to 30, expected within 12 to 29"),
        (19, 5, 1, "leader epoch 5 at offset 19, expected 2"),
        (20, 2, 1, "leader epoch 2 at offset 20, expected 5"),
        (20, -1, 1, None),
    ],
)
def test_a_batch_stands_behind_the_one_before_it_and_in_its_leader_epoch(
    base_offset: int, leader_epoch: int, count: int, wrong: str | None
) -> None:
    order = BatchOrder(10, 30, EPOCHS)
    order.take(header(10, 2, 2))
    assert order.take(header(base_offset, leader_epoch, count)) == wrong


def test_of_what_lies_before_the_first_known_epoch_none_is_known() -> None:
    order = BatchOrder(0, 30, EPOCHS)
    assert order.take(header(9, 7)) is None


def test_whole_batches_that_follow_each_other_are_copied() -> None:
    order = BatchOrder(18, 30, EPOCHS)
    assert check_copied(batch(18, 2, 2) + batch(25, 5), order) == [header(18, 2, 2), header(25, 5)]
    assert check_copied(batch(26, 5, 4), order) == [header(26, 5, 4)]


@pytest.mark.parametrize(
    ("buffer", "reason"),
    [
        (batch(18, 2) + batch(30, 5), "offsets 30 to 30, expected within 19 to 29"),
        (batch(18, 2) + batch(19, 2)[:-1], "of .* bytes are whole batches"),
        (batch(18, 2) + batch(19, 2)[:8] + bytes(100), "CORRUPT_MESSAGE"),
        (batch(18, 2)[:-1] + b"?", "wrong CRC of the batch at offset 18"),
        (batch(18, 5), "leader epoch 5 at offset 18, expected 2"),
    ],
    ids=["behind the end", "cut", "zeros", "changed", "epoch"],
)
def test_what_is_damaged_is_not_copied(buffer: bytes, reason: str) -> None:
    with pytest.raises(KafkaError, match=reason) as caught:
        check_copied(buffer, BatchOrder(18, 30, EPOCHS))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_goes_back_is_none_that_reading_again_mends() -> None:
    twice = batch(18, 2) + batch(18, 2)
    with pytest.raises(KafkaError, match="offsets 18 to 18, expected within 19 to 29") as caught:
        check_copied(twice, BatchOrder(18, 30, EPOCHS))
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
