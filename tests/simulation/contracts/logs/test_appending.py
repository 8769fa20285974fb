"""What the contracts of appends say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from broker.core.append import (
    AppendLimits,
    EpochRange,
    FollowerAppend,
    PreparedAppend,
    check_follower_append,
    is_out_of_time,
    is_transactional,
)
from broker.core.message_sets import is_message_set
from broker.core.recompression import needs_recompression
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_EPOCH
from protocol.records.batch import read_batch_header, stamp
from tests.broker.core.test_append import NOW_MS, altered, batch, prepare
from tests.simulation.contracts.wrong_rules import answers, told_of

EPOCH: Final = 1
Wrong = Callable[..., Any]
AHEAD: Final = AppendLimits(timestamp_after_max_ms=-10)


def append(data: bytearray, limits: AppendLimits | None = None) -> None:
    with suppress(KafkaError):
        prepare(data, limits=limits)


def refuses(*_: object, **__: object) -> None:
    raise KafkaError(ErrorCode.INVALID_RECORD, "refused")


def takes_all(buffer: bytearray | memoryview, *, next_offset: int, **_: object) -> PreparedAppend:
    return PreparedAppend(next_offset, next_offset, len(buffer), -1, None)


def fetched(offset: int = 100) -> bytearray:
    data = batch()
    stamp(data, 0, base_offset=offset, leader_epoch=EPOCH)
    return data


def takes_whatever_comes(buffer: bytearray, **_: object) -> FollowerAppend:
    header = read_batch_header(buffer)
    return FollowerAppend(
        header.base_offset, header.last_offset, (header,), header.size_bytes, None, None
    )


def follow(data: bytearray, *, doubts_gaps: bool = False) -> None:
    with suppress(KafkaError):
        check_follower_append(data, next_offset=100, doubts_gaps=doubts_gaps)


def of_epochs(first: int, last: int, epoch: int = EPOCH) -> None:
    data = fetched()
    stamp(data, 0, base_offset=100, leader_epoch=epoch)
    with suppress(KafkaError):
        check_follower_append(data, next_offset=100, epochs=EpochRange(first, last))


def damaged() -> bytearray:
    data = fetched()
    data[-1] ^= 1
    return data


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("append.prepare_append", takes_all, lambda: append(batch())),
    ("append.prepare_append", takes_all, lambda: append(altered(batch(), records_count=2))),
    (
        "append.prepare_append",
        takes_all,
        lambda: append(batch(), AppendLimits(max_message_bytes=60)),
    ),
    ("append.prepare_append", refuses, lambda: append(batch())),
    (
        "append.is_out_of_time",
        answers(False),
        lambda: is_out_of_time(read_batch_header(batch()), AHEAD, NOW_MS),
    ),
    ("append.is_transactional", answers(True), lambda: is_transactional(batch())),
    ("message_sets.is_message_set", answers(True), lambda: is_message_set(batch())),
    (
        "recompression.needs_recompression",
        answers(False),
        lambda: needs_recompression(batch(), TopicConfig(compression_type="gzip")),
    ),
    ("append.check_follower_append", takes_whatever_comes, lambda: follow(fetched(99))),
    ("append.check_follower_append", takes_whatever_comes, lambda: follow(damaged())),
    (
        "append.check_follower_append",
        takes_whatever_comes,
        lambda: follow(fetched(101), doubts_gaps=True),
    ),
    ("append.check_follower_append", refuses, lambda: follow(fetched())),
    ("append.check_follower_append", takes_whatever_comes, lambda: of_epochs(0, EPOCH - 1)),
    ("append.check_follower_append", takes_whatever_comes, lambda: of_epochs(EPOCH + 1, 9)),
    ("append.check_follower_append", refuses, lambda: of_epochs(EPOCH, EPOCH)),
    ("append.check_follower_append", refuses, lambda: of_epochs(EPOCH, EPOCH, NO_EPOCH)),
    # A flipped bit is the sign of its leader epoch (seed 986055).
    ("append.check_follower_append", takes_whatever_comes, lambda: of_epochs(0, 9, -(2**31))),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
