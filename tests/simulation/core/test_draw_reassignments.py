"""Plots about reassignments that stand still, or are given again and again, as they are drawn."""

from __future__ import annotations

from random import Random

from protocol.faults.model import DiskFault, NetworkFault, NetworkMode, broker_node
from simulation.core.actions import (
    Action,
    CancelReassignment,
    Clear,
    DeleteTopic,
    Fault,
    Kill,
    Reassign,
    RestartLogDir,
    Start,
    Stop,
)
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_reassignments import (
    half_done_reassignment,
    replica_that_comes_and_goes,
)

CLUSTERS = [draw_cluster(Random(seed)) for seed in range(80)]
PLOTS = [half_done_reassignment(Random(seed), each, 7) for seed, each in enumerate(CLUSTERS)]


def _between(plot: tuple[Action, ...]) -> tuple[Action, ...]:
    return plot[4:-1]


def test_one_of_two_new_replicas_cannot_fetch_from_the_leader() -> None:
    for plot in PLOTS:
        alone, cut, both = plot[:3]
        assert isinstance(alone, Reassign)
        assert isinstance(cut, Fault)
        assert isinstance(cut.rule, NetworkFault)
        assert isinstance(both, Reassign)
        (first,) = alone.to
        late = both.to[-1]
        assert cut.rule.mode is NetworkMode.CUT
        assert (cut.rule.source, cut.rule.target) == (broker_node(first), broker_node(late))
        assert len({first, *both.to}) == 3
        assert plot[-1] == Clear(cut.name, once_met=True)


def test_the_leader_stays_or_goes() -> None:
    counts = {len(plot[2].to) for plot in PLOTS if isinstance(plot[2], Reassign)}
    assert counts == {2, 3}


def test_what_comes_between_is_a_failure_an_end_or_another_order() -> None:
    kinds = {type(each) for plot in PLOTS for each in _between(plot)}
    assert {Fault, RestartLogDir, Kill, Stop, Start, Reassign, DeleteTopic} <= kinds
    assert CancelReassignment in kinds


def test_a_log_dir_that_fails_is_back_before_the_late_one_goes_on() -> None:
    failing = [plot for plot in PLOTS if any(isinstance(each, Fault) for each in _between(plot))]
    assert failing
    for plot in failing:
        between = _between(plot)
        at = next(at for at, each in enumerate(between) if isinstance(each, Fault))
        fails, clear, back = between[at : at + 3]
        assert isinstance(fails, Fault)
        assert isinstance(fails.rule, DiskFault)
        assert clear == Clear(fails.name, once_met=True)
        assert isinstance(back, RestartLogDir)
        assert (back.broker, back.log_dir) == (fails.rule.node, fails.rule.log_dir)


def test_a_replica_is_taken_away_twice_while_its_broker_hears_late() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        alone, late, *orders, clear = replica_that_comes_and_goes(Random(seed), cluster, 7)
        assert isinstance(alone, Reassign)
        assert isinstance(late, Fault)
        assert isinstance(late.rule, NetworkFault)
        assert clear == Clear(late.name, once_met=True)
        counts = [len(each.to) for each in orders if isinstance(each, Reassign)]
        assert counts[:4] == [2, 1, 2, 1]
        both = orders[0]
        assert isinstance(both, Reassign)
        assert {*both.to} - {*alone.to} == {int(late.rule.target.rpartition("-")[2])}
