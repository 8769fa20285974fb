"""Draws plots about reassignments that stand still half-way or are given again and again."""

from __future__ import annotations

from typing import Final

from protocol.faults.model import (
    CONTROLLER_NODE,
    DiskFault,
    DiskMode,
    NetworkFault,
    NetworkMode,
    broker_node,
)
from simulation.core import actions
from simulation.core.actions import Action, Clear, Fault
from simulation.core.dice import Dice
from simulation.core.plan import ClusterPlan

_JOINS_MS: Final = 300
"""By then a new replica that reaches its leader is mostly in sync."""


def half_done_reassignment(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Add two replicas, of which one cannot fetch, and let something happen while one is in sync.

    At times the leader is to go, and stays until the late one is there.
    """
    topic = dice.choice(cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    first, joined, late = dice.sample(cluster.broker_ids, 3)
    cut = Fault(
        name=f"half-done-{number}",
        rule=NetworkFault(
            mode=NetworkMode.CUT, source=broker_node(first), target=broker_node(late)
        ),
    )
    stays = (first,) if dice.random() < 0.6 else ()
    return (
        actions.Reassign(of=partition, to=(first,)),
        cut,
        actions.Reassign(of=partition, to=(*stays, joined, late)),
        actions.Wait(_JOINS_MS),
        *_between(dice, partition, (first, joined, late), number),
        Clear(cut.name, once_met=True),
    )


def replica_that_comes_and_goes(
    dice: Dice, cluster: ClusterPlan, number: int
) -> tuple[Action, ...]:
    """Add and take away one replica again and again, while its broker hears of each late.

    It is not so late that its broker counts as dead.
    """
    topic = dice.choice(cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    first, second = dice.sample(cluster.broker_ids, 2)
    late = Fault(
        name=f"hears-late-{number}",
        rule=NetworkFault(
            mode=NetworkMode.LATENCY,
            source=CONTROLLER_NODE,
            target=broker_node(second),
            both_ways=False,
            latency_ms=dice.randint(100, cluster.session_timeout_ms // 2),
        ),
    )
    alone = actions.Reassign(of=partition, to=(first,))
    both = actions.Reassign(of=partition, to=dice.choice(((first, second), (second, first))))
    last = (both,) if dice.random() < 0.3 else ()
    return (alone, late, both, alone, both, alone, *last, Clear(late.name, once_met=True))


def _between(
    dice: Dice, partition: str, brokers: tuple[int, int, int], number: int
) -> tuple[Action, ...]:
    first, joined, late = brokers
    topic = partition.rpartition("-")[0]
    broker = broker_node(joined if dice.random() < 0.6 else dice.choice((first, late)))
    log_dir = f"of {partition}"
    fails = Fault(
        name=f"fails-half-done-{number}",
        rule=DiskFault(mode=DiskMode.EIO, node=broker, log_dir=log_dir),
    )
    end = dice.choice((actions.Kill, actions.Stop))
    disk: tuple[Action, ...] = (
        fails,
        Clear(fails.name, once_met=True),
        actions.RestartLogDir(broker=broker, log_dir=log_dir),
    )
    anew = (end(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE))
    replaced = dice.choice(((first,), (late, first), (first, late), (joined, late, first)))
    asked: tuple[tuple[Action, ...], ...] = (
        (),
        (actions.Reassign(of=partition, to=replaced),),
        (actions.CancelReassignment(partition),),
        (actions.DeleteTopic(topic), actions.CreateTopic(name=topic, partitions=2)),
    )
    broken = (disk, disk, anew, (*anew, *disk), (end(broker), actions.Start(broker)), ())
    return (*dice.choice(broken), *dice.choice(asked))
