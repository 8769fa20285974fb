"""Draws short plots: orders and faults that only together, in this order, come to what they show.

Single orders are drawn in ``draw_orders``. Each plot takes back what it does, as far as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from protocol.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS, THROTTLED_RATES
from protocol.faults.model import CONTROLLER_NODE, DiskFault, DiskMode, broker_node
from simulation.core import actions
from simulation.core.actions import Action, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, skewed
from simulation.core.draw_leaders import (
    deletion_beside_an_unheard_follower,
    diverging_logs,
    failure_before_joining,
    loss_that_is_allowed_later,
    replacement_before_it_is_told,
)
from simulation.core.draw_reassignments import (
    half_done_reassignment,
    replica_that_comes_and_goes,
)
from simulation.core.plan import ClusterPlan

_THROTTLE: Final = 10_000_000
"""Faster than clients write, or what is throttled never catches up."""
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
    """A replica that cannot be asked holds up deletions of its topics, over a new controller."""
    broker, node = _node(dice, cluster)
    others = dice.sample(cluster.broker_ids, dice.randint(1, 2))
    replicas = tuple(dict.fromkeys((broker, *others))) if dice.random() < 0.5 else (broker,)
    count = dice.randint(1, 2)
    names = [f"extra{number}{letter}" for letter in "ab"[:count]]
    topics = [CreateTopic(name=name, assignment=(replicas,)) for name in names]
    deletions = [actions.DeleteTopic(name) for name in names]
    anew = (actions.Kill(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE))
    if dice.random() < 0.4:
        # Who only stood still comes back as the same process, with its logs open.
        return *topics, actions.Pause(node), *deletions, *anew, actions.Resume(node)
    return (
        *topics,
        actions.Stop(node),
        *deletions,
        *(anew if dice.random() < 0.5 else ()),
        actions.Start(node),
    )


def _cordon_and_back(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    broker, node = _node(dice, cluster)
    log_dir = dice.choice(cluster.log_dir_names)
    cordon = actions.Cordon(broker=node, log_dirs=(log_dir,))
    back = actions.Cordon(broker=node, log_dirs=())
    if dice.random() < 0.5:
        full = actions.Cordon(broker=node, log_dirs=tuple(cluster.log_dir_names))
        other = dice.choice([each for each in cluster.broker_ids if each != broker])
        topic = CreateTopic(name=f"extra{number}", assignment=((other,),))
        by_hand = dice.choice(
            (
                actions.Reassign(of=topic.name, to=(broker,)),
                CreateTopic(name=f"placed{number}", assignment=((other, broker),)),
                actions.AddPartitions(topic=topic.name, to=2, assignment=((broker,),)),
            )
        )
        return topic, full, by_hand, back
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
    if dice.random() < 0.8:  # Elsewhere there is most often nothing to move.
        is_led = topic.replication_factor == 1 or dice.random() < 0.5
        node = f"{'leader' if is_led else 'follower'} of {partition}"
    to = dice.choice(cluster.log_dir_names)
    name = f"slow-{number}"
    place = to if dice.random() < 0.7 else None
    rule = DiskFault(mode=DiskMode.SLOW, node=node, log_dir=place, delay_ms=skewed(dice, 20, 600))
    between: tuple[Action, ...] = dice.choice(
        (
            (),
            # What is deleted has a future log then.
            *[(actions.DeleteTopic(topic.name), CreateTopic(name=topic.name, partitions=2))] * 3,
            (actions.MoveReplica(of=partition, broker=node, to=f"of {partition}"),),
            (actions.MoveReplica(of=partition, broker=node, to=cluster.log_dir_names[0]),),
            (actions.ElectLeaders(partition),),
            (actions.Kill(f"leader of {partition}"),),
            (actions.Pause(f"leader of {partition}"),),
            (actions.Reassign(of=partition, to=tuple(dice.sample(cluster.broker_ids, 2))),),
            (actions.Reassign(of=partition, to=(broker,)), actions.CancelReassignment(partition)),
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


def _topics_beside_a_failed_log_dir(
    dice: Dice, cluster: ClusterPlan, number: int
) -> tuple[Action, ...]:
    """Logs of the first one find out that a log dir is broken, those of the second begin beside."""
    broker, node = _node(dice, cluster)
    log_dir = dice.choice(cluster.log_dir_names)
    name = f"beside-{number}"
    rule = DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir)
    own: tuple[tuple[int, ...], ...] = ((broker,),)
    first = CreateTopic(name=f"extra{number}", assignment=own * len(cluster.log_dir_names))
    second = CreateTopic(name=f"extra{number}b", assignment=own)
    to = (broker, *(each for each in cluster.broker_ids if each != broker))[:2]
    return (
        Fault(name=name, rule=rule),
        first,
        dice.choice((second, actions.Reassign(of=dice.choice(cluster.topics).name, to=to))),
        Clear(name, once_met=True),
        actions.RestartLogDir(broker=node, log_dir=log_dir),
    )


def _one_brought_back_alone(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Bring one replica of a failed log dir back, and delete the topic of one that stays offline.

    Its log dir works by then, and its broker can delete it without hosting it.
    """
    broker, node = _node(dice, cluster)
    log_dir = dice.choice(cluster.log_dir_names)
    others = [each for each in cluster.broker_ids if each != broker]
    replicas = (broker, dice.choice(others)) if dice.random() < 0.5 else (broker,)
    alone, left, writes = (f"extra{number}{letter}" for letter in "abc")
    topics = [
        CreateTopic(name=name, assignment=(replicas,), log_dir=log_dir)
        for name in (alone, left, writes)
    ]
    name = f"left-out-{number}"
    rule = DiskFault(mode=DiskMode.EIO, node=node, log_dir=log_dir)
    anew = (actions.Kill(CONTROLLER_NODE), actions.Start(CONTROLLER_NODE))
    return (
        *topics[:2],
        Fault(name=name, rule=rule),
        topics[2],
        Clear(name, once_met=True),
        actions.RestartPartition(of=f"{alone}-0", broker=node),
        *(anew if dice.random() < 0.2 else ()),
        actions.DeleteTopic(left),
        actions.RestartLogDir(broker=node, log_dir=log_dir),
    )


def _reassign_and_cancel(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    topic = dice.choice(cluster.topics).name
    to = tuple(dice.sample(cluster.broker_ids, min(2, cluster.brokers)))
    return actions.Reassign(of=topic, to=to), actions.CancelReassignment(topic)


def _throttled_reassignment(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    """Throttles as Kafka's tool sets them; they go when the reassignment is over, or taken back."""
    topic = dice.choice(cluster.topics)
    index = dice.randint(0, topic.partitions - 1)
    partition = f"{topic.name}-{index}"
    to = tuple(dice.sample(cluster.broker_ids, min(2, cluster.brokers)))
    leading, following = (
        ",".join(f"{index}:{broker}" for broker in brokers) for brokers in (cluster.broker_ids, to)
    )
    lists: dict[str, str | None] = {LEADER_REPLICAS: leading, FOLLOWER_REPLICAS: following}
    rates: dict[str, str | None] = dict.fromkeys(THROTTLED_RATES, str(_THROTTLE))
    cancel = (actions.CancelReassignment(partition),) if dice.random() < 0.2 else ()
    return (
        actions.AlterConfigs(topic=topic.name, set=lists),
        *(actions.AlterConfigs(broker=broker_node(broker), set=rates) for broker in to),
        actions.Reassign(of=partition, to=to),
        *cancel,
    )


PLOTS: Final[dict[str, Callable[[Dice, ClusterPlan, int], tuple[Action, ...]]]] = {
    "topic_of_a_dead_broker": _topic_of_a_dead_broker,
    "deletion_that_waits": _deletion_that_waits,
    "cordon_and_back": _cordon_and_back,
    "slow_move": _slow_move,
    "reassign_and_cancel": _reassign_and_cancel,
    "throttled_reassignment": _throttled_reassignment,
    "topics_beside_a_failed_log_dir": _topics_beside_a_failed_log_dir,
    "one_brought_back_alone": _one_brought_back_alone,
    "diverging_logs": diverging_logs,
    "deletion_beside_an_unheard_follower": deletion_beside_an_unheard_follower,
    "failure_before_joining": failure_before_joining,
    "loss_that_is_allowed_later": loss_that_is_allowed_later,
    "half_done_reassignment": half_done_reassignment,
    "replacement_before_it_is_told": replacement_before_it_is_told,
    "replica_that_comes_and_goes": replica_that_comes_and_goes,
}
"""By name; each is given chance, the cluster and a number that is its alone."""
