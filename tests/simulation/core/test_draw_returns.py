"""Log dirs that are drawn to come back beside what was made without them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, Operation
from simulation.core.actions import (
    Clear,
    CreateTopic,
    DeleteTopic,
    Fault,
    Kill,
    PowerCut,
    Reassign,
    ReplaceLogDir,
    RestartLogDir,
    Start,
    Stop,
)
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.draw_returns import draw_returning_log_dirs
from simulation.core.plan import ClusterPlan

TOPIC = CreateTopic(name="orders", partitions=2, assignment=((1, 2), (2, 3)), log_dir="d1")
CLUSTER = ClusterPlan(brokers=3, log_dirs=2, session_timeout_ms=1_000, topics=(TOPIC,))
SCOPE = FaultScope(CLUSTER, 5_000)
Lane = list[TimedAction]
RATE = 60_000
LANES = [lane for seed in range(60) for lane in draw_returning_log_dirs(Random(seed), SCOPE, RATE)]


def lanes_with(kinds: tuple[type, ...], rule: type) -> list[tuple[Lane, Lane]]:
    """Return lanes with such a rule that begin with one of these, each with the one behind it."""
    return [
        (lane, after)
        for lane, after in pairwise(LANES)
        if isinstance(lane[0].action, kinds)
        if any(isinstance(one.action, Fault) and isinstance(one.action.rule, rule) for one in lane)
    ]


def test_a_replica_leaves_a_broker_that_is_down_and_is_back_before_its_log_can_be_read() -> None:
    found = lanes_with((Kill, Stop, PowerCut), DiskFault)
    assert found
    for (end, unread, start, clear, restart), (away, back) in found:
        assert isinstance(end.action, Kill | Stop | PowerCut)
        assert isinstance(start.action, Start)
        assert isinstance(unread.action, Fault)
        assert isinstance(unread.action.rule, DiskFault)
        assert isinstance(away.action, Reassign)
        assert isinstance(back.action, Reassign)
        assert clear.action == Clear(unread.action.name, once_met=True)
        assert restart.action == RestartLogDir(broker=end.action.node, log_dir="d1")
        (broker,) = {*back.action.to} - {*away.action.to}
        assert end.action.node == start.action.node == unread.action.rule.node == f"broker-{broker}"
        assert end.at_ms < unread.at_ms < away.at_ms < start.at_ms < restart.at_ms
        assert back.at_ms < clear.at_ms


def test_a_log_dir_fails_by_one_of_several_logs_that_are_made_on_it() -> None:
    found = [(lane, after) for lane, after in lanes_with((Fault,), DiskFault) if len(lane) < 4]
    assert found
    nth: set[int] = set()
    modes: dict[DiskMode, tuple[Operation, ...] | None] = {}
    for (fault, clear, restart), (made, gone) in found:
        assert isinstance(fault.action, Fault)
        assert isinstance(fault.action.rule, DiskFault)
        assert isinstance(made.action, CreateTopic)
        modes[fault.action.rule.mode] = fault.action.rule.operations
        nth.add(fault.action.rule.from_nth)
        assert len(made.action.assignment) >= 3
        assert all(f"broker-{each[0]}" == fault.action.rule.node for each in made.action.assignment)
        assert fault.at_ms < made.at_ms < clear.at_ms < restart.at_ms < gone.at_ms
        assert gone.action == DeleteTopic(made.action.name)
    assert nth == {1, 2, 3}
    assert modes == {
        DiskMode.EIO: (Operation.MAKE_DIR,),
        DiskMode.ENOSPC: (Operation.CREATE,),
    }


def test_a_broker_begins_after_an_end_that_was_not_clean_and_loses_power_soon() -> None:
    ended = [lane for lane in LANES if isinstance(lane[-2:][0].action, PowerCut) and len(lane) > 5]
    assert ended
    for badly, end, clear, start, lost, again in ended:
        assert isinstance(badly.action, Fault)
        assert isinstance(badly.action.rule, DiskFault)
        assert isinstance(end.action, Stop)
        assert end.action.node == badly.action.rule.node
        assert clear.action == Clear(badly.action.name, once_met=True)
        assert start.action == again.action == Start(end.action.node)
        assert lost.action == PowerCut(end.action.node)
        assert badly.at_ms < end.at_ms < clear.at_ms < start.at_ms < lost.at_ms < again.at_ms


def test_a_disk_is_replaced_at_the_rate_and_by_the_last_where_its_loss_is_accepted() -> None:
    found = [
        (place, lane[0].action)
        for place, lane in enumerate(LANES)
        if isinstance(lane[0].action, ReplaceLogDir)
    ]
    assert {replaced.accept_loss for _, replaced in found} == {True, False}
    for place, replaced in found:
        assert replaced.throttle_bytes_per_second == RATE
        if replaced.accept_loss:
            (ended,) = LANES[place - 1]
            assert isinstance(ended.action, Stop)
            assert ended.at_ms + CLUSTER.session_timeout_ms < LANES[place][0].at_ms
            assert LANES[place + 1][0].action == Start(ended.action.node)


def test_a_loss_is_heard_of_after_the_leader_epoch_that_begins_behind_it() -> None:
    found = lanes_with((Fault,), NetworkFault)
    assert found
    for (late, replaced, _), orders in found:
        assert isinstance(late.action, Fault)
        assert isinstance(late.action.rule, NetworkFault)
        assert isinstance(replaced.action, ReplaceLogDir)
        assert replaced.action.broker == late.action.rule.source
        assert late.action.rule.latency_ms < CLUSTER.session_timeout_ms
        epoch = orders[0]
        assert isinstance(epoch.action, Reassign)
        assert replaced.at_ms < epoch.at_ms < replaced.at_ms + late.action.rule.latency_ms
