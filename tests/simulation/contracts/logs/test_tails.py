"""What the contracts of tails say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.tail import NOTHING, Tail, TailCache, TailRead
from protocol.ports import Buffer
from tests.broker.core.test_tail import filled
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def read(offset: int, *, up_to: int = 30) -> TailRead | None:
    return filled(TailCache(), batches=3).read(offset, 1000, up_to=up_to, min_one=True)


def keeps_a_gap(tail: Tail, first_offset: int, end_offset: int, batch: Buffer, now_ms: int) -> None:
    tail._starts.append(first_offset)
    tail._buffers.append(batch)
    tail.end_offset, tail.written_at_ms = end_offset, now_ms
    tail.size_bytes += len(batch)
    tail._cache.added(tail, len(batch))


def counts_nothing(
    tail: Tail, first_offset: int, end_offset: int, batch: Buffer, now_ms: int
) -> None:
    keeps_a_gap(tail, first_offset, end_offset, batch, now_ms)
    tail._cache.size_bytes = 0


def skip() -> None:
    filled(TailCache(), batches=3).append(40, 50, b"later", 5)


def drop() -> None:
    cache = TailCache()
    tail = filled(cache, batches=3)
    cache.drop_older_than(tail.written_at_ms + 1)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("Tail.append", keeps_a_gap, skip),
    ("Tail.append", counts_nothing, lambda: filled(TailCache(), batches=1)),
    ("Tail.read", answers(NOTHING), lambda: read(15)),
    ("Tail.read", answers(None), lambda: read(15)),
    ("Tail.read", answers(TailRead((b"v",), 1, 30)), lambda: read(15, up_to=20)),
    ("Tail.clear", answers(None), lambda: filled(TailCache(), batches=3).clear(10)),
    ("TailCache.drop_older_than", answers(None), drop),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
