"""Plots about leaders that change at a bad moment, as they are drawn."""

from __future__ import annotations

from random import Random

from protocol.faults.model import DiskFault, DiskMode, NetworkFault
from simulation.core.actions import (
    Action,
    AlterConfigs,
    Clear,
    CreateTopic,
    DeleteRecords,
    ElectLeaders,
    Fault,
    Kill,
    MoveReplica,
    Pause,
    PowerCut,
    Reassign,
    ReplaceLogDir,
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
    loss_that_is_allowed_later,
    replacement_before_it_is_told,
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
        here, there = (each for each in actions if isinstance(each, MoveReplica))
        assert (here.of, here.broker) == (there.of, there.broker)
        assert here.to != there.to
        slow, quick = next(each for each in actions if isinstance(each, Fault)), actions[-1]
        assert isinstance(slow.rule, DiskFault)
        assert (slow.rule.mode, slow.rule.log_dir) == (DiskMode.SLOW, there.to)
        assert actions.index(slow) < actions.index(there)
        assert isinstance(quick, Clear)
        assert quick.fault == slow.name


def test_leaders_that_do_not_hear_of_each_other_take_turns_at_times() -> None:
    plots = [diverging_logs(Random(seed), each, 7) for seed, each in enumerate(CLUSTERS)]
    counts = {len(_kinds(each, ElectLeaders)) for each in plots}
    assert counts == {2, 3, 4}


def test_records_are_deleted_while_a_follower_stands_still_that_its_leader_never_heard() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = deletion_beside_an_unheard_follower(Random(seed), cluster, 7)
        asked = (Pause, Reassign, Wait, DeleteRecords, Resume)
        assert _kinds(actions, *asked) == [Reassign, *asked]


def test_a_follower_fails_or_ends_again_while_its_leader_asks_late_for_its_replica() -> None:
    ends = set[type[Action]]()
    for seed, cluster in enumerate(CLUSTERS):
        topic, stop, late, start, end, *back = failure_before_joining(Random(seed), cluster, 7)
        assert isinstance(topic, CreateTopic)
        assert isinstance(stop, Stop)
        assert isinstance(start, Start)
        assert isinstance(late, Fault)
        assert isinstance(late.rule, NetworkFault)
        if isinstance(end, Fault):
            assert isinstance(end.rule, DiskFault)
            assert end.rule.node == stop.node
            assert [type(each) for each in back] == [Clear, Clear]
        else:
            assert getattr(end, "node", None) == stop.node
            assert back == [Start(stop.node), Clear(late.name, once_met=True)]
        assert late.rule.source != stop.node == start.node
        ends.add(type(end))
    assert ends == {Fault, Kill, PowerCut, Stop}


def test_loss_is_allowed_while_only_a_replica_out_of_the_isr_is_there() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        topic, stop, end, start, _, allow, back = loss_that_is_allowed_later(
            Random(seed), cluster, 7
        )
        assert isinstance(topic, CreateTopic)
        assert isinstance(stop, Stop)
        assert isinstance(start, Start)
        assert isinstance(allow, AlterConfigs)
        assert isinstance(back, Start)
        ((first, second),) = topic.assignment
        assert topic.configs.get("unclean.leader.election.enable") != "true"
        assert (stop.node, start.node) == (f"broker-{second}",) * 2
        assert getattr(end, "node", None) == back.node == f"broker-{first}"
        assert (allow.topic, allow.set) == (topic.name, {"unclean.leader.election.enable": "true"})


def test_a_disk_is_replaced_in_the_isr_before_the_controller_hears_of_it() -> None:
    for seed, cluster in enumerate(CLUSTERS):
        actions = replacement_before_it_is_told(Random(seed), cluster, 7)
        assert bool(_kinds(actions, ReplaceLogDir)) is (cluster.log_dirs > 1)
        if cluster.log_dirs < 2:
            continue
        replaced = next(each for each in actions if isinstance(each, ReplaceLogDir))
        moved = next(each for each in actions if isinstance(each, MoveReplica))
        late = next(each for each in actions if isinstance(each, Fault))
        assert isinstance(late.rule, NetworkFault)
        assert (moved.broker, moved.to) == (replaced.broker, replaced.log_dir)
        assert late.rule.source == replaced.broker
        assert _kinds(actions, Fault, ReplaceLogDir, Reassign)[1:4] == [
            Fault,
            ReplaceLogDir,
            Reassign,
        ]
        begun = actions[actions.index(replaced) + 1]
        assert isinstance(begun, Reassign)
        assert len(set(begun.to)) == 3
