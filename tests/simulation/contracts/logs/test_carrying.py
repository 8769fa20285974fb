"""What the contracts of what may come into a log say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core import batch_order, produce_version
from broker.core.batch_order import BatchOrder
from broker.core.leader_epochs import LeaderEpochs
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import BatchHeader, Compression, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def batch(offset: int = 0, **options: Any) -> bytes:
    return bytes(build_batch([NewRecord(b"v")], BatchOptions(base_offset=offset, **options)))


PLAIN, ZSTD = batch(), batch(compression=Compression.ZSTD)


def check(buffer: bytes | None, version: int) -> int | None:
    try:
        return produce_version.check_produce_version(buffer, version)
    except KafkaError:
        return None


def refuses(*_: object) -> int:
    raise KafkaError(ErrorCode.CORRUPT_MESSAGE)


def order() -> BatchOrder:
    return BatchOrder(10, 20, LeaderEpochs([(3, 0), (5, 15)]))


def header(offset: int, epoch: int) -> BatchHeader:
    return read_batch_header(batch(offset, leader_epoch=epoch))


def copy() -> list[BatchHeader]:
    data = batch(10, leader_epoch=3) + batch(11, leader_epoch=3)
    return batch_order.check_copied(data, order())


CHECK, TAKE, COPY = (
    "produce_version.check_produce_version",
    "BatchOrder.take",
    "batch_order.check_copied",
)
WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (CHECK, refuses, lambda: check(PLAIN, 9)),
    (CHECK, refuses, lambda: check(b"anything", 2)),
    (CHECK, refuses, lambda: check(ZSTD, 6)),
    (CHECK, answers(5), lambda: check(PLAIN, 9)),
    (CHECK, answers(5), lambda: check(PLAIN, 2)),
    (CHECK, answers(len(ZSTD)), lambda: check(ZSTD, 6)),
    (CHECK, answers(len(PLAIN)), lambda: check(PLAIN + PLAIN, 9)),
    (CHECK, answers(len(PLAIN) + 3), lambda: check(PLAIN + b"cut", 9)),
    (CHECK, answers(len(PLAIN) - 1), lambda: check(PLAIN[:-1], 9)),
    (CHECK, answers(0), lambda: check(b"", 2)),
    (TAKE, answers(None), lambda: order().take(header(9, 3))),
    (TAKE, answers(None), lambda: order().take(header(20, 5))),
    (TAKE, answers(None), lambda: order().take(header(12, 5))),
    (TAKE, answers(None), lambda: order().take(header(15, 5))),
    (TAKE, answers("no"), lambda: order().take(header(15, 5))),
    (COPY, answers([]), copy),
    (COPY, answers([header(11, 3), header(10, 3)]), copy),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
