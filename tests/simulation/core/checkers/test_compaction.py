"""Which records compaction may take."""

from __future__ import annotations

import pytest

from simulation.core.checkers.compaction import Compaction
from simulation.core.history import Function, Send
from simulation.core.samples import TopicSample
from tests.simulation.core.checkers.build import TP, Story

LAST_OF_A_KEY = 14
"""With two keys; it has no value."""


def _story(policy: str = "compact") -> Story:
    story = Story().at(1)
    configs = {"cleanup.policy": policy, "delete.retention.ms": "5000"}
    story.samples.topics.append(TopicSample(0, "orders", configs))
    return story


def _send(story: Story, *records: int, offset: int = 0) -> None:
    send = Send(TP, records, -1, base_offset=offset, keys=2)
    story.history.begin("writer", Function.SEND, send).ok(send)


def _may_go(story: Story, offset: int, record: int, left: dict[int, int]) -> bool:
    compaction = Compaction(story.evidence)
    return compaction.may_have_taken(TP, offset, record, compaction.newest_of_keys(left))


def test_of_a_topic_that_never_was_compacted_nothing_goes() -> None:
    story = _story("delete")
    _send(story, 0, 2)

    assert not _may_go(story, 0, 0, {1: 2})


@pytest.mark.parametrize(
    ("left", "may_go"), [({1: 2}, True), ({1: 1}, False), ({}, False), ({0: 4}, False)]
)
def test_a_record_goes_when_a_newer_one_of_its_key_is_there(
    left: dict[int, int], may_go: bool
) -> None:
    story = _story("compact,delete")
    _send(story, 0, 1, 2, 4)

    assert _may_go(story, 0, 0, left) is may_go


@pytest.mark.parametrize(("ended", "may_go"), [(5.9, False), (6, True)])
def test_a_record_without_value_goes_and_takes_its_key_along(ended: float, may_go: bool) -> None:
    story = _story()
    _send(story, 0, LAST_OF_A_KEY)
    story.at(ended)

    assert _may_go(story, 1, LAST_OF_A_KEY, {}) is may_go
    assert _may_go(story, 0, 0, {}) is may_go


def test_a_record_that_was_written_after_the_key_was_deleted_stays() -> None:
    story = _story()
    _send(story, LAST_OF_A_KEY, 0)

    assert not _may_go(story.at(9), 1, 0, {})


def test_a_deletion_of_a_key_that_may_be_written_counts_and_one_that_failed_does_not() -> None:
    story = _story()
    _send(story, 0)
    deletion = Send(TP, (LAST_OF_A_KEY,), -1, keys=2)
    story.history.begin("writer", Function.SEND, deletion).fail("NOT_ENOUGH_REPLICAS")
    assert not _may_go(story.at(9), 0, 0, {})

    story.at(1)
    story.history.begin("writer", Function.SEND, deletion).unknown("REQUEST_TIMED_OUT")
    assert _may_go(story.at(9), 0, 0, {})


def test_a_deletion_of_a_key_counts_where_it_was_read_too() -> None:
    """Two leaders took it, and the one whose answer was lost goes on (seed 1069278)."""
    story = _story()
    _send(story, 0, LAST_OF_A_KEY)
    assert not _may_go(story.at(6), 4, 0, {})
    story.read((5, LAST_OF_A_KEY))

    assert _may_go(story, 4, 0, {})
    assert not _may_go(story, 6, 0, {})


def test_without_a_key_nothing_stays_for_sure() -> None:
    assert _may_go(_story(), 0, 77, {})
