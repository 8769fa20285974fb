"""Draws what only comes about when several things happen close to each other.

Each situation is a list of lanes: actions in order of time, which go on beside all others, so that
an order that waits for its answer delays no fault. What they need of the cluster, such as a topic
whose places the plan knows, is in ``draw_settings``. Where a step comes too late the ending repairs
what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from protocol.configs.names import MOVE_RATE, THROTTLED_RATES, THROTTLED_REPLICAS
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
from simulation.core.actions import Action, AlterConfigs, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_deletions import draw_lasting_deletion
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.draw_interrupted import draw_interrupted_move
from simulation.core.draw_isr_changes import draw_isr_changes
from simulation.core.draw_late import draw_late_failure, draw_late_replicas, draw_late_requests
from simulation.core.draw_requests import draw_requests
from simulation.core.draw_returns import draw_returning_log_dirs
from simulation.core.draw_settings import SOURCE_LOG_DIR
from simulation.core.features import Features, Situation
from simulation.core.plan import ClusterPlan, Workload

Lane = list[TimedAction]
WITHIN_MS: Final = 2_000
"""What is close to each other."""
_ANSWERED_MS: Final = 50
"""By then an order is answered where nothing is broken."""
_OUT_OF_ISR_MS: Final = 2_400
"""By then a follower that is cut off has left the Isr (``draw_settings``)."""
FATAL: Final = (DiskMode.EIO, DiskMode.READ_ONLY, DiskMode.TORN_WRITE, DiskMode.HANG)
"""Modes that take a log dir offline at its next write."""
_JOURNAL_MODES: Final = (
    DiskMode.EIO,
    DiskMode.ENOSPC,
    DiskMode.READ_ONLY,
    DiskMode.TORN_WRITE,
)
"""Those that lose no decision that was told, and keep none waiting.

Nothing is promised where a journal lies. What waits for a hung or slow disk was decided and told to
nobody: checkers see it in the controller's memory and take it for a decision.
"""
_RATE_MIN: Final = 50_000
_RATE_FACTOR: Final = 4
"""Throttled replicas must be faster than clients write, or they never catch up."""


def draw_situations(
    features: Features,
    scope: FaultScope,
    workloads: Sequence[Workload],
    stream: Callable[[str], Dice],
) -> list[Lane]:
    """Return the lanes of all situations that are on."""
    rate = max(_RATE_MIN, _RATE_FACTOR * sum(map(_bytes_per_second, workloads)))
    lanes = [
        lane
        for name, draw in _SITUATIONS.items()
        if name in features
        for lane in draw(stream(f"{name}_lanes"), scope, rate)
    ]
    return [
        sorted((_within(timed, scope) for timed in lane), key=lambda timed: timed.at_ms)
        for lane in lanes
    ]


def _unclean_election(dice: Dice, scope: FaultScope, _rate: int) -> list[Lane]:
    """Cut the followers of a leader off from it until it is alone in the Isr, and end it.

    Half the time nobody orders an election: configurations alone say whether there is one.
    """
    topic = scope.cluster.topics[0]
    partition = f"{topic.name}-0"
    leader, *followers = map(broker_node, topic.assignment[0])
    cut_ms = dice.randint(100, max(100, scope.length_ms // 8))
    end_ms = cut_ms + _OUT_OF_ISR_MS + dice.randint(0, max(0, scope.length_ms // 2 - 3_000))
    cuts: list[tuple[Fault, Clear]] = []
    for follower in followers:
        rule = NetworkFault(mode=NetworkMode.CUT, source=leader, target=follower)
        name = f"out-of-isr-{follower}"
        cuts.append((Fault(name=name, rule=rule), Clear(name, once_met=True)))
    end, back = _end_of_leader(dice, leader, partition)
    is_ordered = dice.random() < 0.5
    elect = actions.ElectLeaders(partition, kind="unclean")
    back_ms = end_ms + (dice.randint(300, 3_000) if is_ordered else dice.randint(2_500, 4_000))
    healed_ms = end_ms + skewed(dice, 1, 1_000)
    return [
        [
            *(TimedAction(cut_ms, cut) for cut, _ in cuts),
            TimedAction(end_ms, end),
            *(TimedAction(healed_ms, heal) for _, heal in cuts),
        ],
        [
            *([TimedAction(end_ms + dice.randint(200, 1_500), elect)] if is_ordered else []),
            *_apart(dice, back_ms, 100, back),
        ],
    ]


def _end_of_leader(dice: Dice, leader: str, partition: str) -> tuple[Action, tuple[Action, ...]]:
    """Draw how a leader goes, and how it comes back."""
    if dice.random() < 0.6:
        end = chosen(dice, {actions.Kill: 2, actions.PowerCut: 1, actions.Stop: 2})
        return end(leader), (actions.Start(leader),)
    name = "last-in-sync"
    log_dir = f"of {partition}"
    rule = DiskFault(mode=dice.choice(FATAL), node=leader, log_dir=log_dir)
    back = actions.RestartLogDir(broker=leader, log_dir=log_dir)
    return Fault(name=name, rule=rule), (Clear(name, once_met=True), back)


def _failing_move(dice: Dice, scope: FaultScope, _rate: int) -> list[Lane]:
    """Let both log dirs of a move fail, the one soon after the other, while it copies or swaps.

    Only what is copied is slow: where the new log is made slowly, too, the order is answered late,
    and by then a log dir has failed and it is refused.
    """
    cluster = scope.cluster
    topic = cluster.topics[0]
    index = dice.randint(0, topic.partitions - 1)
    node = broker_node(dice.choice(topic.assignment[index]))
    target = dice.choice(cluster.log_dir_names[1:])
    # Early, while most of what the story breaks is whole.
    at_ms = dice.randint(200, max(200, scope.length_ms // 5))
    names = [SOURCE_LOG_DIR, target] if dice.random() < 0.5 else [target, SOURCE_LOG_DIR]
    slow = DiskFault(
        mode=DiskMode.SLOW,
        node=node,
        log_dir=target,
        operations=(Operation.APPEND,),
        files=(FileClass.LOG,),
        delay_ms=dice.randint(200, 1_000),
    )
    first_ms = at_ms + _ANSWERED_MS + skewed(dice, 1, 400)
    second_ms = first_ms + skewed(dice, 0, WITHIN_MS - 100)
    end_ms = second_ms + dice.randint(500, 3_000)
    is_broken = [
        Fault(
            name=f"moves-{name}",
            rule=DiskFault(mode=dice.choice(FATAL[:3]), node=node, log_dir=name),
        )
        for name in names
    ]
    move = actions.MoveReplica(of=f"{topic.name}-{index}", broker=node, to=target)
    back = [
        *(Clear(each.name, once_met=True) for each in is_broken),
        *(actions.RestartLogDir(broker=node, log_dir=name) for name in names),
    ]
    return [
        [TimedAction(at_ms, move)],
        [
            TimedAction(max(0, at_ms - 50), Fault(name="moves-slowly", rule=slow)),
            TimedAction(first_ms, is_broken[0]),
            TimedAction(second_ms, is_broken[1]),
            TimedAction(second_ms + 1, Clear("moves-slowly", once_met=True)),
            *_apart(dice, end_ms, 300, back),
        ],
    ]


def _controller_ends(dice: Dice, scope: FaultScope, _rate: int) -> list[Lane]:
    """Let the controller end right after an order, while a log dir is dead."""
    cluster = scope.cluster
    node, log_dir = broker_node(dice.choice(cluster.broker_ids)), dice.choice(cluster.log_dir_names)
    rule = DiskFault(mode=dice.choice(FATAL), node=node, log_dir=log_dir)
    dead_ms = dice.randint(100, max(100, scope.length_ms // 3))
    order_ms = dead_ms + skewed(dice, 500, 2_500)
    end = chosen(dice, {actions.Kill: 3, actions.PowerCut: 2, actions.Stop: 1})
    end_ms = order_ms + skewed(dice, 1, WITHIN_MS)
    start_ms = end_ms + skewed(dice, 50, 3_000)
    repaired_ms = dice.choice((end_ms, start_ms)) + skewed(dice, 1, 2_000)
    name = "beside-the-order"
    back = (Clear(name, once_met=True), actions.RestartLogDir(broker=node, log_dir=log_dir))
    return [
        [
            TimedAction(order_ms, action)
            for action in dice.sample(_decisions(dice, cluster), dice.randint(1, 2))
        ],
        [TimedAction(end_ms, end(CONTROLLER_NODE)), TimedAction(start_ms, _START)],
        [
            TimedAction(dead_ms, Fault(name=name, rule=rule)),
            *_apart(dice, repaired_ms, 200, back),
        ],
    ]


def _decisions(dice: Dice, cluster: ClusterPlan) -> list[Action]:
    """Return orders that the controller writes decisions down for."""
    topic = dice.choice(cluster.topics)
    replicas = tuple(dice.sample(cluster.broker_ids, min(2, cluster.brokers)))
    return [
        CreateTopic(name="decided", partitions=2, replication_factor=2),
        actions.DeleteTopic(topic.name),
        actions.AddPartitions(topic=topic.name, to=topic.partitions + 2),
        actions.Reassign(of=topic.name, to=replicas),
        actions.CancelReassignment(topic.name),
        actions.ElectLeaders(topic.name),
        AlterConfigs(topic=topic.name, set={"retention.ms": "600000"}),
        actions.Cordon(broker=broker_node(replicas[0]), log_dirs=()),
    ]


def _controller_disk(dice: Dice, scope: FaultScope, _rate: int) -> list[Lane]:
    """Break the disk of the journal, for a while or a few operations, once or twice."""
    lane: Lane = []
    for number in range(1, dice.randint(1, 2) + 1):
        mode = dice.choice(_JOURNAL_MODES)
        begin_ms = dice.randint(100, max(100, scope.length_ms * 3 // 4))
        end_ms = begin_ms + skewed(dice, 50, 6_000)
        rule = DiskFault(
            mode=mode,
            node=CONTROLLER_NODE,
            operations=_journal_operations(dice, mode),
            times=dice.randint(1, 3) if dice.random() < 0.3 else None,
        )
        name = f"journal-{number}"
        lane += [
            TimedAction(begin_ms, Fault(name=name, rule=rule)),
            TimedAction(end_ms, Clear(name, once_met=True)),
            TimedAction(end_ms + dice.randint(50, 2_000), _START),
        ]
    return [lane]


def _journal_operations(dice: Dice, mode: DiskMode) -> tuple[Operation, ...] | None:
    """Draw one that a journal comes to whenever something is decided, or all."""
    often = [each for each in (Operation.APPEND, Operation.SYNC) if each in mode.row.meets]
    return (dice.choice(often),) if often and dice.random() < 0.4 else None


def _throttled_replicas(dice: Dice, scope: FaultScope, rate: int) -> list[Lane]:
    """List replicas as throttled and set a rate; let one of them fall behind meanwhile."""
    topic = dice.choice(scope.cluster.topics)
    begin_ms = dice.randint(100, max(100, scope.length_ms // 3))
    end_ms = dice.randint(begin_ms + 500, max(begin_ms + 500, scope.length_ms))
    on, off = _throttles(dice, scope.cluster, topic.name, rate)
    down_ms = dice.randint(begin_ms, end_ms)
    behind = f"follower of {topic.name}-0"
    others = tuple(dice.sample(scope.cluster.broker_ids, min(2, scope.cluster.brokers)))
    meanwhile: tuple[Action, ...] = dice.choice(
        (
            (actions.RestartLogDir(broker=behind, log_dir=f"of {topic.name}-0"),),
            (actions.Pause(behind), actions.Resume(behind)),
            (actions.Reassign(of=topic.name, to=others),),
        )
    )
    return [
        [*_apart(dice, begin_ms, 20, on), *_apart(dice, end_ms, 20, off)],
        _apart(dice, down_ms, 2_500, meanwhile),
    ]


def _throttles(
    dice: Dice, cluster: ClusterPlan, topic: str, rate: int
) -> tuple[list[Action], list[Action]]:
    """Return what sets throttles for a topic, and what takes them off."""
    some = ",".join(f"{index}:{broker}" for index in (0, 1) for broker in cluster.broker_ids)
    replicas = "*" if dice.random() < 0.5 else some
    lists: dict[str, str | None] = dict.fromkeys(THROTTLED_REPLICAS, replicas)
    rates: dict[str, str | None] = dict.fromkeys(THROTTLED_RATES, str(rate))
    brokers = [None] if dice.random() < 0.3 else [*map(broker_node, cluster.broker_ids)]
    on: list[Action] = [AlterConfigs(topic=topic, set=lists)]
    on += [AlterConfigs(broker=broker, set=rates) for broker in brokers]
    off: list[Action] = [AlterConfigs(topic=topic, set=dict.fromkeys(THROTTLED_REPLICAS))]
    off += [AlterConfigs(broker=broker, set=dict.fromkeys(THROTTLED_RATES)) for broker in brokers]
    return on, off


def _rebalance(dice: Dice, scope: FaultScope, rate: int) -> list[Lane]:
    """Give the orders of a ``jbodlab rebalance run``: throttles, many moves, no throttles.

    At times it is stopped: what is under way is taken back before the throttles go.
    """
    cluster = scope.cluster
    topics = dice.sample(cluster.topics, dice.randint(1, len(cluster.topics)))
    lane: Lane = []
    begin_ms = dice.randint(100, max(100, scope.length_ms // 2))
    end_ms = begin_ms + dice.randint(500, 5_000)
    moves_rate = {MOVE_RATE: str(rate)}
    on: list[Action] = [
        AlterConfigs(broker=broker_node(broker), set=moves_rate) for broker in cluster.broker_ids
    ]
    off: list[Action] = [
        AlterConfigs(broker=broker_node(broker), set=dict.fromkeys(moves_rate))
        for broker in cluster.broker_ids
    ]
    orders: list[Action] = []
    back: list[Action] = []
    for topic in topics:
        throttled, free = _throttles(dice, cluster, topic.name, rate)
        on, off = [*on, *throttled], [*off, *free]
        orders += _moves_of(dice, cluster, topic)
        back.append(actions.CancelReassignment(topic.name))
    is_stopped = dice.random() < 0.3
    lane += _apart(dice, begin_ms, 10, [*on, *orders])
    lane += _apart(dice, end_ms, 10, [*(back if is_stopped else ()), *off])
    return [lane]


def _moves_of(dice: Dice, cluster: ClusterPlan, topic: CreateTopic) -> list[Action]:
    """Draw new places for every replica of a topic: of some on other brokers, of some here."""
    found: list[Action] = []
    count = topic.replication_factor
    for index in range(topic.partitions):
        partition = f"{topic.name}-{index}"
        if dice.random() < 0.6:
            to = tuple(dice.sample(cluster.broker_ids, min(count, cluster.brokers)))
            found.append(actions.Reassign(of=partition, to=to))
        for broker in dice.sample(cluster.broker_ids, min(2, cluster.brokers)):
            log_dir = dice.choice(cluster.log_dir_names)
            move = actions.MoveReplica(of=partition, broker=broker_node(broker), to=log_dir)
            found.append(move)
    return found


_START: Final = actions.Start(CONTROLLER_NODE)
_SITUATIONS: Final[Mapping[str, Callable[[Dice, FaultScope, int], list[Lane]]]] = {
    Situation.UNCLEAN_ELECTION: _unclean_election,
    Situation.THROTTLED_REPLICAS: _throttled_replicas,
    Situation.REBALANCE: _rebalance,
    Situation.CONTROLLER_DISK: _controller_disk,
    Situation.FAILING_MOVE: _failing_move,
    Situation.CONTROLLER_ENDS: _controller_ends,
    Situation.REQUEST_FAULTS: draw_requests,
    Situation.LATE_FAILURE: draw_late_failure,
    Situation.LATE_REQUESTS: draw_late_requests,
    Situation.INTERRUPTED_MOVE: draw_interrupted_move,
    Situation.LASTING_DELETION: draw_lasting_deletion,
    Situation.ISR_CHANGES: draw_isr_changes,
    Situation.RETURNING_LOG_DIRS: draw_returning_log_dirs,
    Situation.KEYED_RECORDS: partial(draw_late_replicas, beside="compaction"),
    Situation.SHORT_RETENTION: partial(draw_late_replicas, beside="retention"),
}


def _apart(dice: Dice, at_ms: int, gap_ms_max: int, some: Sequence[Action]) -> Lane:
    """Give each action its time, one after the other."""
    lane: Lane = []
    for action in some:
        lane.append(TimedAction(at_ms, action))
        at_ms += skewed(dice, 1, gap_ms_max)
    return lane


def _within(timed: TimedAction, scope: FaultScope) -> TimedAction:
    return timed._replace(at_ms=min(timed.at_ms, scope.length_ms))


def _bytes_per_second(workload: Workload) -> int:
    if workload.kind != "produce":
        return 0
    return workload.record_bytes * workload.batch_records * 1000 // workload.interval_ms
