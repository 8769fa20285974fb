from __future__ import annotations

from protocol.configs.names import MOVE_RATE, THROTTLED_RATES, THROTTLED_REPLICAS
from simulation.core.checkers.ordering import ordered_of
from simulation.core.checkers.throttles import kept_throttles, released
from simulation.core.history import Function, Order
from simulation.core.samples import BrokerConfigsSample, SampleSource, TopicSample
from tests.simulation.core.checkers.build import TP, Story

THROTTLED = {
    "leader.replication.throttled.replicas": "0:1,0:2",
    "follower.replication.throttled.replicas": "0:3",
}


def _configs(story: Story, configs: dict[str, str]) -> None:
    story.samples.topics.append(TopicSample(story.now_us, "orders", configs))


def _rates(story: Story, rates: dict[str, str]) -> None:
    story.samples.broker_configs.append(BrokerConfigsSample(story.now_us, "3", rates))


def _story(lists: dict[str, str] | None = None) -> Story:
    """Broker 3 is added to ``orders`` at 5 s, throttled; that is over at 9 s."""
    story = Story().at(1)
    story.samples.sources = tuple(SampleSource)
    story.partition()
    _configs(story, THROTTLED if lists is None else lists)
    _rates(story, {THROTTLED_RATES[1]: "1000"})
    story.at(5).order(Function.REASSIGN, Order("orders", 0, assignment=((1, 3),)))
    story.at(9).partition(replicas=(1, 3), isr=(1, 3))
    story.samples.healed_us = story.at(20).now_us
    return story


def _texts(story: Story) -> list[str]:
    return list(kept_throttles(ordered_of(story.at(30).evidence), story.samples))


def test_throttles_that_outlive_their_reassignment() -> None:
    assert _texts(_story()) == [
        "topic orders still has leader.replication.throttled.replicas, and the reassignment of "
        "orders-0 that it was for, answered at 5.000000 s, is over",
        "topic orders still has follower.replication.throttled.replicas, and the reassignment of "
        "orders-0 that it was for, answered at 5.000000 s, is over",
        "broker 3 still has follower.replication.throttled.rate, and the reassignment of orders-0 "
        "that it was for, answered at 5.000000 s, is over",
    ]


def test_throttles_that_were_taken_off_before_an_order_came_are_not_its() -> None:
    """The lists went with the reassignment before, and nobody takes off the rates that are left."""
    for gone_s, kept in ((6, 0), (8, 1)):
        story = Story().at(1)
        story.samples.sources = tuple(SampleSource)
        story.partition()
        _configs(story, THROTTLED)
        _rates(story, {THROTTLED_RATES[1]: "1000"})
        order = Order("orders", 0, assignment=((1, 3),))
        ordered = story.at(5).history.begin("admin", Function.REASSIGN, order)
        _configs(story.at(gone_s), {})
        story.at(7).partition(replicas=(1, 3), isr=(1, 3))
        story.at(9)
        ordered.ok(order)
        story.samples.healed_us = story.at(20).now_us
        assert len(_texts(story)) == kept, gone_s


def test_what_was_taken_off_right_before_an_order_is_seen_after_it() -> None:
    """Seed 950305: three orders within one look, the first of them the end of what was before."""
    for gone_s, kept in ((5.01, 0), (5.5, 1)):
        story = _story()
        story.samples.seen_within_us = 20_000
        _configs(story.at(gone_s), {})
        story.at(20)
        assert len(_texts(story)) == kept, gone_s


def test_throttles_that_went_with_it() -> None:
    story = _story()
    _configs(story, {})
    _rates(story, {})
    assert _texts(story) == []


def test_somebodys_permanent_throttles_stay() -> None:
    assert _texts(_story(dict.fromkeys(THROTTLED_REPLICAS, "*"))) == []
    assert _texts(_story({THROTTLED_REPLICAS[1]: "1:3,0:1"})) == []


def test_throttles_that_were_set_again_are_somebodys() -> None:
    story = _story()
    for configs in (THROTTLED_REPLICAS, THROTTLED_RATES):
        topic, broker = ("orders", -1) if configs is THROTTLED_REPLICAS else ("", 3)
        order = Order(topic, broker=broker, configs=tuple((name, "5") for name in configs))
        story.order(Function.ALTER_CONFIGS, order)
    assert _texts(story) == []


def test_a_reassignment_that_goes_on_keeps_them() -> None:
    story = _story()
    story.partition(replicas=(1, 3), isr=(1,))
    assert _texts(story) == []


def test_a_run_that_was_not_healed_says_nothing() -> None:
    story = _story()
    story.samples.healed_us = None
    assert _texts(story) == []


def test_what_nodes_may_take_off_by_themselves() -> None:
    story = Story()
    assert released(story.evidence) == ()
    story.order(Function.MOVE, Order(*TP, broker=1, log_dir="d1"))
    assert released(story.evidence) == (MOVE_RATE,)
    story.order(Function.REASSIGN, Order(*TP, assignment=((1,),)))
    assert released(story.evidence) == (*THROTTLED_REPLICAS, *THROTTLED_RATES, MOVE_RATE)
