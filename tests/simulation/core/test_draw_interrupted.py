"""Moves that are drawn with something that comes between."""

from __future__ import annotations

from random import Random

from protocol.faults.model import DiskFault
from simulation.core.actions import DeleteRecords, Fault, Kill, MoveReplica, PowerCut, Start
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_interrupted import MOVING, RENAMES, draw_interrupted_move
from simulation.core.plan import ClusterPlan, CreateTopic

TOPIC = CreateTopic(name="orders", partitions=2, assignment=((1, 2), (2, 3)), log_dir="d1")
SCOPE = FaultScope(ClusterPlan(brokers=3, log_dirs=3, topics=(TOPIC,)), 5_000)


def test_a_broker_ends_after_it_was_ordered_to_move_and_while_its_disks_are_slow() -> None:
    for seed in range(40):
        *orders, (slow, end, clear, start) = draw_interrupted_move(Random(seed), SCOPE, 0)
        assert isinstance(slow.action, Fault)
        assert isinstance(slow.action.rule, DiskFault)
        assert isinstance(end.action, Kill | PowerCut)
        assert start.action == Start(end.action.node)
        assert slow.at_ms <= orders[0][0].at_ms < end.at_ms < clear.at_ms < start.at_ms
        given = [order.action for (order,) in orders]
        moves = [one for one in given if isinstance(one, MoveReplica)]
        assert {move.broker for move in moves} == {slow.action.rule.node}
        assert all(isinstance(one, DeleteRecords) for one in given if one not in moves)
        assert slow.action.rule.operations in MOVING
        assert len(moves) == (1 if slow.action.rule.operations == RENAMES else 2)


def test_what_is_slow_is_drawn_too() -> None:
    lanes = [draw_interrupted_move(Random(seed), SCOPE, 0)[-1] for seed in range(40)]
    rules = [lane[0].action.rule for lane in lanes if isinstance(lane[0].action, Fault)]
    assert {rule.operations for rule in rules if isinstance(rule, DiskFault)} == {*MOVING}
