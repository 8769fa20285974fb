"""Deletions that are drawn beside what makes them take long."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from protocol.faults.model import DiskFault
from simulation.core.actions import (
    Ask,
    DeleteRecords,
    Fault,
    Kill,
    MoveReplica,
    Pause,
    PowerCut,
    Resume,
    Start,
)
from simulation.core.draw_deletions import DELETING, draw_lasting_deletion
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan, CreateTopic

TOPIC = CreateTopic(name="orders", partitions=2, assignment=((1, 2), (2, 3)), log_dir="d1")
SCOPE = FaultScope(ClusterPlan(brokers=3, log_dirs=3, topics=(TOPIC,)), 5_000)
DRAWN = [draw_lasting_deletion(Random(seed), SCOPE, 0) for seed in range(60)]


def rule_of(lanes: list[list[TimedAction]]) -> DiskFault:
    fault = lanes[-1][0].action
    assert isinstance(fault, Fault)
    assert isinstance(fault.rule, DiskFault)
    return fault.rule


def test_records_are_deleted_several_times_while_a_disk_is_slow() -> None:
    for lanes in DRAWN:
        slow, clear = lanes[-1]
        deletions = [
            (each.at_ms, each.action)
            for lane in lanes
            for each in lane
            if isinstance(each.action, DeleteRecords)
        ]
        assert sum(slow.at_ms <= at_ms <= clear.at_ms for at_ms, _ in deletions) > 1
        for name in {deletion.of for _, deletion in deletions}:
            offsets = [deletion.before for _, deletion in deletions if deletion.of == name]
            assert len(offsets) in {2, 3}
            assert all(after > before for before, after in pairwise(offsets))
    assert {rule_of(lanes).operations for lanes in DRAWN} == {*DELETING}


def test_who_asks_for_the_first_record_does_so_after_a_deletion_was_ordered() -> None:
    for lanes in DRAWN:
        for before, after in pairwise(lanes):
            if isinstance(after[0].action, Ask):
                assert isinstance(before[0].action, DeleteRecords)
                assert after[0].action.time_ms == 0
                assert before[0].at_ms < after[0].at_ms


def test_replicas_move_or_a_follower_ends_meanwhile() -> None:
    moved, ended = 0, 0
    for lanes in DRAWN:
        every = [each.action for lane in lanes for each in lane]
        moves = [each for each in every if isinstance(each, MoveReplica)]
        ends = [each for each in every if isinstance(each, Kill | PowerCut | Pause)]
        moved, ended = moved + bool(moves), ended + bool(ends)
        assert bool(moves) is not bool(ends)
        for end in ends:
            back = Resume(end.node) if isinstance(end, Pause) else Start(end.node)
            assert back in every
        assert {rule_of(lanes).node} == {
            *(move.broker for move in moves),
            *(end.node for end in ends),
        }
    assert moved > ended > 0
