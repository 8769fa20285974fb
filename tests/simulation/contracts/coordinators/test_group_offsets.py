"""What the contracts of committed offsets say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.groups import group_offsets as rules
from broker.core.groups.group_offsets import Committed, GroupOffsets, offset_key
from broker.core.groups.membership import ExpiryRule
from protocol.ids import TopicPartition
from tests.simulation.contracts.wrong_rules import answers, told_of

TP, OTHER = TopicPartition("orders", 0), TopicPartition("bills", 1)
FIVE, SIX = Committed(5, 1, "hi", 100), Committed(6, 1, "", 120)
Wrong = Callable[..., Any]


def offsets_of(*, pending: bool = False, later: bool = False) -> GroupOffsets:
    offsets = GroupOffsets()
    offsets.put("g", {TP: FIVE})
    if pending:
        offsets.put("g", {TP: SIX}, producer_id=7)
    if later:
        offsets.put("g", {TP: FIVE})
    return offsets


def counts_at_once(offsets: GroupOffsets, group_id: str, new: object, **_: object) -> None:
    offsets._groups[group_id] = dict(new)  # type: ignore[call-overload]


def keeps_pending(offsets: GroupOffsets, producer_id: int, *, is_commit: bool) -> list[str]:
    return list(offsets._pending.get(producer_id, {}))


def takes_all(offsets: GroupOffsets, producer_id: int, **_: object) -> list[str]:
    ended = offsets._pending.pop(producer_id)
    offsets._producers.clear()
    offsets._groups.update(ended)
    return list(ended)


def takes_nothing(offsets: GroupOffsets, producer_id: int, **_: object) -> list[str]:
    offsets._producers.clear()
    return list(offsets._pending.pop(producer_id))


def forgets_the_producer(offsets: GroupOffsets, *_: object, **__: object) -> None:
    offsets._producers.clear()


def deletes_all(offsets: GroupOffsets, group_id: str, *_: object) -> list[object]:
    offsets._groups.clear()
    return [(offset_key(group_id, TP), None)]


def end(*, is_commit: bool, later: bool = False) -> Callable[[], object]:
    return lambda: offsets_of(pending=True, later=later).end_transaction(7, is_commit=is_commit)


def expired(wall_ms: int, rule: ExpiryRule | None = None) -> Callable[[], object]:
    return lambda: rules._is_expired(FIVE, rule or ExpiryRule(), wall_ms, 50)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("GroupOffsets.put", answers(None), offsets_of),
    ("GroupOffsets.put", counts_at_once, lambda: offsets_of(pending=True)),
    (
        "GroupOffsets.put",
        forgets_the_producer,
        lambda: offsets_of().put("g", {TP: SIX}, producer_id=7),
    ),
    ("GroupOffsets.replay", answers(None), lambda: offsets_of().replay("g", TP, None, -1)),
    ("GroupOffsets.replay", answers(None), lambda: offsets_of().replay("g", TP, SIX, -1)),
    ("GroupOffsets.replay", answers(None), lambda: offsets_of().replay("g", TP, SIX, 7)),
    ("GroupOffsets.end_transaction", keeps_pending, end(is_commit=True)),
    ("GroupOffsets.end_transaction", takes_all, end(is_commit=False)),
    ("GroupOffsets.end_transaction", takes_all, end(is_commit=True, later=True)),
    ("GroupOffsets.end_transaction", takes_nothing, end(is_commit=True)),
    (
        "GroupOffsets.is_unstable",
        answers(value=False),
        lambda: offsets_of(pending=True).is_unstable("g", TP),
    ),
    (
        "GroupOffsets.is_unstable",
        answers(value=True),
        lambda: offsets_of(pending=True).is_unstable("g", OTHER),
    ),
    ("GroupOffsets.has_offsets", answers(value=False), lambda: offsets_of().has_offsets("g")),
    ("GroupOffsets.delete", answers([]), lambda: offsets_of().delete("g", [TP])),
    (
        "GroupOffsets.delete",
        deletes_all,
        lambda: offsets_of().delete("g", [OTHER]),
    ),
    (
        "GroupOffsets.delete_all",
        answers([(offset_key("g", TP), None)]),
        lambda: offsets_of(pending=True).delete_all("g"),
    ),
    ("group_offsets._is_expired", answers(value=True), expired(149)),
    ("group_offsets._is_expired", answers(value=False), expired(150)),
    (
        "group_offsets._is_expired",
        answers(value=True),
        expired(160, ExpiryRule(unused_since_ms=130)),
    ),
    (
        "group_offsets.offset_value",
        answers(rules.offset_value(SIX)),
        lambda: rules.offset_value(FIVE),
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
