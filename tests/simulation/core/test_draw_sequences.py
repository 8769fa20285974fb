"""Plots as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from simulation.core.actions import Clear, CreateTopic, DeleteTopic, Fault, Start, Stop
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
                assert actions[-1] == Start(action.node)


def test_a_topic_that_is_to_wait_for_its_deletion_exists_before() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        created, *rest = PLOTS["deletion_that_waits"](Random(seed), cluster, 9)
        assert isinstance(created, CreateTopic)
        assert DeleteTopic(created.name) in rest
