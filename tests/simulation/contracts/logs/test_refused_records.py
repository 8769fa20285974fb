"""What the contract of refused records says of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.append import AppendLimits
from broker.core.record_errors import name_records
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.simulation.contracts.wrong_rules import answers, told_of

RULE: Final = "record_errors._time_fault"
NOW_MS: Final = 1_000
BOUNDED: Final = AppendLimits(timestamp_before_max_ms=10, timestamp_after_max_ms=20)


def named(at_ms: int, limits: AppendLimits = BOUNDED, **options: Any) -> Callable[[], object]:
    batch = bytes(build_batch([NewRecord(b"v", timestamp_ms=at_ms)], BatchOptions(**options)))
    return lambda: name_records(TopicPartition("t", 0), batch, limits, NOW_MS)


WRONG_RULES: Final[list[tuple[Callable[..., object], Callable[[], object]]]] = [
    (answers(None), named(989)),
    (answers(None), named(1_021)),
    (answers("too late"), named(1_020)),
    (answers("too old"), named(990)),
    (answers("within [989, 1020]"), named(980)),
    (answers("within [990, 1021]"), named(980)),
    (answers("no time"), named(-1)),
    (answers("too old"), named(5, AppendLimits(is_log_append_time=True))),
    (answers(None), named(1_000, log_append_time_ms=5)),
]


@pytest.mark.parametrize(("wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, RULE, use) == []
    assert told_of(wrong, RULE, use)


def test_bounds_that_overflow_are_told_as_java_has_them() -> None:
    beyond = AppendLimits(timestamp_before_max_ms=2**63 - 1, timestamp_after_max_ms=0)
    assert told_of(None, RULE, named(2_000, beyond)) == []
