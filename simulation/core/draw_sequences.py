"""Draws short plots: orders and faults that only together, in this order, come to what they show.

Single orders are drawn in ``draw_orders``. Each plot takes back what it does, as far as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, DiskFault, DiskMode, broker_node
from simulation.core import actions
from simulation.core.actions import Action, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, skewed
from simulation.core.plan import ClusterPlan

GAP_MS_MAX: Final = 1500
"""Between two actions of one plot."""


def _node(dice: Dice, cluster: ClusterPlan) -> tuple[int, str]:
    broker = dice.choice(cluster.broker_ids)
    return broker, broker_node(broker)


def _topic_of_a_dead_broker(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Nobody can lead it; deleting it waits, or it begins when its broker is back."""
    broker, node = _node(dice, cluster)
    topic = CreateTopic(name=f"extra{number}", assignment=((broker,),))
    delete = () if dice.random() < 0.4 else (actions.DeleteTopic(topic.name),)
    return actions.Stop(node), topic, *delete, actions.Start(node)


def _deletion_that_waits(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """A replica that cannot be asked holds up the deletion of its topic, over a new controller."""
    broker, node = _node(dice, cluster)
    others = dice.sample(cluster.broker_ids, dice.randint(1, 2))
    replicas = tuple(dict.fromkeys((broker, *others))) if dice.random() < 0.5 else (broker,)
    topic = CreateTopic(name=f"extra{number}", assignment=(replicas,))
    anew = (actions.Kill(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE))
    return (
        topic,
        actions.Stop(node),
        actions.DeleteTopic(topic.name),
        *(anew if dice.random() < 0.5 else ()),
        actions.Start(node),
    )


def _cordon_and_back(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    _, node = _node(dice, cluster)
    log_dir = dice.choice(cluster.log_dir_names)
    cordon = actions.Cordon(broker=node, log_dirs=(log_dir,))
    back = actions.Cordon(broker=node, log_dirs=())
    if dice.random() < 0.4:
        return cordon, back
    name = f"cordoned-{number}"
    rule = DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir)
    return (
        cordon,
        Fault(name=name, rule=rule),
        Clear(name, once_met=True),
        actions.RestartLogDir(broker=node, log_dir=log_dir),
        back,
    )


def _slow_move(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Something comes between while a replica moves to, or from, a slow disk."""
    broker, node = _node(dice, cluster)
    topic = dice.choice(cluster.topics)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    to = dice.choice(cluster.log_dir_names)
    name = f"slow-{number}"
    place = to if dice.random() < 0.7 else None
    rule = DiskFault(mode=DiskMode.SLOW, node=node, log_dir=place, delay_ms=skewed(dice, 5, 300))
    between: tuple[Action, ...] = dice.choice(
        (
            (),
            (actions.MoveReplica(of=partition, broker=node, to=f"of {partition}"),),
            (actions.MoveReplica(of=partition, broker=node, to=cluster.log_dir_names[0]),),
            (actions.ElectLeaders(partition),),
            (actions.Kill(f"leader of {partition}"),),
            (actions.Pause(f"leader of {partition}"),),
            (actions.Reassign(of=partition, to=tuple(dice.sample(cluster.broker_ids, 2))),),
            (actions.Reassign(of=partition, to=(broker,)), actions.CancelReassignment(partition)),
            (actions.DeleteTopic(topic.name), CreateTopic(name=topic.name, partitions=2)),
            (actions.DeleteRecords(of=partition, before=dice.randint(1, 50)),),
            (actions.RestartLogDir(broker=node, log_dir=to),),
        )
    )
    return (
        Fault(name=name, rule=rule),
        actions.MoveReplica(of=partition, broker=node, to=to),
        *between,
        Clear(name, once_met=True),
    )


def _reassign_and_cancel(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    topic = dice.choice(cluster.topics).name
    to = tuple(dice.sample(cluster.broker_ids, min(2, cluster.brokers)))
    return actions.Reassign(of=topic, to=to), actions.CancelReassignment(topic)


PLOTS: Final[dict[str, Callable[[Dice, ClusterPlan, int], tuple[Action, ...]]]] = {
    "topic_of_a_dead_broker": _topic_of_a_dead_broker,
    "deletion_that_waits": _deletion_that_waits,
    "cordon_and_back": _cordon_and_back,
    "slow_move": _slow_move,
    "reassign_and_cancel": _reassign_and_cancel,
}
"""By name; each is given chance, the cluster and a number that is its alone."""
