"""Plots about leaders that change at a bad moment, as they are drawn."""

from __future__ import annotations

from random import Random

from protocol.faults.model import DiskFault, DiskMode, NetworkFault
from simulation.core.actions import (
    Action,
    DeleteRecords,
    ElectLeaders,
    Fault,
    MoveReplica,
    Pause,
    Reassign,
    Resume,
    Start,
    Stop,
    Wait,
)
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_leaders import (
    deletion_beside_an_unheard_follower,
    diverging_logs,
    failure_before_joining,
)

CLUSTERS = [draw_cluster(Random(seed)) for seed in range(40)]


def _kinds(actions: tuple[Action, ...], *kinds: type[Action]) -> list[type[Action]]:
    return [type(each) for each in actions if isinstance(each, kinds)]


def test_a_leader_is_cut_off_from_its_followers_before_another_one_is_elected() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = diverging_logs(Random(seed), cluster, 7)
        cuts = [
            each
            for each in actions
            if isinstance(each, Fault) and isinstance(each.rule, NetworkFault)
        ]
        elections = [at for at, each in enumerate(actions) if isinstance(each, ElectLeaders)]
        first, second = [each.to for each in actions if isinstance(each, Reassign)][:2]
        assert first[:2] == second[1::-1]
        assert elections[0] < actions.index(cuts[0]) <= actions.index(cuts[-1]) < elections[1]


def test_the_replica_of_a_deposed_leader_moves_slowly_at_times() -> None:
    plots = [diverging_logs(Random(seed), each, 7) for seed, each in enumerate(CLUSTERS)]
    moving = [each for each in plots if _kinds(each, MoveReplica)]
    assert 0 < len(moving) < len(plots)
    for actions in moving:
        slow = next(each for each in actions if isinstance(each, Fault))
        assert isinstance(slow.rule, DiskFault)
        assert slow.rule.mode is DiskMode.SLOW


def test_records_are_deleted_while_a_follower_stands_still_that_its_leader_never_heard() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = deletion_beside_an_unheard_follower(Random(seed), cluster, 7)
        asked = (Pause, Reassign, Wait, DeleteRecords, Resume)
        assert _kinds(actions, *asked) == [Reassign, *asked]


def test_a_log_dir_fails_again_while_its_leader_asks_late_for_its_replica() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = failure_before_joining(Random(seed), cluster, 7)
        late, fails = (each for each in actions if isinstance(each, Fault))
        assert isinstance(late.rule, NetworkFault)
        assert isinstance(fails.rule, DiskFault)
        assert _kinds(actions, Stop, Start, Fault) == [Stop, Fault, Start, Fault]
        assert late.rule.source != fails.rule.node
