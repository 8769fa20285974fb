"""What must be found, and what may be found."""

from __future__ import annotations

import pytest

from simulation.matrix.partition_model import PartitionModel


def model(count: int = 3) -> PartitionModel:
    values = [b"%d" % number for number in range(count)]
    return PartitionModel(
        is_created=True, acknowledged=dict(enumerate(values)), sent=dict.fromkeys(values)
    )


def test_what_was_acknowledged_is_there() -> None:
    model().check({0: b"0", 1: b"1", 2: b"2"})
    with pytest.raises(AssertionError, match=r"2 is missing, \[1\] is the last"):
        model().check({0: b"0", 1: b"1"})
    with pytest.raises(AssertionError, match="1 is b'2'"):
        model().check({0: b"0", 1: b"2", 2: b"2"})


def test_what_was_sent_may_be_there_and_nothing_else() -> None:
    known = model()
    known.sent[b"late"] = None
    found = {0: b"0", 1: b"1", 2: b"2", 3: b"late"}
    known.check(found)
    with pytest.raises(AssertionError, match="4: nobody wrote"):
        known.check({**found, 4: b"stranger"})


def test_what_was_ordered_to_go_may_be_gone() -> None:
    known = model()
    known.kept_from = 2
    known.check({2: b"2"})


def test_retention_keeps_the_last_ones() -> None:
    known = model()
    known.keep_last = 1
    known.check({2: b"2"})
    with pytest.raises(AssertionError, match="2 is missing"):
        known.check({0: b"0", 1: b"1"})


def test_of_a_deleted_partition_nothing_is_missed() -> None:
    known = model()
    known.is_deleted = True
    known.check({})


def test_compaction_takes_what_a_later_record_replaces() -> None:
    known = model()
    known.is_compacted = True
    known.keys = {0: b"a", 1: b"b", 2: b"a"}
    known.check({1: b"1", 2: b"2"})
    with pytest.raises(AssertionError, match="1 is missing"):
        known.check({2: b"2"})


def test_its_summary_changes_with_every_promise() -> None:
    known = model()
    seen = [known.summary()]
    known.acknowledged[3] = b"3"
    seen.append(known.summary())
    known.kept_from = 2
    seen.append(known.summary())
    known.replicas = ((1, 2),)
    seen.append(known.summary())
    known.is_deleted = True
    seen.append(known.summary())
    assert len(dict.fromkeys(seen)) == len(seen)
