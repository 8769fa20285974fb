"""What brokers say of their replicas."""

from __future__ import annotations

from controller.core.claims import Claim, claims_of, epoch_of, longest_of
from protocol.ids import NO_EPOCH
from protocol.messages.journal import JournalReport
from tests.controller.core.cluster import tp
from tests.controller.core.heard import cold, led, reported


def test_claims_stand_by_partition_and_broker() -> None:
    topics = [reported("orders", cold(4, 80))]
    reports = {2: JournalReport(topics=topics), 1: JournalReport(topics=topics), 3: JournalReport()}
    (claims,) = claims_of(reports).items()
    assert claims[0] == tp("orders-0")
    assert [claim.broker_id for claim in claims[1]] == [1, 2]


def test_a_claim_is_newer_by_its_leadership_and_the_leaders_by_its_broker() -> None:
    older, newer = Claim(1, b"", led(2, (4, 9), (1, 2))), Claim(2, b"", led(2, (5, 1), (2,)))
    assert older.age < newer.age
    assert (older.is_leaders, newer.is_leaders) == (False, True)


def test_the_epoch_is_the_newest_that_anybody_or_a_log_has_heard_of() -> None:
    assert epoch_of([led(1, (4, 7), (1,)), cold(6, 1)]) == 6
    assert epoch_of([]) == NO_EPOCH


def test_a_log_of_a_later_epoch_is_longer_and_several_may_be_the_longest() -> None:
    assert longest_of({1: cold(4, 90), 2: cold(5, 80), 3: cold(5, 80)}) == [2, 3]
    assert longest_of({}) == []
