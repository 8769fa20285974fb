"""Late news and late requests as they are drawn."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from protocol.faults.model import CONTROLLER_NODE, DiskFault, NetworkFault
from simulation.core.actions import Fault, Start
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.draw_late import (
    LATE_MS_MIN,
    draw_late_failure,
    draw_late_replicas,
    draw_late_requests,
)

SEEDS = range(200)


def scope_of(seed: int) -> FaultScope:
    return FaultScope(draw_cluster(Random(seed)), 5_000)


def link_of(lane: list[TimedAction]) -> NetworkFault:
    begun = lane[0].action
    assert isinstance(begun, Fault)
    assert isinstance(begun.rule, NetworkFault)
    return begun.rule


def test_news_of_a_log_dir_are_late_that_fails_while_the_link_is_slow() -> None:
    for seed in SEEDS:
        slow, broken = draw_late_failure(Random(seed), scope_of(seed), 0)
        link, failed = link_of(slow), broken[0].action
        assert isinstance(failed, Fault)
        assert isinstance(failed.rule, DiskFault)
        assert (link.source, link.target) == (failed.rule.node, CONTROLLER_NODE)
        assert link.latency_ms >= LATE_MS_MIN
        assert slow[0].at_ms < broken[0].at_ms < slow[1].at_ms


def test_log_dirs_are_back_before_the_controller_can_have_heard_or_after() -> None:
    early = 0
    for seed in SEEDS:
        slow, broken = draw_late_failure(Random(seed), scope_of(seed), 0)
        early += broken[-1].at_ms < broken[0].at_ms + link_of(slow).latency_ms
    assert 20 < early < 180


def test_orders_are_given_while_the_controller_is_heard_late() -> None:
    for seed in SEEDS:
        slow, orders, *ends = draw_late_requests(Random(seed), scope_of(seed), 0)
        assert link_of(slow).source == CONTROLLER_NODE
        assert slow[0].at_ms < orders[0].at_ms < slow[1].at_ms
        assert all(isinstance(lane[-1].action, Start) for lane in ends)


def test_a_follower_writes_late_for_a_while_and_in_one_partition_alone() -> None:
    for seed in SEEDS:
        scope = scope_of(seed)
        (lane,) = draw_late_replicas(Random(seed), scope, 0, beside="retention")
        names = [each.action.name for each in lane if isinstance(each.action, Fault)]
        assert len(names) * 2 == len(lane)
        assert names == list(dict.fromkeys(names))
        for begin, end in pairwise(lane):
            assert begin.at_ms < end.at_ms
        rule = lane[0].action.rule if isinstance(lane[0].action, Fault) else None
        assert isinstance(rule, DiskFault)
        partition = rule.node.removeprefix("follower of ")
        assert rule.log_dir == f"of {partition}"
        assert partition.rpartition("-")[0] in {topic.name for topic in scope.cluster.topics}
