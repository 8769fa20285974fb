"""Changes of an Isr that are drawn with words that arrive late, or reach nobody."""

from __future__ import annotations

from random import Random

from protocol.faults.model import CONTROLLER_NODE, DiskFault, NetworkFault
from simulation.core.actions import (
    Action,
    Clear,
    Fault,
    Kill,
    Pause,
    Reassign,
    RestartLogDir,
    Resume,
    Start,
    Stop,
)
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_isr_changes import draw_isr_changes
from simulation.core.plan import ClusterPlan, CreateTopic

TOPIC = CreateTopic(name="orders", partitions=2, assignment=((1, 2), (2, 3)))
CLUSTER = ClusterPlan(brokers=3, log_dirs=2, session_timeout_ms=1_000, topics=(TOPIC,))
SCOPE = FaultScope(CLUSTER, 5_000)
LANES = [lane for seed in range(60) for lane in draw_isr_changes(Random(seed), SCOPE, 0)]
ACTIONS = [[timed.action for timed in lane] for lane in LANES]


def rules_of(lane: list[Action]) -> list[object]:
    return [action.rule for action in lane if isinstance(action, Fault)]


def test_whoever_ends_or_stands_still_comes_back() -> None:
    for lane in ACTIONS:
        for place, action in enumerate(lane):
            if isinstance(action, Kill | Stop):
                assert Start(action.node) in lane[place:]
            if isinstance(action, Pause):
                assert Resume(action.node) in lane[place:]


def test_words_are_late_from_a_follower_that_ends_or_to_the_leader_of_one_that_comes_back() -> None:
    late = [
        lane for lane in ACTIONS if any(isinstance(each, NetworkFault) for each in rules_of(lane))
    ]
    kinds: set[bool] = set()
    for lane in late:
        (rule,) = rules_of(lane)
        (fault,) = (action for action in lane if isinstance(action, Fault))
        assert isinstance(rule, NetworkFault)
        assert not rule.both_ways
        is_answer = rule.source == CONTROLLER_NODE
        kinds.add(is_answer)
        quick = lane.index(Clear(fault.name, once_met=True))
        (start,) = (place for place, action in enumerate(lane) if isinstance(action, Start))
        assert (start < quick) is is_answer
        if is_answer:
            assert rule.latency_ms < CLUSTER.session_timeout_ms
    assert kinds == {True, False}


def test_a_new_leader_epoch_begins_soon_after_words_are_quick_again() -> None:
    orders = [lane for lane in LANES if isinstance(lane[0].action, Reassign)]
    assert orders
    for first, back in orders:
        assert isinstance(first.action, Reassign)
        assert isinstance(back.action, Reassign)
        assert {*first.action.to} > {*back.action.to}
        assert first.at_ms < back.at_ms


def test_a_log_dir_fails_and_is_back_while_nobody_decides() -> None:
    failing = [
        (place, lane)
        for place, lane in enumerate(LANES)
        if any(isinstance(timed.action, RestartLogDir) for timed in lane)
    ]
    assert failing
    for place, (fails, *_, restarted) in failing:
        assert isinstance(fails.action, Fault)
        assert isinstance(fails.action.rule, DiskFault)
        away, back = LANES[place + 1]
        assert isinstance(away.action, Kill | Stop | Pause)
        assert away.action.node == CONTROLLER_NODE
        assert away.at_ms < fails.at_ms < restarted.at_ms < back.at_ms
