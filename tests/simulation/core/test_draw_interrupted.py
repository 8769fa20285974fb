"""Moves that are drawn with something that comes between."""

from __future__ import annotations

from random import Random

from protocol.faults.model import DiskFault
from simulation.core.actions import (
    Clear,
    DeleteRecords,
    Fault,
    Kill,
    MoveReplica,
    PowerCut,
    Start,
    Stop,
)
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_interrupted import MOVING, RENAMES, draw_interrupted_move
from simulation.core.plan import ClusterPlan, CreateTopic

TOPIC = CreateTopic(name="orders", partitions=2, assignment=((1, 2), (2, 3)), log_dir="d1")
SCOPE = FaultScope(ClusterPlan(brokers=3, log_dirs=3, topics=(TOPIC,)), 5_000)
LANES = [draw_interrupted_move(Random(seed), SCOPE, 0)[-1] for seed in range(40)]


def test_a_broker_ends_after_it_was_ordered_to_move_and_while_its_disks_are_slow() -> None:
    for seed in range(40):
        *orders, ended = draw_interrupted_move(Random(seed), SCOPE, 0)
        slow, end, clear, *_, start = ended[:4] if len(ended) == 4 else ended[:5]
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
    rules = [lane[0].action.rule for lane in LANES if isinstance(lane[0].action, Fault)]
    assert {rule.operations for rule in rules if isinstance(rule, DiskFault)} == {*MOVING}


def test_some_brokers_begin_without_the_log_dir_that_a_replica_moves_to_and_then_with_it() -> None:
    twice = [lane for lane in LANES if len(lane) > 4]
    assert len(LANES) / 4 < len(twice) < len(LANES) / 2
    for _, _, _, unread, start, end, seen, again in twice:
        assert isinstance(unread.action, Fault)
        assert isinstance(unread.action.rule, DiskFault)
        assert isinstance(end.action, Kill | Stop)
        assert start.action == again.action == Start(end.action.node)
        assert unread.action.rule.node == end.action.node
        assert unread.action.rule.log_dir in {"d2", "d3"}
        assert seen.action == Clear(unread.action.name, once_met=True)
        assert unread.at_ms < start.at_ms < end.at_ms < seen.at_ms < again.at_ms
