"""Where compaction goes on, per log dir, and what it leaves alone."""

from __future__ import annotations

import pytest

from broker.core.cleaner_offsets import CleanerOffsets
from protocol.ids import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 1)


@pytest.fixture
def offsets() -> CleanerOffsets:
    known = CleanerOffsets()
    known.load("/d1", {A: 100, B: 7})
    return known


def test_what_was_loaded_need_not_be_written(offsets: CleanerOffsets) -> None:
    assert offsets.get("/d1", A) == 100
    assert offsets.get("/d2", A) is None
    assert not offsets.take_changed("/d1")


def test_a_change_is_written_once(offsets: CleanerOffsets) -> None:
    offsets.put("/d1", A, 200)
    assert offsets.take_changed("/d1")
    assert not offsets.take_changed("/d1")
    assert offsets.offsets_of("/d1") == {A: 200, B: 7}


def test_a_truncation_lowers_it(offsets: CleanerOffsets) -> None:
    offsets.truncated("/d1", A, 150)
    assert not offsets.take_changed("/d1")
    offsets.truncated("/d1", A, 50)
    offsets.truncated("/d1", TopicPartition("other", 0), 50)
    assert offsets.take_changed("/d1")
    assert offsets.offsets_of("/d1") == {A: 50, B: 7}


@pytest.mark.parametrize(("offset", "is_beyond"), [(99, True), (100, False)])
def test_what_is_cut_may_be_what_records_before_it_were_taken_for(
    offsets: CleanerOffsets, offset: int, *, is_beyond: bool
) -> None:
    assert offsets.has_gone_beyond("/d1", A, offset) is is_beyond
    assert not offsets.has_gone_beyond("/d2", A, offset)


def test_it_moves_with_its_log(offsets: CleanerOffsets) -> None:
    offsets.mark_uncleanable("/d1", A)
    offsets.load("/d2", {A: 3})
    offsets.move(A, "/d1", "/d2")
    assert offsets.offsets_of("/d1") == {B: 7}
    assert offsets.offsets_of("/d2") == {A: 100}
    assert offsets.take_changed("/d1")
    assert offsets.take_changed("/d2")
    assert (offsets.uncleanable("/d1"), offsets.uncleanable("/d2")) == ((), (A,))


def test_a_log_that_was_never_compacted_moves_without_one(offsets: CleanerOffsets) -> None:
    offsets.load("/d2", {A: 3})
    offsets.move(A, "/d3", "/d2")
    assert offsets.offsets_of("/d2") == {}


def test_a_deleted_log_is_forgotten(offsets: CleanerOffsets) -> None:
    offsets.mark_uncleanable("/d1", A)
    offsets.forget("/d1", A)
    offsets.forget("/d1", A)
    offsets.forget("/d9", A)
    assert offsets.get("/d1", A) is None
    assert not offsets.is_uncleanable("/d1", A)
    assert offsets.take_changed("/d1")


def test_a_failed_log_dir_is_forgotten_and_not_written(offsets: CleanerOffsets) -> None:
    offsets.put("/d1", A, 200)
    offsets.mark_uncleanable("/d1", A)
    offsets.log_dir_failed("/d1")
    assert offsets.offsets_of("/d1") == {}
    assert offsets.uncleanable("/d1") == ()
    assert not offsets.take_changed("/d1")
