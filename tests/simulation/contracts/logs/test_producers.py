"""What the contracts of producers say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from broker.core.producer_entry import Duplicate, Producer
from broker.core.producers import ProducerStates
from broker.core.transactions import EndedTransaction, EndMarker
from broker.core.verification import ALREADY_OPEN, VerificationGuard
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import TRANSACTIONAL_BIT
from tests.broker.core.producing import append, header
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]


def written(*, opens: bool = False) -> ProducerStates:
    states = ProducerStates()
    append(states, header(0, attributes=TRANSACTIONAL_BIT if opens else 0), 0)
    append(states, header(1, attributes=TRANSACTIONAL_BIT if opens else 0), 1)
    return states


def refuses(code: ErrorCode) -> Wrong:
    def rule(*_: object, **__: object) -> None:
        raise KafkaError(code, "refused")

    return rule


def check(sequence: int, *, epoch: int = 0) -> None:
    with suppress(KafkaError):
        written().check(header(sequence, epoch=epoch))


def check_unverified() -> None:
    states = ProducerStates()
    with suppress(KafkaError):
        states.check(header(0, attributes=TRANSACTIONAL_BIT), VerificationGuard())


def asked_for() -> ProducerStates:
    """Return what a log knows while somebody is asked for a transaction of its producer."""
    states = ProducerStates()
    states.begin_verification(7, 0, 0, raises_epochs=False, now_ms=0)
    return states


def check_plain_in_a_transaction() -> None:
    with suppress(KafkaError):
        written(opens=True).check(header(2))


def check_epoch() -> None:
    states = ProducerStates()
    append(states, header(0, epoch=2), 0)
    with suppress(KafkaError):
        states.check_epoch(header(0, epoch=1))


def mark(*, epoch: int = 0, coordinator_epoch: int = 3, version: int = 0) -> EndMarker:
    return EndMarker(7, epoch, coordinator_epoch, is_commit=True, transaction_version=version)


def check_marker(*, coordinator_epoch: int, version: int = 0) -> None:
    states = written(opens=True)
    append(states, header(0, epoch=1, attributes=TRANSACTIONAL_BIT), 2)
    states._producers[7].coordinator_epoch = 5
    with suppress(KafkaError):
        states.check_marker(mark(epoch=1, coordinator_epoch=coordinator_epoch, version=version))


def end() -> EndedTransaction | None:
    return written(opens=True).end_transaction(mark(), 2, timestamp=5)


def begin(states: ProducerStates) -> VerificationGuard:
    return states.begin_verification(7, 0, 2, raises_epochs=False, now_ms=0)


def keeps_the_epoch(states: ProducerStates, *_: object, **__: object) -> None:
    states._producers.setdefault(7, Producer(0))


def takes_no_guard_away(
    states: ProducerStates, marker: EndMarker, offset: int, *, timestamp: int, now_ms: int = -1
) -> None:
    producer = states._producers.setdefault(7, Producer(marker.producer_epoch))
    producer.coordinator_epoch, producer.timestamp = marker.coordinator_epoch, timestamp


def end_of_a_verified_one() -> None:
    states = ProducerStates()
    begin(states)
    states.end_transaction(mark(), 0, timestamp=5)


def keeps_the_first_sequence(
    states: ProducerStates, producer_id: int, *_: int, **__: object
) -> Any:
    return states._verifications._of_producers[producer_id].guard


def begin_with_a_lower_one() -> None:
    states = ProducerStates()
    for sequence in (4, 2):
        states._verifications.begin(7, 0, 4, raises_epochs=False, now_ms=0)
        states.begin_verification(7, 0, sequence, raises_epochs=False, now_ms=0)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("ProducerStates.check", answers(None), lambda: check(1)),
    ("ProducerStates.check", answers(None), lambda: check(5)),
    ("ProducerStates.check", answers(Duplicate(1, 1, 7)), lambda: check(1)),
    ("ProducerStates.check", answers(None), lambda: check(0, epoch=-1)),
    ("ProducerStates.check", answers(None), check_unverified),
    ("ProducerStates.check", answers(None), check_plain_in_a_transaction),
    ("ProducerStates.check", refuses(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), lambda: check(2)),
    ("ProducerStates.check_epoch", answers(None), check_epoch),
    ("ProducerStates.begin_verification", answers(ALREADY_OPEN), lambda: begin(written())),
    (
        "ProducerStates.begin_verification",
        answers(VerificationGuard()),
        lambda: begin(written(opens=True)),
    ),
    ("ProducerStates.begin_verification", keeps_the_first_sequence, begin_with_a_lower_one),
    (
        "ProducerStates.is_verified",
        answers(True),
        lambda: written().is_verified(7, 0, VerificationGuard()),
    ),
    ("ProducerStates.check_marker", answers(None), lambda: check_marker(coordinator_epoch=4)),
    (
        "ProducerStates.check_marker",
        answers(None),
        lambda: check_marker(coordinator_epoch=5, version=2),
    ),
    ("ProducerStates.update", keeps_the_epoch, written),
    ("ProducerStates.update", keeps_the_epoch, lambda: written(opens=True)),
    ("ProducerStates.end_transaction", answers(None), end),
    ("ProducerStates.end_transaction", takes_no_guard_away, end_of_a_verified_one),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_a_batch_that_lost_its_guard_is_told() -> None:
    batch = header(0, attributes=TRANSACTIONAL_BIT)
    assert told_of(None, "ProducerStates.check", lambda: asked_for().check(batch))
    assert told_of(None, "ProducerStates.check_epoch", lambda: asked_for().check_epoch(batch))
    assert told_of(None, "ProducerStates.check", lambda: ProducerStates().check(batch)) == []
    later = header(0, epoch=1, attributes=TRANSACTIONAL_BIT)
    assert told_of(None, "ProducerStates.check_epoch", lambda: asked_for().check_epoch(later)) == []
