"""What the contracts of compaction say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.core.cleaner_offsets import CleanerOffsets
from broker.core.compaction import Dirtiness, FirstDirty, group_segments
from broker.core.offset_map import OffsetMap
from protocol.ids import TopicPartition
from tests.broker.core.test_compaction import RULES, measured, segments
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
TP: Final = TopicPartition("orders", 0)


def offsets() -> CleanerOffsets:
    known = CleanerOffsets()
    known.load("/d1", {TP: 9})
    return known


def put() -> None:
    OffsetMap(1000, keys_max=9).put(b"a", 5)


def due(cleanable_bytes: int, overdue_ms: int) -> bool:
    found = Dirtiness(FirstDirty(0, is_reset=False), 40, 100, cleanable_bytes, overdue_ms)
    return found.is_due(RULES)


def group() -> None:
    group_segments(segments(0, 10, 20), replace(RULES, segment_bytes=250), 30)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("compaction.first_dirty", answers(FirstDirty(60, is_reset=False)), lambda: measured(60)),
    (
        "compaction.measure",
        answers(Dirtiness(FirstDirty(0, is_reset=False), 40, 0, 400, 0)),
        lambda: measured(None, stable=25),
    ),
    ("Dirtiness.is_due", answers(True), lambda: due(100, 0)),
    ("Dirtiness.is_due", answers(False), lambda: due(1, 1)),
    ("compaction.group_segments", answers([segments(0, 10, 20)]), group),
    ("compaction.group_segments", answers([[one] for one in segments(0, 10, 20)]), group),
    ("CleanerOffsets.put", answers(None), lambda: offsets().put("/d1", TP, 12)),
    ("CleanerOffsets.truncated", answers(None), lambda: offsets().truncated("/d1", TP, 5)),
    ("CleanerOffsets.move", answers(None), lambda: offsets().move(TP, "/d1", "/d2")),
    ("CleanerOffsets.forget", answers(None), lambda: offsets().forget("/d1", TP)),
    ("CleanerOffsets.log_dir_failed", answers(None), lambda: offsets().log_dir_failed("/d1")),
    ("CleanerOffsets.load", answers(None), offsets),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
