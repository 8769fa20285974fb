"""Draws a cluster and its clients. Faults and orders are drawn elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from protocol.configs.broker import RACK_AWARE_SELECTOR
from simulation.core.actions import CreateTopic
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.plan import ClusterPlan, Workload

TOPIC_NAMES: Final = ("orders", "payments", "clicks")
_BROKERS: Final = {3: 6, 4: 3, 5: 1}
_LOG_DIRS: Final = {1: 2, 2: 4, 3: 3, 4: 1}
_TOPICS: Final = {1: 4, 2: 4, 3: 1}
_REPLICATION: Final = {1: 1, 2: 3, 3: 6}
_ACKS: Final[dict[Literal["all", "1", "0"], int]] = {"all": 8, "1": 2, "0": 1}
_HEARTBEATS: Final = {(100, 500): 2, (250, 1000): 3, (500, 3000): 3, (1000, 6000): 1}
"""How often brokers tell in ms that they live, and after how long they are dead: mostly soon, so
that what follows a death comes about while its story lasts."""
_CONFIGS: Final[dict[str, tuple[str, ...]]] = {
    "replica.lag.time.max.ms": ("500", "1000", "2000", "10000", "30000"),
    "replica.fetch.wait.max.ms": ("100", "500"),
    "replica.fetch.max.bytes": ("4096", "65536", "1048576"),
    "num.replica.fetchers": ("1", "2", "4"),
    "num.replica.alter.log.dirs.threads": ("1", "2"),
    "jbodlab.log.dir.io.deadline.ms": ("2000", "5000", "10000"),
    "log.flush.offset.checkpoint.interval.ms": ("1000", "5000", "60000"),
    "replica.high.watermark.checkpoint.interval.ms": ("500", "5000"),
    "log.retention.check.interval.ms": ("1000", "300000"),
    "leader.imbalance.check.interval.seconds": ("2", "10", "300"),
    "auto.leader.rebalance.enable": ("true", "false"),
    "log.segment.bytes": ("16384", "131072", "1073741824"),
    "log.index.interval.bytes": ("256", "4096"),
    "replica.alter.log.dirs.io.max.bytes.per.second": ("5000000", "50000000"),
    "jbodlab.tail.cache.bytes": ("0", "2000", "100000"),
    "log.initial.task.delay.ms": ("0", "500"),
    "max.incremental.fetch.session.cache.slots": ("1", "3", "1000"),
    "replica.fetch.response.max.bytes": ("8192", "10485760"),
    "connections.max.idle.ms": ("2500", "600000"),
}
"""Keys whose values change what a short run gets to see; one of each is drawn.

Moves are throttled to more than all clients together write: below that none would ever end.
"""


def draw_cluster(dice: Dice) -> ClusterPlan:
    """Draw brokers, log dirs, racks, configurations and topics."""
    brokers = chosen(dice, _BROKERS)
    heartbeat_interval_ms, session_timeout_ms = chosen(dice, _HEARTBEATS)
    racks = chosen(dice, {0: 6, 2: 2, 3: 2})
    configs = {
        name: dice.choice(values) for name, values in _CONFIGS.items() if dice.random() < 0.5
    }
    if racks:
        configs["replica.selector.class"] = RACK_AWARE_SELECTOR
    return ClusterPlan(
        brokers=brokers,
        log_dirs=chosen(dice, _LOG_DIRS),
        racks=tuple(f"r{broker % racks}" for broker in range(brokers)) if racks else (),
        configs=configs,
        heartbeat_interval_ms=heartbeat_interval_ms,
        session_timeout_ms=session_timeout_ms,
        topics=tuple(draw_topic(dice, name) for name in TOPIC_NAMES[: chosen(dice, _TOPICS)]),
    )


def draw_topic(dice: Dice, name: str) -> CreateTopic:
    """Draw a topic of up to four partitions and up to three replicas each."""
    replication_factor = chosen(dice, _REPLICATION)
    configs: dict[str, str] = {}
    if replication_factor > 1:
        configs["min.insync.replicas"] = str(dice.randint(1, 2))
    if dice.random() < 0.2:
        configs["segment.bytes"] = str(dice.choice((16384, 65536)))
    return CreateTopic(
        name=name,
        partitions=dice.randint(1, 4),
        replication_factor=replication_factor,
        configs=configs,
    )


def draw_workloads(dice: Dice, cluster: ClusterPlan) -> tuple[Workload, ...]:
    """Draw one or two producers and mostly a consumer for each topic."""
    return tuple(
        workload
        for topic in cluster.topics
        for workload in _workloads_of(dice, topic.name, cluster.racks)
    )


def _workloads_of(dice: Dice, topic: str, racks: Sequence[str]) -> list[Workload]:
    found = [_producer(dice, topic, "a")]
    if dice.random() < 0.3:
        found.append(_producer(dice, topic, "b"))
    if dice.random() < 0.7:
        found.append(_reader(dice, topic, racks))
    return found


def _reader(dice: Dice, topic: str, racks: Sequence[str]) -> Workload:
    """Draw a consumer; one that begins late reads what is no longer in memory.

    A plain one is in a rack where there are some, and reads from its replicas.
    """
    client = _client(dice)
    return Workload(
        name=f"{topic}-reader",
        topic=topic,
        kind="consume",
        client=client,
        rack=dice.choice(racks) if racks and client == "plain" else None,
        begins=dice.random() < 0.6,
    )


def _producer(dice: Dice, topic: str, letter: str) -> Workload:
    acks = chosen(dice, _ACKS)
    return Workload(
        name=f"{topic}-writer-{letter}",
        topic=topic,
        kind="produce",
        client=_client(dice),
        acks=acks,
        idempotent=acks == "all" and dice.random() < 0.75,
        interval_ms=dice.choice((20, 50, 100, 200)),
        record_bytes=skewed(dice, 20, 1000),
        batch_records=skewed(dice, 1, 10),
    )


def _client(dice: Dice) -> Literal["plain", "aiokafka"]:
    return "aiokafka" if dice.random() < 0.1 else "plain"
