"""Where a log stands: what each change takes along, and what is to be written of it."""

from __future__ import annotations

import pytest

from broker.core.leader_epochs import LeaderEpochs
from broker.core.log_positions import LogPositions, RaisedStart
from protocol.records.batch import read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch


def positions(*epochs: tuple[int, int], end: int = 100, high_watermark: int = 50) -> LogPositions:
    """Return those of a log from 20 to ``end``."""
    made = LogPositions()
    made.take_over(
        log_start_offset=20,
        log_end_offset=end,
        high_watermark=high_watermark,
        epochs=LeaderEpochs(epochs),
    )
    return made


@pytest.mark.parametrize(("told", "taken"), [(10, 20), (50, 50), (200, 100)])
def test_a_found_high_watermark_lies_within_the_log(told: int, taken: int) -> None:
    assert positions(high_watermark=told).high_watermark == taken


def test_a_log_is_untouched_until_an_append_or_a_leader_epoch() -> None:
    assert LogPositions().is_untouched
    appended, led = LogPositions(), LogPositions()
    appended.assign_offsets(1)
    led.epochs.assign(3, 0)
    assert not appended.is_untouched
    assert not led.is_untouched
    assert not positions(end=20).is_untouched


def test_appends_on_their_way_count_for_the_next_one_only() -> None:
    log = positions()
    log.assign_offsets(110)
    log.assign_offsets(120)
    assert (log.next_offset, log.log_end_offset, log.is_settled) == (120, 100, False)
    log.appended(120)
    log.appended(110)
    assert (log.log_end_offset, log.is_settled) == (120, True)
    with pytest.raises(AssertionError, match="append to 119, next is 120"):
        log.assign_offsets(119)


def test_epochs_of_appended_batches_are_written_when_they_are_new() -> None:
    log = positions((1, 0))
    batches = [
        read_batch_header(
            build_batch([NewRecord(b"v")], BatchOptions(base_offset=offset, leader_epoch=epoch))
        )
        for offset, epoch in ((100, 1), (101, 3), (102, 3))
    ]
    assert log.note_epochs(batches[:1], 100) is None
    assert log.note_epochs(batches, 100) == [(1, 0), (3, 101)]
    assert log.note_epochs(batches[2:], 102) is None


def test_an_epoch_begins_before_the_gap_that_compaction_left() -> None:
    """Seed 1044160: a log that had more of the epoch before kept it, and its leader did not."""
    log = positions((0, 0))
    batches = [
        read_batch_header(
            build_batch([NewRecord(b"v")], BatchOptions(base_offset=offset, leader_epoch=epoch))
        )
        for offset, epoch in ((103, 1), (105, 1), (109, 2))
    ]
    assert log.note_epochs(batches, 101) == [(0, 0), (1, 101), (2, 106)]
    assert log.epochs.end_offset_for(0, 110) == (0, 101)


def test_the_first_epoch_of_a_partition_is_written_too() -> None:
    """A follower that does not know it cannot be told where its leader's log goes another way."""
    first = build_batch([NewRecord(b"v")], BatchOptions(base_offset=100, leader_epoch=0))
    unknown = build_batch([NewRecord(b"v")], BatchOptions(base_offset=101, leader_epoch=-1))
    assert positions().note_epochs([read_batch_header(first)], 100) == [(0, 100)]
    assert positions().note_epochs([read_batch_header(unknown)], 101) is None


def test_an_epoch_without_records_is_forgotten() -> None:
    log = positions((1, 0), (2, 100))
    assert log.forget_empty_epochs() == [(1, 0)]
    assert log.forget_empty_epochs() is None


@pytest.mark.parametrize(
    ("epochs", "kept"), [([(1, 20)], [(1, 20)]), ([(1, 0), (2, 20)], [(1, 0), (2, 20)])]
)
def test_an_emptied_log_keeps_the_epoch_that_it_ended_in(
    epochs: list[tuple[int, int]], kept: list[tuple[int, int]]
) -> None:
    """Its leader had lost what was there, and it was taken for whole (seed 1156807)."""
    log = positions(*epochs, end=20, high_watermark=20)
    assert log.forget_empty_epochs() is None
    assert log.epochs.entries == kept
    assert log.truncated(20) == kept[:-1], "its leader says so"


def test_a_cut_takes_what_lies_behind_it_along() -> None:
    log = positions((1, 0), (2, 30), (4, 60))
    log.assign_offsets(110)
    assert log.truncated(60) == [(1, 0), (2, 30)]
    assert (log.next_offset, log.log_end_offset, log.high_watermark) == (60, 60, 50)
    assert log.truncated(40) is None
    assert log.high_watermark == 40
    log.truncated(10)
    assert (log.log_start_offset, log.high_watermark) == (10, 10)
    with pytest.raises(AssertionError, match="cut to 11, the log ends at 10"):
        log.truncated(11)


def test_a_restarted_log_is_empty_and_has_no_epochs() -> None:
    log = positions((1, 0))
    assert log.restarted_at(300) == []
    assert (log.log_start_offset, log.next_offset, log.log_end_offset) == (300, 300, 300)
    assert (log.high_watermark, log.epochs.latest) == (300, -1)


def test_the_log_start_only_rises_and_takes_the_high_watermark_along() -> None:
    log = positions()
    assert log.raise_log_start(20) is None
    assert log.raise_log_start(90) == RaisedStart(90, [])
    assert (log.log_start_offset, log.high_watermark) == (90, 90)
    assert log.raise_log_start(200) == RaisedStart(100, [])
    assert log.log_start_offset == 100


def test_epochs_before_the_log_start_are_forgotten() -> None:
    log = positions((1, 0), (2, 30), (4, 60))
    assert log.raise_log_start(40) == RaisedStart(40, [(2, 40), (4, 60)])  # type: ignore[list-item]
    assert [(e.epoch, e.start_offset) for e in log.epochs.entries] == [(2, 40), (4, 60)]
