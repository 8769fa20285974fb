"""What readers of committed records are shown: nothing before the Isr has what ends it."""

from __future__ import annotations

import pytest

from simulation.core.checkers.stable_offsets import check_stable_offsets
from simulation.core.samples import Damage, ReplicaSample, Role
from tests.simulation.core.checkers.build import TP
from tests.simulation.core.checkers.transaction_story import TransactionStory


class StableStory(TransactionStory):
    """A leader that shows its log up to some offset."""

    def shown(self, stable: int, high_watermark: int, *, end: int = 0, boot: int = 1) -> None:
        self.samples.replicas.append(
            ReplicaSample(
                self.now_us,
                1,
                boot,
                TP,
                Role.LEADER,
                log_end_offset=end,
                high_watermark=high_watermark,
                last_stable_offset=stable,
            )
        )

    @property
    def texts(self) -> list[str]:
        return [violation.text for violation in check_stable_offsets(self.evidence)]


@pytest.mark.parametrize(("stable", "high_watermark"), [(0, 2), (0, 3), (3, 4), (3, 3)])
def test_a_transaction_is_shown_once_its_marker_is_below_the_high_watermark(
    stable: int, high_watermark: int
) -> None:
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "commit", (7, 3))
    if high_watermark > 2 or not stable:
        story.shown(stable, high_watermark)

    assert story.texts == []


def test_a_transaction_whose_marker_is_on_the_leader_alone_is_told() -> None:
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "abort")
    story.shown(2, 2)

    assert story.texts == [
        "broker 1 shows committed records of orders-0 up to 2 with the high watermark 2, and the "
        "transaction from offset 0 on has its marker at 2"
    ]


def test_a_transaction_that_is_open_in_the_end_is_told() -> None:
    story = StableStory()
    story.ended_log((7, 1), "commit", (8, 2))
    story.shown(3, 3)

    assert story.texts == [
        "broker 1 shows committed records of orders-0 up to 3 with the high watermark 3, and the "
        "transaction from offset 2 on has no marker"
    ]


def test_a_marker_that_was_in_the_log_when_its_broker_opened_it_is_fine() -> None:
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "abort")
    story.shown(2, 2, end=3)
    story.shown(2, 2, end=4)
    assert story.texts == []

    story.shown(2, 2, end=2, boot=2)
    story.shown(2, 2, end=3, boot=2)

    assert len(story.texts) == 2


def test_a_marker_that_was_replicated_under_an_earlier_leader_is_fine() -> None:
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "commit")
    story.shown(3, 3)
    story.shown(2, 2)

    assert story.texts == []


@pytest.mark.parametrize(("start", "is_well"), [(1, False), (2, True)])
def test_what_was_deleted_is_not_shown(start: int, *, is_well: bool) -> None:
    """Seed 925317: DeleteRecords up to the high watermark, in the middle of a transaction."""
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "commit")
    story.shown(2, 2)
    last = story.samples.replicas[-1]
    story.samples.replicas[-1] = last._replace(log_start_offset=start)

    assert (story.texts == []) is is_well


def test_logs_without_transactions_and_looks_that_know_of_no_offset_are_fine() -> None:
    story = StableStory()
    story.shown(-1, 3)
    story.ended_log((-1, 1), (-1, 2))
    story.shown(2, 2)

    assert story.texts == []


def test_a_log_whose_disk_changed_bytes_is_no_evidence() -> None:
    story = StableStory()
    story.ended_log((7, 1), (-1, 2), "abort")
    story.shown(2, 2)
    story.samples.damages.append(Damage(0, 1, "d1", "bit flip", is_lasting=True))

    assert story.texts == []
