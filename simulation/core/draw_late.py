"""Draws what reaches a node late: news of a failed log dir, what a controller asked for, records.

Only one way of one link is slow. What was written on it arrives long after the world has gone on:
the log dir is back, the controller is another process, the topic is gone.
"""

from __future__ import annotations

from typing import Final

from protocol.faults.model import (
    CONTROLLER_NODE,
    DiskFault,
    DiskMode,
    FileClass,
    NetworkFault,
    NetworkMode,
    Operation,
    broker_node,
)
from simulation.core import actions
from simulation.core.actions import Action, Clear, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_faults import FaultScope, TimedAction

LATE_MS_MIN: Final = 200
"""What is late by less is no other world than the one it was written in."""
_LATE_MS_MAX: Final = 3_000
_FATAL: Final = (DiskMode.EIO, DiskMode.READ_ONLY, DiskMode.TORN_WRITE)


def draw_late_failure(dice: Dice, scope: FaultScope, _rate: int) -> list[list[TimedAction]]:
    """Break a log dir whose broker reaches the controller late, and have it back early or not."""
    cluster = scope.cluster
    node, log_dir = broker_node(dice.choice(cluster.broker_ids)), dice.choice(cluster.log_dir_names)
    late = _late(dice, node, CONTROLLER_NODE)
    begin_ms = dice.randint(100, max(100, scope.length_ms // 2))
    broken_ms = begin_ms + skewed(dice, 1, 1_000)
    repaired_ms = broken_ms + skewed(dice, 50, late.latency_ms * 2)
    end_ms = broken_ms + dice.randint(late.latency_ms, late.latency_ms * 3)
    broken = DiskFault(mode=dice.choice(_FATAL), node=node, log_dir=log_dir)
    restarted_ms = repaired_ms + skewed(dice, 1, 500)
    return [
        _for_a_while("late-failure", late, begin_ms, end_ms),
        [
            *_for_a_while("heard-late", broken, broken_ms, repaired_ms),
            TimedAction(restarted_ms, actions.RestartLogDir(broker=node, log_dir=log_dir)),
        ],
    ]


def draw_late_replicas(
    dice: Dice, scope: FaultScope, _rate: int, *, beside: str
) -> list[list[TimedAction]]:
    """Let a follower write late, once or twice: its leader's log outgrows the high watermark.

    What retention and compaction must not touch yet is several segments long then.
    """
    lane: list[TimedAction] = []
    begin_ms = 0
    for number in range(1, dice.randint(1, 2) + 1):
        topic = dice.choice(scope.cluster.topics)
        partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
        slow = DiskFault(
            mode=DiskMode.SLOW,
            node=f"follower of {partition}",
            log_dir=f"of {partition}",
            operations=(Operation.APPEND,),
            files=(FileClass.LOG,),
            delay_ms=dice.randint(LATE_MS_MIN, _LATE_MS_MAX),
        )
        begin_ms += dice.randint(100, max(100, scope.length_ms // 3))
        end_ms = begin_ms + skewed(dice, 500, 3_000)
        lane += _for_a_while(f"late-beside-{beside}-{number}", slow, begin_ms, end_ms)
        begin_ms = end_ms
    return [lane]


def draw_late_requests(dice: Dice, scope: FaultScope, _rate: int) -> list[list[TimedAction]]:
    """Let a broker hear a controller's requests after those of the controller that follows."""
    cluster = scope.cluster
    late = _late(dice, CONTROLLER_NODE, broker_node(dice.choice(cluster.broker_ids)))
    topic = dice.choice(cluster.topics)
    replicas = tuple(dice.sample(cluster.broker_ids, min(2, cluster.brokers)))
    orders: list[Action] = [
        actions.DeleteTopic(topic.name),
        actions.AddPartitions(topic=topic.name, to=topic.partitions + 2),
        actions.Reassign(of=topic.name, to=replicas),
        actions.ElectLeaders(topic.name),
    ]
    begin_ms = dice.randint(100, max(100, scope.length_ms // 2))
    order_ms = begin_ms + skewed(dice, 1, 500)
    end_ms = order_ms + skewed(dice, 1, late.latency_ms)
    # The link is quick again before, or after, the next controller speaks.
    start_ms = end_ms + skewed(dice, 1, 1_000)
    quick_ms = dice.choice((end_ms, start_ms)) + skewed(dice, 1, 500)
    end = chosen(dice, {actions.Kill: 3, actions.Stop: 1})
    controller = [
        TimedAction(end_ms, end(CONTROLLER_NODE)),
        TimedAction(start_ms, actions.Start(CONTROLLER_NODE)),
    ]
    return [
        _for_a_while("late-requests", late, begin_ms, quick_ms),
        [TimedAction(order_ms, action) for action in dice.sample(orders, dice.randint(1, 2))],
        *([controller] if dice.random() < 0.7 else []),
    ]


def _late(dice: Dice, source: str, target: str) -> NetworkFault:
    return NetworkFault(
        mode=NetworkMode.LATENCY,
        source=source,
        target=target,
        both_ways=False,
        latency_ms=dice.randint(LATE_MS_MIN, _LATE_MS_MAX),
        jitter_ms=skewed(dice, 0, 200),
    )


def _for_a_while(
    name: str, rule: NetworkFault | DiskFault, begin_ms: int, end_ms: int
) -> list[TimedAction]:
    return [
        TimedAction(begin_ms, Fault(name=name, rule=rule)),
        TimedAction(end_ms, Clear(name, once_met=True)),
    ]
