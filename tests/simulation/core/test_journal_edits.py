from __future__ import annotations

import pytest

from controller.core.records import ProducerIdsAllocated
from controller.journal import Entry, decode_entry, encode_entry
from simulation.core.journal_edits import edited

LINE = encode_entry(Entry(0, 0, [ProducerIdsAllocated(1000)]))


def test_a_damaged_end_is_a_whole_line_that_cannot_be_read() -> None:
    after = edited("damage", LINE * 2, b"")

    assert after.startswith(LINE)
    assert len(after) == 2 * len(LINE)
    with pytest.raises(ValueError, match="checksum"):
        decode_entry(after.splitlines()[1])


def test_the_last_line_is_cut_off_whole() -> None:
    assert edited("cut", LINE * 3, b"") == LINE * 2
    assert edited("cut", b"", b"") == b""


def test_damage_in_the_middle_leaves_both_ends() -> None:
    after = edited("damage_middle", LINE * 3, b"")

    assert (len(after), after[: len(LINE)], after[-len(LINE) :]) == (3 * len(LINE), LINE, LINE)
    with pytest.raises(ValueError, match="checksum"):
        decode_entry(after[len(LINE) : 2 * len(LINE) - 1])


def test_the_copy_comes_back_and_nothing_is_left_of_an_emptied_one() -> None:
    assert edited("restore", b"newer", LINE) == LINE
    assert edited("empty", LINE, b"") == b""
    assert edited("copy", LINE, b"") == LINE


def test_a_torn_journal_has_all_its_lines_and_half_a_one() -> None:
    after = edited("tear", LINE * 2, b"")
    assert after.startswith(LINE * 2)
    assert len(after) > len(LINE * 2)
    assert not after.endswith(b"\n")
