"""Plots as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from simulation.core.actions import (
    AlterConfigs,
    Clear,
    CreateTopic,
    DeleteTopic,
    Fault,
    Pause,
    Reassign,
    Resume,
    Start,
    Stop,
)
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_sequences import PLOTS

CLUSTERS = [draw_cluster(Random(seed)) for seed in range(40)]


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_takes_back_its_faults_and_what_it_stops(name: str) -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = PLOTS[name](Random(seed), cluster, seed)
        assert len(actions) >= 2
        for action in actions:
            if isinstance(action, Fault):
                assert Clear(action.name, once_met=True) in actions
            if isinstance(action, Stop):
                assert Start(action.node) in actions[actions.index(action) :]
            if isinstance(action, Pause) and name.startswith("deletion_"):
                assert actions[-1] == Resume(action.node)


def test_a_topic_that_is_to_wait_for_its_deletion_exists_before() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        created, *rest = PLOTS["deletion_that_waits"](Random(seed), cluster, 9)
        assert isinstance(created, CreateTopic)
        assert DeleteTopic(created.name) in rest


def test_throttles_of_a_reassignment_name_what_it_adds() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        lists, *_, last = PLOTS["throttled_reassignment"](Random(seed), cluster, 9)
        assert isinstance(lists, AlterConfigs)
        followers = lists.set["follower.replication.throttled.replicas"]
        orders = PLOTS["throttled_reassignment"](Random(seed), cluster, 9)
        (reassign,) = (each for each in orders if isinstance(each, Reassign))
        index = reassign.of.rpartition("-")[2]
        assert followers == ",".join(f"{index}:{broker}" for broker in reassign.to)
        assert not isinstance(last, AlterConfigs)
