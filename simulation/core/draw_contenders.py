"""Draws producers that contend for transactional ids, and what comes between their requests.

A coordinator is cut off from those that follow it inside of a transaction, and another one elected,
or it again; who leads reads its log slowly while markers come to it; who leads what is written ends
and is told late that it leads again; a follower begins anew inside of a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

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
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core import actions
from simulation.core.actions import Clear, CreateTopic, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_coordination import LEDGER, led_by, smaller, with_topics
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan, Workload

NAME: Final = "contenders"
ACCOUNTS: Final = "accounts"
CUTS: Final = ("in-the-middle-1", "in-the-middle-2")
SLOW_LOAD: Final = "slow-load"
LATE_WORD: Final = "late-word"
_EVERY_MS: Final = (20, 35)
_REQUESTS: Final = (60, 140)
_KEYS: Final = (3, 10)
_REPLICAS_MAX: Final = 3
_ELECTED_BY_MS: Final = 150
"""How long after it was ordered a partition has another leader."""
_SLOW_READ_MS: Final = (20, 120)
_LATE_MS: Final = (200, 900)
_ALL: Final = -1
"""In place of an offset: up to the high watermark."""
_Lane: TypeAlias = list[TimedAction]
_Draw: TypeAlias = Callable[[Dice, FaultScope, CreateTopic], _Lane]


def with_contenders(
    dice: Dice, cluster: ClusterPlan, workloads: tuple[Workload, ...]
) -> tuple[ClusterPlan, tuple[Workload, ...]]:
    """Add them, in a topic of their own or where others have transactions, too."""
    has_ledger = any(topic.name == LEDGER for topic in cluster.topics)
    cluster, workloads = smaller(cluster, workloads)
    cluster = with_topics(dice, cluster, TRANSACTION_STATE, CONSUMER_OFFSETS)
    own = _accounts(dice, cluster.brokers)
    is_apart = dice.random() < 0.5 or not has_ledger
    contenders = Workload(
        name=NAME,
        topic=ACCOUNTS if is_apart else LEDGER,
        kind="contend",
        group="their-notes",
        interval_ms=dice.randint(*_EVERY_MS),
        records_max=dice.randint(*_REQUESTS),
    )
    if not is_apart:
        return cluster, (*workloads, contenders)
    if "compact" in own.configs.get("cleanup.policy", ""):
        contenders = replace(contenders, keys=dice.randint(*_KEYS))
    reader = Workload(
        name="reader-of-accounts",
        topic=ACCOUNTS,
        kind="consume",
        client="java",
        read_committed=True,
    )
    configs = {"log.cleaner.backoff.ms": "100", **cluster.configs}
    cluster = replace(cluster, topics=(*cluster.topics, own), configs=configs)
    return cluster, (*workloads, contenders, reader)


def _accounts(dice: Dice, brokers: int) -> CreateTopic:
    """Make their topic: at times compacted, with segments that a transaction outlasts."""
    compacted = {
        "cleanup.policy": "compact",
        "segment.bytes": "1024",
        "min.cleanable.dirty.ratio": "0.01",
    }
    count = chosen(dice, {min(_REPLICAS_MAX, brokers): 3, 1: 1})
    return CreateTopic(
        name=ACCOUNTS,
        partitions=dice.randint(1, 2),
        replication_factor=count,
        configs={
            "min.insync.replicas": str(dice.randint(1, 2) if count > 1 else 1),
            **(compacted if dice.random() < 0.5 else {}),
        },
    )


def contenders_lanes(dice: Dice, scope: FaultScope, workloads: Sequence[Workload]) -> list[_Lane]:
    """Let one thing come between, of those that the cluster is large enough for."""
    topic = next(one.topic for one in workloads if one.kind == "contend")
    written = next(each for each in scope.cluster.topics if each.name == topic)
    draws: dict[_Draw, int] = {_away: 3}
    if scope.cluster.brokers >= _REPLICAS_MAX:
        draws |= {_slowly_loaded: 2, _cut_and_elected: 4}
        if topic == ACCOUNTS and written.replication_factor > 1:
            draws[_begun_anew] = 3
    lane = sorted(chosen(dice, draws)(dice, scope, written), key=lambda timed: timed.at_ms)
    return [[timed._replace(at_ms=min(timed.at_ms, scope.length_ms)) for timed in lane]]


def _cut_and_elected(dice: Dice, scope: FaultScope, _written: CreateTopic) -> _Lane:
    """Cut a coordinator off from its followers, elect one of them, or it again, and so once more.

    Who is cut off for long is alone in the Isr, which may be too small then.
    """
    partition = f"{chosen(dice, {TRANSACTION_STATE: 2, CONSUMER_OFFSETS: 2})}-0"
    brokers = dice.sample(scope.cluster.broker_ids, _REPLICAS_MAX)
    leader, other = brokers[:2]
    at_ms = dice.randint(20, scope.length_ms // 10)
    lane = led_by(leader, brokers, partition, at_ms)
    for turn in range(dice.randint(1, 2)):
        at_ms += dice.randint(200, scope.length_ms // 4)
        end_ms = at_ms + dice.choice((60, 300, 1_400)) + dice.randint(0, 300)
        for name, follower in zip(CUTS, brokers[1:], strict=True):
            rule = NetworkFault(
                mode=NetworkMode.CUT, source=broker_node(leader), target=broker_node(follower)
            )
            lane.append(TimedAction(at_ms, Fault(name=f"{name}-{turn}", rule=rule)))
            lane.append(TimedAction(end_ms, Clear(f"{name}-{turn}", once_met=True)))
        elected_ms = at_ms + skewed(dice, 20, 1_200)
        lane += led_by(other, brokers, partition, elected_ms)
        at_ms = elected_ms + dice.choice((_ELECTED_BY_MS, 600))
        lane += led_by(leader, brokers, partition, at_ms)
    return lane


def _slowly_loaded(dice: Dice, scope: FaultScope, _written: CreateTopic) -> _Lane:
    """Let who becomes coordinator read its log slowly; what ends meanwhile has its markers come."""
    topic = chosen(dice, {CONSUMER_OFFSETS: 3, TRANSACTION_STATE: 1})
    partition = f"{topic}-0"
    brokers = dice.sample(scope.cluster.broker_ids, _REPLICAS_MAX)
    first, slow = brokers[:2]
    rule = DiskFault(
        mode=DiskMode.SLOW,
        node=broker_node(slow),
        operations=(Operation.READ,),
        files=(FileClass.LOG,),
        delay_ms=dice.randint(*_SLOW_READ_MS),
    )
    at_ms = dice.randint(20, scope.length_ms // 10)
    lane = led_by(first, brokers, partition, at_ms)
    lane.append(TimedAction(at_ms + _ELECTED_BY_MS, Fault(name=SLOW_LOAD, rule=rule)))
    for _ in range(dice.randint(1, 3)):
        at_ms += dice.randint(400, max(400, scope.length_ms // 3))
        lane += led_by(slow, brokers, partition, at_ms)
        at_ms += dice.randint(_ELECTED_BY_MS, 1_200)
        lane += led_by(first, brokers, partition, at_ms)
    return [*lane, TimedAction(scope.length_ms, Clear(SLOW_LOAD, once_met=True))]


def _away(dice: Dice, scope: FaultScope, written: CreateTopic) -> _Lane:
    """End who leads what is written, or a coordinator, and tell it late that it leads again."""
    offsets = f"{CONSUMER_OFFSETS}-0"
    partition = chosen(dice, {f"{written.name}-0": 3, offsets: 1})
    brokers = dice.sample(scope.cluster.broker_ids, min(_REPLICAS_MAX, scope.cluster.brokers))
    count = written.replication_factor if partition != offsets else len(brokers)
    node, replicas = broker_node(brokers[0]), brokers[:count]
    at_ms = dice.randint(20, scope.length_ms // 10)
    late = NetworkFault(
        mode=NetworkMode.LATENCY,
        source=CONTROLLER_NODE,
        target=node,
        both_ways=False,
        latency_ms=dice.randint(*_LATE_MS),
    )
    end_ms = at_ms + dice.randint(300, scope.length_ms // 2)
    back_ms = end_ms + skewed(dice, 50, 2_000)
    again_ms = back_ms + dice.randint(200, 1_000)
    end = chosen(dice, {actions.Kill: 2, actions.Stop: 2, actions.PowerCut: 1})
    return [
        *led_by(brokers[0], replicas, partition, at_ms),
        TimedAction(end_ms, end(node)),
        TimedAction(back_ms, Fault(name=LATE_WORD, rule=late)),
        TimedAction(back_ms, actions.Start(node)),
        *led_by(brokers[0], replicas, partition, again_ms),
        TimedAction(again_ms + dice.randint(200, 1_500), Clear(LATE_WORD, once_met=True)),
    ]


def _begun_anew(dice: Dice, scope: FaultScope, written: CreateTopic) -> _Lane:
    """Delete beyond the end of a follower that is away: it begins anew, inside of what is open."""
    partition = f"{written.name}-0"
    brokers = dice.sample(scope.cluster.broker_ids, _REPLICAS_MAX)
    away = broker_node(brokers[-1])
    at_ms = dice.randint(20, scope.length_ms // 10)
    lane = led_by(brokers[0], brokers, partition, at_ms)
    for _ in range(dice.randint(1, 2)):
        at_ms += dice.randint(300, max(300, scope.length_ms // 4))
        lane.append(TimedAction(at_ms, chosen(dice, {actions.Kill: 1, actions.Stop: 1})(away)))
        deleted_ms = at_ms + dice.randint(300, 1_500)
        delete = actions.DeleteRecords(of=partition, before=_ALL)
        lane.append(TimedAction(deleted_ms, delete))
        at_ms = deleted_ms + dice.randint(20, 300)
        lane.append(TimedAction(at_ms, actions.Start(away)))
    return lane
