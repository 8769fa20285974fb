"""What the contracts of a coordinator of transactions say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest

from broker.core.coordination import Answer, Decided
from broker.core.transaction_state import stored
from broker.core.transaction_state.begin import BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from broker.core.transaction_state.shard import (
    Initialized,
    MarkersDue,
    TransactionLimits,
    TransactionShard,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.simulation.contracts.wrong_rules import answers, told_of

LIMITS = TransactionLimits(
    timeout_ms_max=100, id_expiration_ms=1_000, abort_interval_ms=10, expiry_interval_ms=30
)
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
EMPTY = TransactionMetadata(
    transactional_id="pay", producer_id=7, producer_epoch=3, timeout_ms=50, updated_ms=10
)
OPEN = replace(EMPTY, state=State.ONGOING, partitions=(A0,), started_ms=11)
ENDING = replace(OPEN, state=State.PREPARE_COMMIT)
NOW = ProducerIdAndEpoch(7, 3)
DUE = MarkersDue("pay", 7, 3, True, (A0,), 0)
Wrong = Callable[..., Any]


def told(response: object, *known: TransactionMetadata, due: bool = False) -> Decided:
    return Decided(
        [stored.record_of(each, 2) for each in known],
        [Answer(1, response)],
        effects=[DUE] if due else (),
    )


def shard_of(known: TransactionMetadata | None) -> TransactionShard:
    shard = TransactionShard(LIMITS, 2, lambda: 1_000_000)
    if known is not None:
        key, value = stored.record_of(known, 2)
        shard.replay(key, value)
    shard.loaded(0, 0)
    return shard


def begin(known: TransactionMetadata | None, timeout_ms: int = 60) -> Callable[[], object]:
    asked = BeginAsked("pay", timeout_ms)
    return lambda: shard_of(known).begin(1, asked, new_producer_id=9, wall_ms=20)


def add(
    known: TransactionMetadata | None, *tps: TopicPartition, producer: ProducerIdAndEpoch = NOW
) -> Callable[[], object]:
    return lambda: shard_of(known).add_partitions(
        1, "pay", producer, tps, client_transaction_version=2, wall_ms=20
    )


def verify(known: TransactionMetadata, epoch: int = 3) -> Callable[[], object]:
    producer = ProducerIdAndEpoch(7, epoch)
    return lambda: shard_of(known).verify_partitions(1, "pay", producer, [A0, A1])


def end(known: TransactionMetadata, epoch: int = 3) -> Callable[[], object]:
    asked = EndAsked(7, epoch, is_commit=True, client_transaction_version=2)
    return lambda: shard_of(known).end(1, "pay", asked, new_producer_id=9, wall_ms=20)


def write_markers(known: TransactionMetadata) -> Callable[[], object]:
    return lambda: shard_of(known).markers_written(DUE, 20)


def expire(known: TransactionMetadata, wall_ms: int) -> Callable[[], object]:
    return lambda: shard_of(known).expire(30, wall_ms)


def forgets(shard: TransactionShard, *_: object, **__: object) -> Decided:
    key, _value = stored.record_of(OPEN, 2)
    shard._ids.clear()
    return Decided([(key, None)])


def puts(known: TransactionMetadata, decided: Decided) -> Wrong:
    def rule(shard: TransactionShard, *_: object, **__: object) -> Decided:
        shard._ids["pay"] = known
        return decided

    return rule


NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
WAITS = ErrorCode.CONCURRENT_TRANSACTIONS
BEGUN = Initialized(NONE, 7, 4)
RAISED = replace(EMPTY, producer_epoch=4)
ENDED = replace(ENDING, producer_epoch=4, client_transaction_version=2)
LATER = replace(OPEN, partitions=(A0, A1))

WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("stored.record_of", answers(stored.record_of(EMPTY, 2)), lambda: stored.record_of(OPEN, 2)),
    ("stored.record_of", answers(stored.record_of(OPEN, 0)), lambda: stored.record_of(OPEN, 2)),
    (
        "stored.read_metadata",
        answers(OPEN),
        lambda: stored.read_metadata("pay", stored.record_of(EMPTY, 2)[1] or b""),
    ),
    ("TransactionShard.replay", answers(None), partial(shard_of, OPEN)),
    (
        "TransactionShard.loaded",
        answers(Decided()),
        partial(shard_of, ENDING),
    ),
    ("TransactionShard.begin", answers(told(BEGUN, RAISED)), begin(EMPTY)),
    ("TransactionShard.begin", puts(RAISED, told(BEGUN)), begin(EMPTY)),
    ("TransactionShard.begin", puts(EMPTY, told(Initialized(NONE, 7, 3), EMPTY)), begin(EMPTY)),
    ("TransactionShard.begin", puts(RAISED, told(BEGUN, RAISED)), begin(EMPTY, 0)),
    ("TransactionShard.begin", puts(RAISED, told(BEGUN, RAISED)), begin(EMPTY, 101)),
    ("TransactionShard.begin", answers(told(Initialized(WAITS))), begin(OPEN)),
    ("TransactionShard.add_partitions", answers(told(NONE)), add(OPEN, A1)),
    ("TransactionShard.add_partitions", puts(LATER, told(NONE)), add(OPEN, A1)),
    ("TransactionShard.add_partitions", puts(LATER, told(NONE, LATER)), add(OPEN, A0)),
    (
        "TransactionShard.add_partitions",
        puts(LATER, told(NONE, LATER)),
        add(OPEN, A1, producer=ProducerIdAndEpoch(7, 2)),
    ),
    ("TransactionShard.add_partitions", puts(LATER, told(NONE, LATER)), add(ENDING, A1)),
    ("TransactionShard.add_partitions", answers(told(WAITS)), add(None, A1)),
    ("TransactionShard.verify_partitions", answers(told([NONE, NONE])), verify(OPEN)),
    ("TransactionShard.verify_partitions", answers(told([NONE, NONE])), verify(OPEN, 4)),
    ("TransactionShard.end", puts(ENDED, told(BEGUN, ENDED)), end(OPEN)),
    ("TransactionShard.end", answers(told(BEGUN)), end(OPEN)),
    ("TransactionShard.end", puts(ENDED, told(Initialized(NONE, 7, 3), ENDED)), end(OPEN)),
    ("TransactionShard.markers_written", answers(Decided()), write_markers(ENDING)),
    (
        "TransactionShard.markers_written",
        puts(replace(EMPTY, state=State.COMPLETE_COMMIT), Decided()),
        write_markers(replace(ENDING, producer_epoch=4)),
    ),
    ("TransactionShard.expire", answers(Decided()), expire(OPEN, 100)),
    ("TransactionShard.expire", forgets, expire(OPEN, 5_000)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
