"""Plots as they are drawn."""

from __future__ import annotations

from random import Random

import pytest

from protocol.faults.model import DiskFault
from simulation.core.actions import (
    AddPartitions,
    AlterConfigs,
    Clear,
    Cordon,
    CreateTopic,
    DeleteTopic,
    Fault,
    Pause,
    Reassign,
    RestartPartition,
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
    counts: list[int] = []
    for seed, cluster in enumerate(CLUSTERS):
        actions = PLOTS["deletion_that_waits"](Random(seed), cluster, 9)
        created = [each.name for each in actions if isinstance(each, CreateTopic)]
        deleted = [each.name for each in actions if isinstance(each, DeleteTopic)]
        assert isinstance(actions[len(created) - 1], CreateTopic)
        assert created == deleted
        counts.append(len(created))
    assert set(counts) == {1, 2}


def test_a_topic_is_deleted_whose_replica_was_left_out() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = PLOTS["one_brought_back_alone"](Random(seed), cluster, 9)
        made = [each for each in actions if isinstance(each, CreateTopic)]
        (fails,) = (each.rule for each in actions if isinstance(each, Fault))
        (back,) = (each for each in actions if isinstance(each, RestartPartition))
        (deleted,) = (each.name for each in actions if isinstance(each, DeleteTopic))
        assert isinstance(fails, DiskFault)
        assert {each.log_dir for each in made} == {fails.log_dir}
        assert back.of == f"{made[0].name}-0"
        assert deleted == made[1].name


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


def test_replicas_are_placed_by_hand_where_every_log_dir_is_cordoned() -> None:
    placed: set[str] = set()
    for seed, cluster in enumerate(CLUSTERS):
        match PLOTS["cordon_and_back"](Random(seed), cluster, seed):
            case (CreateTopic(), full, by_hand, back):
                assert isinstance(full, Cordon)
                assert full.log_dirs == tuple(cluster.log_dir_names)
                assert isinstance(back, Cordon)
                assert not back.log_dirs
                assert isinstance(by_hand, Reassign | CreateTopic | AddPartitions)
                placed.add(type(by_hand).__name__)
            case _:
                pass
    assert placed == {"Reassign", "CreateTopic", "AddPartitions"}
