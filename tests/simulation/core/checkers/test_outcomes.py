"""How transactions ended: a marker ends what its producer has open, and nobody else's."""

from __future__ import annotations

import pytest

from simulation.core.checkers.outcomes import (
    RecordOutcome,
    is_state_forgiven,
    may_hang,
    outcomes_of,
)
from simulation.core.history import Function, Order
from simulation.core.samples import Damage, TopicSample
from tests.simulation.core.checkers.build import TP
from tests.simulation.core.checkers.transaction_story import TransactionStory, send


def test_a_marker_ends_the_transaction_of_its_producer_alone() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), (8, 2), (-1, 3), "commit", (7, 4), "abort")

    found = outcomes_of(story.evidence)

    assert found.by_offset[TP] == {
        0: (1, RecordOutcome.COMMITTED),
        1: (2, RecordOutcome.OPEN),
        2: (3, RecordOutcome.COMMITTED),
        4: (4, RecordOutcome.ABORTED),
    }
    assert [record for record in (1, 2, 3, 4) if found.is_committed(record)] == [1, 3]


def test_a_log_that_begins_later_is_no_evidence() -> None:
    story = TransactionStory()
    story.ended_log((7, 1), "commit", start=1)

    assert outcomes_of(story.evidence).by_offset == {}


def test_logs_that_may_be_compacted_or_were_deleted_are_no_evidence() -> None:
    compacted, deleted = TransactionStory(), TransactionStory()
    compacted.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    deleted.order(Function.DELETE_TOPIC, Order("orders"))
    for story in (compacted, deleted):
        story.ended_log((7, 1), "commit")

        assert outcomes_of(story.evidence).by_offset == {}


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets"])
def test_a_coordinator_whose_only_log_was_damaged_may_have_forgotten(topic: str) -> None:
    story = TransactionStory()
    tp = TP._replace(topic=topic)
    story.partition(isr=(1,), replicas=(1,), tp=tp)
    story.replica(1, tp=tp)
    assert not is_state_forgiven(story.evidence)
    story.samples.damages.append(Damage(1, 1, "d1", "power cut"))

    assert is_state_forgiven(story.evidence)


def test_a_transaction_may_hang_where_its_marker_may_be_lost() -> None:
    """A power cut took the marker from the only member of the Isr (seed 721001)."""
    story = TransactionStory()
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.txn(send(1, 0))
    assert not may_hang(story.evidence)
    story.samples.damages.append(Damage(1, 1, "d1", "power cut"))

    assert may_hang(story.evidence)
    assert not is_state_forgiven(story.evidence)
