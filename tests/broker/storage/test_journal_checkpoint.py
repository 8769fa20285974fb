"""What a log dir keeps of the controller's journal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.storage.journal_checkpoint import (
    CorruptJournalCheckpoint,
    JournalCheckpoint,
    newest,
    parse_journal_checkpoint,
    render_journal_checkpoint,
)

KNOWN = JournalCheckpoint(
    generation=4,
    journal_id=bytes([7]) * 16,
    controller_epoch=3,
    journal_number=41,
    producer_ids_end=2000,
)


def test_it_is_read_as_it_was_written():
    assert parse_journal_checkpoint(render_journal_checkpoint(KNOWN)) == KNOWN


@pytest.mark.parametrize(
    "data",
    [b"", b"1\n", b"0\n", render_journal_checkpoint(KNOWN)[:-20], b"0\ngeneration=x\n"],
)
def test_a_damaged_one_says_so(data: bytes):
    with pytest.raises(CorruptJournalCheckpoint, match="controller-journal-checkpoint"):
        parse_journal_checkpoint(data)


def test_the_highest_of_all_log_dirs_counts():
    older = replace(KNOWN, generation=2, journal_number=30, producer_ids_end=9000)
    assert newest([KNOWN, older]) == replace(KNOWN, producer_ids_end=9000)
    assert newest([]) == JournalCheckpoint()


def test_a_log_dir_that_missed_a_new_journal_does_not_bring_the_old_one_back():
    old = replace(KNOWN, generation=3, journal_id=bytes([6]) * 16, journal_number=999)
    assert newest([old, KNOWN]) == KNOWN
