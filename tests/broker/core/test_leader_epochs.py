"""Leader epochs: entries, end offsets and truncation, against a list of records as the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.leader_epochs import (
    UNDEFINED_END,
    EpochEnd,
    EpochEntry,
    LeaderEpochs,
    Truncation,
    decide_truncation,
    diverging_end,
    taken_over,
)


def epochs_of(records: list[int]) -> LeaderEpochs:
    """Entries of a log whose record at offset i has epoch ``records[i]``."""
    epochs = LeaderEpochs()
    for offset, epoch in enumerate(records):
        epochs.assign(epoch, offset)
    return epochs


LOGS = st.lists(st.integers(0, 6), max_size=12).map(sorted)


def test_an_epoch_begins_once() -> None:
    epochs = LeaderEpochs()
    assert epochs.latest == -1
    assert epochs.assign(0, 0)
    assert not epochs.assign(0, 5)
    assert epochs.assign(2, 10)
    assert epochs.entries == [EpochEntry(0, 0), EpochEntry(2, 10)]
    assert epochs.latest == 2


def test_an_epoch_without_records_disappears() -> None:
    epochs = LeaderEpochs([(0, 0), (1, 10)])
    assert epochs.assign(2, 10)
    assert epochs.entries == [EpochEntry(0, 0), EpochEntry(2, 10)]


def test_an_older_epoch_removes_what_contradicts_it() -> None:
    epochs = LeaderEpochs([(0, 0), (3, 10), (5, 20)])
    assert epochs.assign(3, 15)
    assert epochs.entries == [EpochEntry(0, 0), EpochEntry(3, 15)]


def test_the_end_of_an_epoch_is_where_the_next_one_begins() -> None:
    epochs = LeaderEpochs([(1, 5), (3, 10)])
    assert epochs.end_offset_for(1, 30) == EpochEnd(1, 10)
    assert epochs.end_offset_for(2, 30) == EpochEnd(1, 10)
    assert epochs.end_offset_for(3, 30) == EpochEnd(3, 30)


def test_epochs_outside_the_history() -> None:
    epochs = LeaderEpochs([(1, 5), (3, 10)])
    assert epochs.end_offset_for(0, 30) == EpochEnd(0, 5)
    assert epochs.end_offset_for(4, 30) == UNDEFINED_END
    assert epochs.end_offset_for(-1, 30) == UNDEFINED_END
    assert epochs.end_offset_for(-2, 30) == EpochEnd(-2, 5)
    assert LeaderEpochs().end_offset_for(0, 30) == UNDEFINED_END


def test_truncating_the_start_keeps_the_epoch_that_holds_it() -> None:
    epochs = LeaderEpochs([(1, 5), (3, 10), (4, 20)])
    assert epochs.truncate_from_start(12)
    assert epochs.entries == [EpochEntry(3, 12), EpochEntry(4, 20)]
    assert not epochs.truncate_from_start(12)
    assert not epochs.truncate_from_start(3)


def test_clearing_forgets_everything() -> None:
    epochs = LeaderEpochs([(1, 5)])
    assert epochs.clear()
    assert not epochs.clear()
    assert epochs.entries == []


@given(LOGS, st.integers(-1, 13))
def test_epoch_at_names_the_record_s_epoch(records: list[int], offset: int) -> None:
    epochs = epochs_of(records)
    if 0 <= offset < len(records):
        assert epochs.epoch_at(offset) == records[offset]
    elif offset < 0:
        assert epochs.epoch_at(offset) == -1


@given(LOGS, st.integers(0, 7))
def test_end_offsets_agree_with_the_records(records: list[int], asked: int) -> None:
    answer = epochs_of(records).end_offset_for(asked, len(records))
    if not records or asked > records[-1]:
        assert answer == UNDEFINED_END
        return
    below = [epoch for epoch in records if epoch <= asked]
    assert answer.end_offset == len(below)
    assert answer.epoch == (below[-1] if below else asked)


@given(LOGS, st.integers(0, 13))
def test_truncating_the_end_is_like_a_shorter_log(records: list[int], offset: int) -> None:
    epochs = epochs_of(records)
    before = epochs.entries
    changed = epochs.truncate_from_end(offset)
    assert epochs.entries == epochs_of(records[:offset]).entries
    assert changed == (epochs.entries != before)


@given(LOGS, st.integers(0, 13))
def test_truncating_the_start_keeps_what_is_said_of_the_rest(
    records: list[int], offset: int
) -> None:
    epochs = epochs_of(records)
    epochs.truncate_from_start(offset)
    assert [epochs.epoch_at(at) for at in range(offset, len(records))] == records[offset:]


class Replica:
    """A log whose records are (epoch, number): the number makes each write unique."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int]] = []
        self.epochs = LeaderEpochs()

    def lead(self, epoch: int, numbers: list[int]) -> None:
        self.epochs.assign(epoch, len(self.records))
        self.records += [(epoch, number) for number in numbers]

    def follow(self, leader: Replica, count: int) -> None:
        """Truncate as the leader's epochs say, then copy up to ``count`` records."""
        for _ in range(20):
            end = len(self.records)
            answer = leader.epochs.end_offset_for(self.epochs.latest, len(leader.records))
            step = decide_truncation(self.epochs, end, fallback_offset=0, answer=answer)
            assert 0 <= step.offset <= end
            del self.records[step.offset :]
            self.epochs.truncate_from_end(step.offset)
            if step.finished:
                break
        else:
            raise AssertionError("truncation does not end")
        assert self.records == leader.records[: len(self.records)]
        for record in leader.records[len(self.records) :][:count]:
            self.epochs.assign(record[0], len(self.records))
            self.records.append(record)


TERMS = st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.integers(0, 4))


@given(st.lists(TERMS, max_size=14))
def test_followers_always_truncate_to_a_common_prefix(
    terms: list[tuple[int, int, bool, int]],
) -> None:
    replicas = [Replica(), Replica(), Replica()]
    for epoch, (leader, count, first, copied) in enumerate(terms):
        replicas[leader].lead(epoch, list(range(count)))
        follower = replicas[(leader + (1 if first else 2)) % 3]
        follower.follow(replicas[leader], copied)
    if terms:
        leader = replicas[terms[-1][0]]
        for replica in replicas:
            if replica is not leader:
                replica.follow(leader, 1000)
                assert replica.records == leader.records


def test_a_follower_goes_to_the_leader_s_end_of_its_epoch() -> None:
    epochs = LeaderEpochs([(0, 0), (1, 10)])
    step = decide_truncation(epochs, 20, fallback_offset=0, answer=EpochEnd(1, 15))
    assert step == Truncation(15, finished=True)


def test_a_follower_asks_again_when_it_does_not_know_the_answered_epoch() -> None:
    epochs = LeaderEpochs([(0, 0), (3, 10)])
    step = decide_truncation(epochs, 20, fallback_offset=0, answer=EpochEnd(2, 30))
    assert step == Truncation(10, finished=False)


def test_the_high_watermark_decides_when_the_leader_knows_nothing() -> None:
    epochs = LeaderEpochs([(0, 0)])
    step = decide_truncation(epochs, 20, fallback_offset=7, answer=UNDEFINED_END)
    assert step == Truncation(7, finished=True)
    step = decide_truncation(epochs, 5, fallback_offset=7, answer=UNDEFINED_END)
    assert step == Truncation(5, finished=True)


def test_a_log_without_epochs_takes_the_leader_s_end() -> None:
    step = decide_truncation(LeaderEpochs(), 20, fallback_offset=0, answer=EpochEnd(2, 12))
    assert step == Truncation(12, finished=True)


def test_a_fetch_that_agrees_does_not_diverge() -> None:
    epochs = LeaderEpochs([(1, 5), (3, 10)])
    assert diverging_end(epochs, 30, last_fetched_epoch=-1, fetch_offset=9) is None
    assert diverging_end(epochs, 30, last_fetched_epoch=1, fetch_offset=10) is None
    assert diverging_end(epochs, 30, last_fetched_epoch=3, fetch_offset=30) is None


def test_a_fetch_beyond_its_epoch_s_end_diverges() -> None:
    epochs = LeaderEpochs([(1, 5), (3, 10)])
    assert diverging_end(epochs, 30, last_fetched_epoch=1, fetch_offset=11) == EpochEnd(1, 10)
    assert diverging_end(epochs, 30, last_fetched_epoch=2, fetch_offset=8) == EpochEnd(1, 10)
    assert diverging_end(epochs, 30, last_fetched_epoch=4, fetch_offset=8) == UNDEFINED_END


@pytest.mark.parametrize(
    ("own", "known", "start", "end", "joined"),
    [
        ([(0, 0), (1, 18)], [(0, 0), (1, 28)], 0, 46, [(0, 0), (1, 18)]),
        (
            [(0, 0), (1, 18)],
            [(0, 0), (1, 28), (4, 44), (6, 46)],
            0,
            46,
            [(0, 0), (1, 18), (4, 44), (6, 46)],
        ),
        ([(0, 0), (1, 18), (4, 44)], [(0, 0), (1, 28)], 20, 44, [(1, 20)]),
        ([], [(3, 0)], 0, 0, [(3, 0)]),
    ],
)
def test_a_log_that_takes_anothers_place_has_its_own_epochs_and_those_begun_since(
    own: list[tuple[int, int]],
    known: list[tuple[int, int]],
    start: int,
    end: int,
    joined: list[tuple[int, int]],
) -> None:
    """Seed 983255: compaction had taken from the old log what an epoch began with."""
    entries = [EpochEntry(*each) for each in own]
    found = taken_over(entries, LeaderEpochs(known), start_offset=start, end_offset=end)
    assert found.entries == joined
