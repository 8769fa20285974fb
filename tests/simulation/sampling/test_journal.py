"""A journal that is read while it grows."""

from __future__ import annotations

from controller.core.config_records import TopicConfigsChanged
from controller.core.records import DeletionQueued, Record, TopicCreated
from controller.journal import Entry, encode_entry
from simulation.core.samples import Samples
from simulation.sampling.journal import JournalSampler

CREATED = TopicCreated("orders", bytes(16), {}, ((1, 2),))
QUEUED = DeletionQueued("orders")


def line(sequence: int, *records: Record) -> bytes:
    return encode_entry(Entry(sequence, sequence, list(records)))


def test_every_decision_is_seen_and_none_in_its_middle() -> None:
    samples = Samples()
    watch = JournalSampler(samples)

    watch.look(line(0, CREATED, TopicConfigsChanged("orders", {"x": "y"})) + line(1, QUEUED), 7)

    assert [(each.at_us, each.is_deleted) for each in samples.partitions] == [(7, False), (7, True)]
    assert [each.configs for each in samples.topics] == [{"x": "y"}]


def test_a_line_without_its_end_is_read_when_it_has_one() -> None:
    samples = Samples()
    watch = JournalSampler(samples)
    data = line(0, CREATED) + line(1, QUEUED)

    watch.look(data[:-3], 1)
    assert watch.size_bytes == len(line(0, CREATED))
    watch.look(data[watch.size_bytes :], 2)

    assert watch.size_bytes == len(data)
    assert [each.at_us for each in samples.partitions] == [1, 2]


def test_a_damaged_line_ends_what_can_be_seen() -> None:
    watch = JournalSampler(Samples())

    watch.look(b"00000000" + line(0, CREATED)[8:], 1)

    assert watch.size_bytes == 0
    assert watch.state.topics == {}


def test_a_journal_that_was_replaced_says_nothing_new() -> None:
    samples = Samples()
    watch = JournalSampler(samples)
    watch.look(line(0, CREATED), 1)

    watch.begin_anew()
    watch.look(line(0, CREATED), 2)

    assert [each.at_us for each in samples.partitions] == [1]
    assert list(watch.state.topics) == ["orders"]
