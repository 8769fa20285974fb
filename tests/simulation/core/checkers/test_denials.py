from __future__ import annotations

import pytest

from simulation.core.checkers.denials import check_denials
from simulation.core.history import Function, Order
from simulation.core.samples import Denial, FaultSample, NodeSample, TopicView
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _story() -> Story:
    """Broker 1 starts at 1 s and again at 10 s; orders is there from 5 s on."""
    story = Story()
    _start(story, 1, boot=1)
    story.at(5).partition(topic_id=b"first")
    _start(story, 10, boot=2)
    return story


def _start(story: Story, seconds: int, *, boot: int) -> None:
    sample = NodeSample(seconds * SECOND_US, "broker-1", is_up=True, boot=boot)
    story.samples.nodes.append(sample)


def _view(story: Story, seconds: float, *found: str, named: tuple[str, ...] | None = None) -> None:
    at_us = int(seconds * SECOND_US)
    story.samples.views.append(
        TopicView(at_us, at_us + 1000, 1, named, dict.fromkeys(found, 1), {})
    )


def _times(story: Story) -> list[float]:
    return [violation.at_us / SECOND_US for violation in check_denials(story.evidence)]


def test_a_topic_that_was_there_before_the_process_is_denied() -> None:
    story = _story()
    _view(story, 11, named=("orders",))

    (violation,) = check_denials(story.evidence)

    assert violation.text == (
        "broker 1 says in its metadata that there is no orders-0, asked at 11.000000 s; it is "
        "there since 5.000000 s, and that broker's process runs since 10.000000 s"
    )


def test_a_list_of_all_topics_denies_what_it_does_not_name() -> None:
    story = _story()
    _view(story, 11, "payments")
    assert _times(story) == [11.001]


def test_so_do_produce_and_fetch_and_one_denial_is_told_once() -> None:
    story = _story()
    for seconds in (11, 12):
        at_us = seconds * SECOND_US
        story.samples.denials.append(Denial(at_us, at_us + 5, 1, TP))
    assert _times(story) == [11.000005]


def test_news_may_come_late_until_the_broker_itself_told_them() -> None:
    story = _story()
    _view(story, 6)
    assert _times(story) == []

    _view(story, 7, "orders")
    _view(story, 8)
    assert _times(story) == [8.001]


def test_a_pause_is_no_start() -> None:
    story = Story()
    _start(story, 1, boot=1)
    story.at(5).partition()
    _start(story, 6, boot=1)
    _view(story, 7)
    assert _times(story) == []


def test_who_knew_before_it_was_told_of_the_topic_is_not_asked_about_the_next_one() -> None:
    story = _story()
    _view(story, 7, "orders")
    story.at(11).partition(topic_id=b"first", is_deleted=True)
    story.at(12).partition(topic_id=b"second")
    _view(story, 13)
    assert _times(story) == []


def test_the_answer_that_crossed_a_deletion_is_fine() -> None:
    story = _story()
    story.at(11.015).partition(topic_id=b"first", is_deleted=True)
    _view(story, 11)
    assert _times(story) == []


def test_a_topic_that_nobody_ever_led_is_not_there() -> None:
    story = Story()
    story.at(5).partition(leader=-1, epoch=-1)
    _start(story, 10, boot=1)
    _view(story, 11)
    assert _times(story) == []


def test_an_ordered_deletion_may_be_told_before_it_is_seen_or_never_be_seen() -> None:
    story = _story()
    story.at(10.5).order(Function.DELETE_TOPIC, Order(topic="orders"))
    _view(story, 10.2, named=("orders",))
    _view(story, 11, named=("orders",))
    assert _times(story) == [10.201]


@pytest.mark.parametrize(("ordered_s", "times"), [(4, [9.001]), (6, [])])
def test_a_deletion_may_be_ordered_before_anybody_leads(ordered_s: int, times: list[float]) -> None:
    story = Story()
    _start(story, 1, boot=1)
    story.at(5).partition(leader=-1, epoch=-1)
    story.at(ordered_s).order(Function.DELETE_TOPIC, Order(topic="orders"))
    story.at(7).partition()
    _view(story, 8, "orders")
    _view(story, 9, named=("orders",))

    assert _times(story) == times


def test_who_hears_late_may_have_told_of_the_topic_of_that_name_before_it() -> None:
    """Seed 682011: it told of the old one, heard of its deletion, and then of the new one."""
    for node, times in (("broker-2", [12.501]), ("broker-1", [])):
        story = _story()
        story.at(11).partition(topic_id=b"first", is_deleted=True)
        story.at(11.5).partition(topic_id=b"second")
        _view(story, 12, "orders")
        _view(story, 12.5, named=("orders",))
        late = FaultSample(11 * SECOND_US, None, node, what="latency")
        story.samples.faults.append(late)

        assert _times(story) == times


def test_who_told_of_a_topic_may_not_have_heard_yet_that_it_grew() -> None:
    story = _story()
    added = TP._replace(partition=1)
    story.at(11).partition(tp=added, topic_id=b"first")
    _view(story, 11.1, "orders")
    at_us = 12 * SECOND_US
    story.samples.denials.append(Denial(at_us, at_us + 5, 1, added))
    assert _times(story) == []
    story.samples.views.append(TopicView(at_us, at_us + 6, 1, None, {"orders": 2}, {}))
    story.samples.denials.append(Denial(at_us + 7, at_us + 8, 1, added))
    assert _times(story) == [12.000008]


def test_what_an_examiner_made_may_be_gone_before_anybody_saw_it() -> None:
    story = Story()
    story.at(5).partition(tp=TP._replace(topic="conform-topic1"), topic_id=b"first")
    _start(story, 10, boot=2)
    _view(story, 11)
    assert _times(story) == []
