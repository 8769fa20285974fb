"""Draws what administrators ask of a cluster while things break: orders, each at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from protocol.messages.topics import TO_HIGH_WATERMARK
from simulation.core import actions
from simulation.core.actions import Action
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_cluster import draw_topic
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.draw_sequences import GAP_MS_MAX, PLOTS
from simulation.core.plan import ClusterPlan, Workload


def draw_orders(
    dice: Dice, scope: FaultScope, kinds: list[str], numbers: range
) -> list[TimedAction]:
    """Draw an order of these kinds for each number, some of which Kafka will refuse.

    What is given and taken back, such as a topic, counts once and is two in the list, which is in
    order of time. Names that an order gives end in its number.
    """
    orders: list[TimedAction] = []
    for number in numbers:
        kind = chosen(dice, {kind: _OFTEN.get(kind, 1) for kind in kinds})
        at_ms = dice.randint(100, scope.length_ms // 2 if kind in PLOTS else scope.length_ms)
        for action in _ORDERS[kind](dice, scope.cluster, number):
            orders.append(TimedAction(at_ms, action))
            gap_ms = skewed(dice, 1, _GAPS_MS_MAX.get(kind, 5_000))
            at_ms = min(at_ms + gap_ms, scope.length_ms)
    return sorted(orders, key=lambda order: order.at_ms)


def _topic(dice: Dice, cluster: ClusterPlan) -> str:
    return dice.choice(cluster.topics).name


def _partitions(dice: Dice, cluster: ClusterPlan) -> str:
    """Name one partition, a topic, or everything."""
    topic = dice.choice(cluster.topics)
    one = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    return chosen(dice, {one: 7, topic.name: 2, "*": 1})


def _broker(dice: Dice, cluster: ClusterPlan) -> str:
    return dice.choice(cluster.node_names[1:])


def _log_dir(dice: Dice, cluster: ClusterPlan) -> str:
    return dice.choice(cluster.log_dir_names)


def _pass_topic(dice: Dice, _cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    topic = draw_topic(dice, f"extra{number}")
    return (topic,) if dice.random() < 0.3 else (topic, actions.DeleteTopic(topic.name))


def _make_anew(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    name = _topic(dice, cluster)
    return actions.DeleteTopic(name), draw_topic(dice, name)


def _add_partitions(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    topic = dice.choice(cluster.topics)
    return (actions.AddPartitions(topic=topic.name, to=topic.partitions + dice.randint(1, 2)),)


def _move(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    """Name a replica that is there, or any broker."""
    partition = _partitions(dice, cluster)
    broker = _broker(dice, cluster)
    if partition not in {*(topic.name for topic in cluster.topics), "*"}:
        broker = chosen(
            dice, {f"leader of {partition}": 2, f"follower of {partition}": 1, broker: 2}
        )
    return (actions.MoveReplica(of=partition, broker=broker, to=_log_dir(dice, cluster)),)


def _reassign(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    count = dice.randint(1, min(3, cluster.brokers))
    to = tuple(dice.sample(cluster.broker_ids, count))
    return (actions.Reassign(of=_partitions(dice, cluster), to=to),)


def _cancel(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    return (actions.CancelReassignment(_partitions(dice, cluster)),)


def _elect(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    return (actions.ElectLeaders(_partitions(dice, cluster)),)


def _alter_topic(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    name, values = dice.choice(_TOPIC_CHANGES)
    change = {name: dice.choice(values)}
    if dice.random() < 0.3:
        given = {key: value for key, value in change.items() if value is not None}
        return (actions.AlterConfigs(topic=_topic(dice, cluster), set=given, alone=True),)
    return (actions.AlterConfigs(topic=_topic(dice, cluster), set=change),)


def _alter_broker(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    name, values = dice.choice(_BROKER_CHANGES)
    broker = None if dice.random() < 0.3 else _broker(dice, cluster)
    return (actions.AlterConfigs(broker=broker, set={name: dice.choice(values)}),)


def _cordon(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    names = cluster.log_dir_names
    cordoned = dice.sample(names, dice.randint(0, len(names)))
    return (actions.Cordon(broker=_broker(dice, cluster), log_dirs=tuple(sorted(cordoned))),)


def _restart_log_dir(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    return (actions.RestartLogDir(broker=_broker(dice, cluster), log_dir=_log_dir(dice, cluster)),)


def _replace_log_dir(dice: Dice, cluster: ClusterPlan, number: int) -> tuple[Action, ...]:
    """Every third one is filled at a rate that clients do not come to."""
    broker, log_dir = _broker(dice, cluster), _log_dir(dice, cluster)
    rate = None if number % 3 else _REBUILD_RATE
    return (actions.ReplaceLogDir(broker=broker, log_dir=log_dir, throttle_bytes_per_second=rate),)


def _restart_partition(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    return (actions.RestartPartition(of=_partitions(dice, cluster), broker=_broker(dice, cluster)),)


def _delete_records(dice: Dice, cluster: ClusterPlan, _number: int) -> tuple[Action, ...]:
    """Most often few: what lies beyond the high watermark of a partition is refused."""
    before = TO_HIGH_WATERMARK if dice.random() < 0.2 else skewed(dice, 1, _RECORDS_MAX)
    return (actions.DeleteRecords(of=_partitions(dice, cluster), before=before),)


def draw_quiet_deletion(
    dice: Dice, scope: FaultScope, workloads: Sequence[Workload]
) -> list[TimedAction]:
    """Delete records of a topic to which nobody writes any more.

    Followers hear of it without records then, and the order waits for them. Where a library writes
    nothing is drawn: it does not end before all is written that it was given, however long that is.
    """
    topic = dice.choice(scope.cluster.topics)
    writers = [one for one in workloads if one.kind == "produce" and one.topic == topic.name]
    if any(writer.client != "plain" for writer in writers):
        return []
    at_ms = dice.randint(scope.length_ms // 3, scope.length_ms - 500)
    partition = f"{topic.name}-{dice.randint(0, topic.partitions - 1)}"
    deletion = actions.DeleteRecords(of=partition, before=skewed(dice, 1, 50))
    deleted_ms = min(at_ms + skewed(dice, 10, 1_500), scope.length_ms)
    return [
        *(TimedAction(at_ms, actions.StopWorkload(writer.name)) for writer in writers),
        TimedAction(deleted_ms, deletion),
    ]


_RECORDS_MAX: Final = 300
_REBUILD_RATE: Final = 1_000_000
_TOPIC_CHANGES: Final[tuple[tuple[str, tuple[str | None, ...]], ...]] = (
    ("min.insync.replicas", ("1", "2", None)),
    ("segment.bytes", ("16384", "65536", None)),
    ("max.message.bytes", ("1048588", "4096", None)),
    ("flush.messages", ("1", "100", None)),
    ("message.timestamp.type", ("CreateTime", "LogAppendTime", None)),
    ("retention.bytes", ("1000", "20000", None)),
    ("retention.ms", ("500", "3000", None)),
    ("cleanup.policy", ("compact", "delete", "compact,delete", None)),
)
_BROKER_CHANGES: Final[tuple[tuple[str, tuple[str | None, ...]], ...]] = (
    ("leader.replication.throttled.rate", ("100000", None)),
    ("follower.replication.throttled.rate", ("100000", None)),
    ("replica.alter.log.dirs.io.max.bytes.per.second", ("5000000", None)),
    ("log.segment.bytes", ("16384", None)),
    ("min.insync.replicas", ("1", "2", None)),
)
_ORDERS: Final[dict[str, Callable[[Dice, ClusterPlan, int], tuple[Action, ...]]]] = {
    "pass_topic": _pass_topic,
    "make_topic_anew": _make_anew,
    "add_partitions": _add_partitions,
    "move_replica": _move,
    "reassign": _reassign,
    "cancel_reassignment": _cancel,
    "elect_leaders": _elect,
    "alter_topic": _alter_topic,
    "alter_broker": _alter_broker,
    "cordon": _cordon,
    "restart_log_dir": _restart_log_dir,
    "replace_log_dir": _replace_log_dir,
    "restart_partition": _restart_partition,
    "delete_records": _delete_records,
    **PLOTS,
}
_GAPS_MS_MAX: Final = {
    **dict.fromkeys(PLOTS, GAP_MS_MAX),
    "diverging_logs": 200,
    "failure_before_joining": 300,
    "half_done_reassignment": 500,
    "replacement_before_it_is_told": 300,
    "replica_that_comes_and_goes": 400,
}
"""Between what belongs together; who gives many at once gives them soon."""
_OFTEN: Final = {
    "move_replica": 4,
    "reassign": 3,
    "slow_move": 3,
    "cordon_and_back": 2,
    "diverging_logs": 6,
    "deletion_beside_an_unheard_follower": 2,
    "replacement_before_it_is_told": 2,
}
ORDER_KINDS: Final = tuple(_ORDERS)
APART: Final = (
    "failure_before_joining",
    "loss_that_is_allowed_later",
    "half_done_reassignment",
    "replica_that_comes_and_goes",
    "one_brought_back_alone",
)
"""What an administrator asks who does nothing else: among others it would come too late."""
