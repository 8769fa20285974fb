"""Draws groups and transactions: their topics, their clients, and what breaks their coordinators.

Their own topics and the coordinators' are in no order that deletes or changes topics: those that
are have enough else to tell. Everything that breaks disks and nodes may break them, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode, broker_node
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from simulation.core import actions
from simulation.core.actions import Action, Clear, CreateTopic, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_cluster import TOPIC_NAMES
from simulation.core.draw_faults import FaultScope, TimedAction
from simulation.core.plan import ClusterPlan, Workload

OFFSETS_FAULT: Final = "under-offsets"
STATE_FAULT: Final = "under-transactions"
MARKERS_FAULT: Final = "late-markers"
GROUPS_FOLLOWERS: Final = ("behind-a-group-1", "behind-a-group-2")
"""Followers of a coordinator's partition, whose leader hears of them late, or not at all."""
TRANSACTIONS_FOLLOWERS: Final = ("behind-a-transaction-1", "behind-a-transaction-2")
_GROUP_TOPIC: Final = "shared"
LEDGER: Final = "ledger"
_RESULTS: Final = "results"
_MEMBERS: Final = {1: 2, 2: 3, 3: 1}
_TRANSFORMERS: Final = {1: 2, 2: 1}
"""Java's: one of aiokafka is the only member of its group."""
_SPEAKING: Final[Mapping[tuple[Literal["aiokafka", "java"], ...], int]] = {
    ("aiokafka",): 3,
    ("java",): 3,
    ("java", "aiokafka"): 1,
}
"""By which protocol members speak: the classic one, the consumer protocol, some by each."""
_CLIENTS: Final[dict[Literal["aiokafka", "java"], int]] = {"aiokafka": 1, "java": 3}
"""Of transactions; a library's clients cost several times what the others do."""
_INTERVALS_MS: Final = (200, 400)
_UNADMINISTERED: Final = 0.4
_REQUESTS_MAX: Final = 100
"""Of restless members: most stories come to their end about then."""
_REQUESTS_EVERY_MS: Final = (30, 45)
_BROKEN_DISK: Final = 0.4
_FOLLOWERS_BEHIND: Final = 0.3
_LED_BY_FOLLOWER: Final = 0.6
"""Of stories with followers that hear nothing: what they do not have yet is nobody's then."""
_LED_AFTER_MS: Final = (50, 450)
"""Before a follower has left the Isr (``replica.lag.time.max.ms``)."""
_BEHIND: Final = {NetworkMode.LATENCY: 1, NetworkMode.CUT: 2}
_BEHIND_MS: Final = (150, 400)
_FETCH_BYTES: Final[dict[int | None, int]] = {1: 2, 400: 2, None: 1}
"""Of readers of committed records: an answer may end before what ends its transactions."""
_LATE_MS: Final = (100, 500)
_MOVES: Final = (2, 4)
_ELECTED_MS: Final = 50
"""How long after a change of its replicas the leader of a partition is elected."""
_REPLICAS_MAX: Final = 3
_MODES: Final = {
    DiskMode.EIO: 3,
    DiskMode.READ_ONLY: 1,
    DiskMode.TORN_WRITE: 2,
    DiskMode.HANG: 1,
    DiskMode.ENOSPC: 1,
    DiskMode.SYNC_FAILURE: 1,
}
_CONFIGS: Final = {
    "group.initial.rebalance.delay.ms": ("0", "300"),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": ("500", "1000"),
    "group.consumer.heartbeat.interval.ms": ("500", "2000"),
    "group.consumer.session.timeout.ms": ("6000", "12000"),
    "group.min.session.timeout.ms": ("500",),
    "offsets.retention.check.interval.ms": ("300",),
    "group.consumer.min.session.timeout.ms": ("1000",),
    "group.consumer.min.heartbeat.interval.ms": ("500",),
    "group.max.size": ("3", "2147483647"),
    "group.consumer.max.size": ("3", "2147483647"),
    "offsets.load.buffer.size": ("500", "5242880"),
    "transaction.state.log.load.buffer.size": ("500", "5242880"),
    "transactional.id.expiration.ms": ("1500", "604800000"),
    "transaction.remove.expired.transaction.cleanup.interval.ms": ("300",),
    "replica.lag.time.max.ms": ("500", "1000"),
    "request.timeout.ms": ("1000", "30000"),
}


class Coordinated(NamedTuple):
    """A cluster and its clients with groups or transactions among them."""

    cluster: ClusterPlan
    workloads: tuple[Workload, ...]


def plain_topics(cluster: ClusterPlan) -> ClusterPlan:
    """Return the cluster with those topics alone that orders may delete and change."""
    return replace(
        cluster, topics=tuple(topic for topic in cluster.topics if topic.name in TOPIC_NAMES)
    )


def with_groups(dice: Dice, cluster: ClusterPlan, workloads: tuple[Workload, ...]) -> Coordinated:
    """Add a topic that one to three members of a group share; all but the first begin late."""
    cluster, workloads = smaller(cluster, workloads)
    cluster = with_topics(dice, cluster, CONSUMER_OFFSETS, _GROUP_TOPIC)
    clients = chosen(dice, _SPEAKING)
    members = [
        Workload(
            name=f"member-{number}",
            topic=_GROUP_TOPIC,
            kind="consume",
            client=clients[number % len(clients)],
            group="members",
            begins=number == 1 or dice.random() < 0.3,
        )
        for number in range(1, chosen(dice, _MEMBERS) + 1)
    ]
    writer = Workload(
        name="shared-writer",
        topic=_GROUP_TOPIC,
        idempotent=True,
        interval_ms=dice.choice(_INTERVALS_MS),
    )
    clients = (writer, *members, *_administrators(dice), _restless(dice, _GROUP_TOPIC, cluster))
    return Coordinated(cluster, (*workloads, *clients))


def _restless(dice: Dice, topic: str, cluster: ClusterPlan) -> Workload:
    """Let members of a group come and go that read this topic, and one that orders change."""
    return Workload(
        name="restless-members",
        topic=topic,
        kind="regroup",
        group="restless",
        into=cluster.topics[0].name,
        interval_ms=dice.randint(*_REQUESTS_EVERY_MS),
        records_max=_REQUESTS_MAX,
    )


def _administrators(dice: Dice) -> list[Workload]:
    """Let somebody set and delete the offsets of another group of that topic, or nobody."""
    if dice.random() < _UNADMINISTERED:
        return []
    administrator = Workload(
        name="administrator-of-offsets",
        topic=_GROUP_TOPIC,
        kind="administer",
        group="administered",
        interval_ms=dice.choice(_INTERVALS_MS),
    )
    return [administrator]


def with_transactions(
    dice: Dice, cluster: ClusterPlan, workloads: tuple[Workload, ...]
) -> Coordinated:
    """Add a producer of transactions, and who reads or transforms what it commits, or both."""
    cluster, workloads = smaller(cluster, workloads)
    is_transformed = dice.random() < 0.6
    topics = [TRANSACTION_STATE, LEDGER, *((CONSUMER_OFFSETS, _RESULTS) if is_transformed else ())]
    cluster = with_topics(dice, cluster, *topics)
    producer = Workload(
        name="ledger-writer",
        topic=LEDGER,
        client=chosen(dice, _CLIENTS),
        transactional=True,
        aborts_every=dice.choice((0, 2, 4)),
        batch_records=dice.randint(1, 6),
        interval_ms=dice.choice(_INTERVALS_MS),
    )
    client = chosen(dice, _CLIENTS)
    transformers = [
        Workload(
            name=f"transformer-{number}",
            topic=LEDGER,
            kind="transform",
            into=_RESULTS,
            client=client,
            group="transformers",
            aborts_every=dice.choice((0, 2, 3)) if client == "java" else 0,
        )
        for number in range(1, (chosen(dice, _TRANSFORMERS) if client == "java" else 1) + 1)
    ]
    reader = Workload(
        name="committed-reader",
        topic=_RESULTS if is_transformed else LEDGER,
        kind="consume",
        client=chosen(dice, _CLIENTS),
        read_committed=True,
    )
    if reader.client == "java":
        reader = replace(reader, fetch_bytes=chosen(dice, _FETCH_BYTES))
    clients = [producer, *(transformers if is_transformed else ()), reader]
    if is_transformed and all(one.kind != "regroup" for one in workloads):
        clients.append(_restless(dice, LEDGER, cluster))
    return Coordinated(cluster, (*workloads, *clients))


def groups_lanes(
    dice: Dice, scope: FaultScope, workloads: Sequence[Workload]
) -> list[list[TimedAction]]:
    """Let members leave, and the disk fail under their offsets, or whoever follows them."""
    members = [one.name for one in workloads if one.group == "members"][1:]
    leaves = [
        TimedAction(dice.randint(scope.length_ms // 2, scope.length_ms), actions.StopWorkload(name))
        for name in members
        if dice.random() < 0.6
    ]
    if dice.random() < _FOLLOWERS_BEHIND and scope.cluster.brokers >= _REPLICAS_MAX:
        lane = _followers_behind(dice, scope, CONSUMER_OFFSETS, GROUPS_FOLLOWERS)
    else:
        lane = _breaking(dice, scope, CONSUMER_OFFSETS, OFFSETS_FAULT)
    return [lane, *([each] for each in leaves)]


def transactions_lanes(
    dice: Dice, scope: FaultScope, workloads: Sequence[Workload]
) -> list[list[TimedAction]]:
    """Let the disk fail under a coordinator of transactions that are under way, or all move.

    What moves are the leaders of the partitions that transactions are about, while the markers that
    end them are on their way. At times nothing moves, and a coordinator's followers are far away.
    """
    if dice.random() < _BROKEN_DISK or scope.cluster.brokers < _REPLICAS_MAX:
        return [_breaking(dice, scope, TRANSACTION_STATE, STATE_FAULT)]
    is_transformed = any(one.kind == "transform" for one in workloads)
    if dice.random() < _FOLLOWERS_BEHIND / (1 - _BROKEN_DISK):
        kept = (TRANSACTION_STATE, *((CONSUMER_OFFSETS,) if is_transformed else ()))
        return [_followers_behind(dice, scope, dice.choice(kept), TRANSACTIONS_FOLLOWERS)]
    offsets = (CONSUMER_OFFSETS,) * 2  # They are loaded by who leads them then.
    topics = [LEDGER, *((*offsets, _RESULTS) if is_transformed else ())]
    return [_late_markers(dice, scope, topics)]


def _late_markers(dice: Dice, scope: FaultScope, topics: Sequence[str]) -> list[TimedAction]:
    """Let a coordinator's markers come late, and another broker lead what they go to, or it."""
    state, written = f"{TRANSACTION_STATE}-0", f"{dice.choice(topics)}-0"
    brokers = dice.sample(scope.cluster.broker_ids, _REPLICAS_MAX)
    from_, to, other = brokers
    late = NetworkFault(
        mode=NetworkMode.LATENCY,
        source=broker_node(from_),
        target=broker_node(to),
        both_ways=False,
        latency_ms=dice.randint(*_LATE_MS),
    )
    at_ms = dice.randint(20, scope.length_ms // 10)
    lane = [*led_by(from_, brokers, state, at_ms), *led_by(to, brokers, written, at_ms)]
    lane.append(TimedAction(at_ms + _ELECTED_MS * 2, Fault(name=MARKERS_FAULT, rule=late)))
    first = {state: from_, written: to}
    leaders = dict(first)
    for _ in range(dice.randint(*_MOVES)):
        at_ms += dice.randint(300, max(300, scope.length_ms // 6))
        moved = chosen(dice, {written: 2, state: 3})
        leaders[moved] = other if leaders[moved] == first[moved] else first[moved]
        lane += led_by(leaders[moved], brokers, moved, at_ms)
    lane.append(TimedAction(scope.length_ms, Clear(MARKERS_FAULT, once_met=True)))
    return sorted(lane, key=lambda timed: timed.at_ms)


def _followers_behind(
    dice: Dice, scope: FaultScope, topic: str, names: tuple[str, str]
) -> list[TimedAction]:
    """Let what a coordinator writes be replicated late, so that more waits to be written than may.

    Or not at all for a while, so that it stays alone in the Isr, which may be too small then; at
    times a follower is elected before that, and coordinates without what it has not heard of.
    """
    brokers = dice.sample(scope.cluster.broker_ids, _REPLICAS_MAX)
    leader, *followers = brokers
    at_ms = dice.randint(20, scope.length_ms // 10)
    mode = chosen(dice, _BEHIND)
    late_ms = dice.randint(*_BEHIND_MS) if mode is NetworkMode.LATENCY else 0
    begin_ms = at_ms + dice.randint(200, scope.length_ms // 3)
    end_ms = min(begin_ms + dice.randint(800, 3_000), scope.length_ms)
    lane = led_by(leader, brokers, f"{topic}-0", at_ms)
    for name, follower in zip(names, followers, strict=True):
        rule = NetworkFault(
            mode=mode,
            source=broker_node(leader),
            target=broker_node(follower),
            latency_ms=late_ms,
        )
        lane.append(TimedAction(begin_ms, Fault(name=name, rule=rule)))
    if mode is NetworkMode.CUT and dice.random() < _LED_BY_FOLLOWER:
        moved_ms = min(begin_ms + dice.randint(*_LED_AFTER_MS), end_ms - _ELECTED_MS)
        lane += led_by(followers[0], brokers, f"{topic}-0", moved_ms)
    lane += [TimedAction(end_ms, Clear(name, once_met=True)) for name in names]
    return sorted(lane, key=lambda timed: timed.at_ms)


def led_by(leader: int, brokers: Sequence[int], partition: str, at_ms: int) -> list[TimedAction]:
    """Have one of its brokers be the preferred leader of a partition, and elected."""
    to = (leader, *(broker for broker in brokers if broker != leader))
    return [
        TimedAction(at_ms, actions.Reassign(of=partition, to=to)),
        TimedAction(at_ms + _ELECTED_MS, actions.ElectLeaders(partition)),
    ]


def smaller(cluster: ClusterPlan, workloads: tuple[Workload, ...]) -> Coordinated:
    """Leave out other topics than the first plain one, and their clients: these here cost more."""
    left_out = TOPIC_NAMES[1:]
    topics = tuple(topic for topic in cluster.topics if topic.name not in left_out)
    clients = tuple(one for one in workloads if one.topic not in left_out)
    return Coordinated(replace(cluster, topics=topics), clients)


def _breaking(dice: Dice, scope: FaultScope, topic: str, name: str) -> list[TimedAction]:
    """Break the disk under a coordinator, at times while something else happens to it."""
    partition = f"{topic}-0"
    leader, log_dir = f"leader of {partition}", f"of {partition}"
    mode = chosen(dice, _MODES)
    rule = DiskFault(
        mode=mode,
        node=leader,
        log_dir=log_dir,
        from_nth=skewed(dice, 1, 20),
        times=dice.randint(1, 3) if mode is DiskMode.SYNC_FAILURE else None,
    )
    begin_ms = dice.randint(scope.length_ms // 5, scope.length_ms * 3 // 4)
    end_ms = begin_ms + dice.randint(300, 3_000)
    others = tuple(dice.sample(scope.cluster.broker_ids, min(3, scope.cluster.brokers)))
    beside: Action | None = dice.choice(
        (
            None,
            None,
            actions.Reassign(of=partition, to=others),
            actions.ElectLeaders(partition),
            actions.MoveReplica(
                of=partition, broker=leader, to=dice.choice(scope.cluster.log_dir_names)
            ),
            actions.Kill(leader),
        )
    )
    beside_ms = begin_ms + skewed(dice, 1, 1_000)
    lane = [
        TimedAction(begin_ms, Fault(name=name, rule=rule)),
        *([TimedAction(min(beside_ms, scope.length_ms), beside)] if beside else ()),
        TimedAction(min(end_ms, scope.length_ms), Clear(name, once_met=True)),
    ]
    return sorted(lane, key=lambda timed: timed.at_ms)


def with_topics(dice: Dice, cluster: ClusterPlan, *names: str) -> ClusterPlan:
    """Add those topics that are not there, on as many brokers as keep them through a failure."""
    there = [topic.name for topic in cluster.topics]
    count = min(_REPLICAS_MAX, cluster.brokers)
    added = tuple(
        CreateTopic(
            name=name,
            partitions=1 if name.startswith("__") else dice.randint(1, 2),
            replication_factor=count,
            configs=_configs_of(dice, name),
        )
        for name in names
        if name not in there
    )
    configs = {name: dice.choice(values) for name, values in _CONFIGS.items()}
    return replace(
        cluster, topics=(*cluster.topics, *added), configs={**configs, **cluster.configs}
    )


def _configs_of(dice: Dice, name: str) -> dict[str, str]:
    configs = {"min.insync.replicas": str(dice.randint(1, 2))}
    if name.startswith("__"):
        configs = {
            "min.insync.replicas": dice.choice(("1", "2", "2")),
            "cleanup.policy": "compact",
            "segment.bytes": dice.choice(("4096", "1048576")),
        }
    return configs
