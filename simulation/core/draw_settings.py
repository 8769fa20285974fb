"""Draws what features change about a cluster and its clients: keys, codecs, formats, retention.

Each takes a cluster and its workloads and returns others; what happens to them is drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from protocol.configs.names import UNCLEAN_ELECTION
from simulation.core.actions import CreateTopic
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_contenders import with_contenders
from simulation.core.draw_coordination import with_groups, with_transactions
from simulation.core.draw_examined import with_authorizer, with_examiner
from simulation.core.features import Features, Situation
from simulation.core.plan import ClusterPlan, Workload

SOURCE_LOG_DIR: Final = "d1"
"""Where the replicas lie that a failing move takes elsewhere."""
_LOG_DIRS_MIN: Final = 3
"""So that a broker lives on when two of its log dirs are gone."""
_LAG_MS: Final = "1500"
_SOON_MS: Final = ("500", "1500")
_HEARTBEAT_MS: Final = 250
_SESSION_MS: Final = 1_000
_NEWEST_FORMAT: Final = 2
_RECORD_OVERHEAD_BYTES: Final = 60
_BATCH_OVERHEAD_BYTES: Final = 100
_ENDS_EARLY: Final = 0.2
_SMALL_SEGMENTS: Final = ("1024", "4096")
_CODECS: Final[tuple[Literal["gzip", "snappy", "lz4", "zstd"], ...]] = (
    "gzip",
    "snappy",
    "lz4",
    "zstd",
)


_RETENTIONS: Final[tuple[Mapping[str, str], ...]] = (
    {"retention.bytes": "4096"},
    {"retention.bytes": "20000"},
    {"retention.ms": "500"},
    {"retention.ms": "3000", "retention.bytes": "8192"},
)


_ALLOWED: Final[Mapping[str, str]] = {UNCLEAN_ELECTION: "true"}
_FORBIDDEN: Final[Mapping[str, str]] = {UNCLEAN_ELECTION: "false"}
_UNSET: Final[Mapping[str, str]] = {}
_UNCLEAN: Final[tuple[tuple[Mapping[str, str], Mapping[str, str]], ...]] = (
    *((_ALLOWED, _UNSET),) * 5,
    *((_FORBIDDEN, _ALLOWED),) * 2,
    (_UNSET, _UNSET),
)
"""What the topic has, and what all brokers have."""


class Setting(NamedTuple):
    """A cluster and the clients that begin on it."""

    cluster: ClusterPlan
    workloads: tuple[Workload, ...]


def settled(setting: Setting, features: Features, stream: Callable[[str], Dice]) -> Setting:
    """Return ``setting`` as the features that are on change it."""
    for name, change in _CHANGES.items():
        if name in features:
            setting = change(stream(name), setting)
    return _fitting(_readable(_ending(stream("writers_end"), setting)))


def _ending(dice: Dice, setting: Setting) -> Setting:
    """Let some producers come to an end early: what is told with records is told without then."""
    return setting._replace(
        workloads=tuple(
            replace(one, records_max=skewed(dice, 5, 200))
            if one.kind == "produce" and dice.random() < _ENDS_EARLY
            else one
            for one in setting.workloads
        )
    )


def _keyed_records(dice: Dice, setting: Setting) -> Setting:
    """Let a topic or more be compacted, soon, and have records with few keys."""
    topics = _some_topics(dice, setting.cluster)
    compacted = {
        topic: {
            "cleanup.policy": chosen(dice, {"compact": 3, "compact,delete": 1}),
            "segment.bytes": dice.choice(_SMALL_SEGMENTS),
            "min.cleanable.dirty.ratio": dice.choice(("0.01", "0.3")),
            # What is over before the story ends excuses whatever compaction takes.
            "delete.retention.ms": chosen(dice, {"0": 1, "1000": 1, "86400000": 3}),
            "min.compaction.lag.ms": chosen(dice, {"0": 3, "700": 1}),
            "max.compaction.lag.ms": chosen(dice, {"9223372036854775807": 3, "1500": 1}),
        }
        for topic in topics
    }
    cluster = _with_topic_configs(setting.cluster, compacted)
    return Setting(
        _with_configs(cluster, {"log.cleaner.backoff.ms": dice.choice(("100", "1000"))}),
        tuple(
            replace(one, keys=skewed(dice, 1, 30))
            if one.kind == "produce" and one.topic in topics
            else one
            for one in setting.workloads
        ),
    )


def _compression(dice: Dice, setting: Setting) -> Setting:
    workloads = tuple(
        replace(one, compression=dice.choice(_CODECS))
        if one.kind == "produce" and dice.random() < 0.7
        else one
        for one in setting.workloads
    )
    own = {
        topic: {"compression.type": dice.choice(("uncompressed", *_CODECS))}
        for topic in _some_topics(dice, setting.cluster)
        if dice.random() < 0.4
    }
    return Setting(_with_topic_configs(setting.cluster, own), workloads)


def _old_clients(dice: Dice, setting: Setting) -> Setting:
    """Let clients be old; what they do not have, such as idempotence, they do without."""
    return setting._replace(
        workloads=tuple(
            replace(
                one,
                client="plain",
                idempotent=False,
                message_format=chosen(dice, {0: 1, 1: 2}),
                compression="gzip" if one.compression == "zstd" else one.compression,
            )
            if dice.random() < 0.6
            else one
            for one in setting.workloads
        )
    )


def _short_retention(dice: Dice, setting: Setting) -> Setting:
    """Let segments go by size or by age, looked for every moment."""
    topics = _some_topics(dice, setting.cluster)
    short = {
        topic: {"segment.bytes": dice.choice(_SMALL_SEGMENTS), **dice.choice(_RETENTIONS)}
        for topic in topics
    }
    # Who waits for no follower goes on while the high watermark stands.
    workloads = tuple(
        replace(one, acks="1", idempotent=False)
        if one.kind == "produce" and one.topic in topics and dice.random() < 0.5
        else one
        for one in setting.workloads
    )
    cluster = _with_configs(
        setting.cluster,
        {
            "log.retention.check.interval.ms": dice.choice(("100", "1000")),
            "log.initial.task.delay.ms": "0",
            "log.segment.delete.delay.ms": dice.choice(("0", "1000")),
        },
    )
    return Setting(_with_topic_configs(cluster, short), workloads)


def _stamped_records(dice: Dice, setting: Setting) -> Setting:
    stamped = {"message.timestamp.type": "LogAppendTime"}
    own = dict.fromkeys(_some_topics(dice, setting.cluster), stamped)
    return setting._replace(cluster=_with_topic_configs(setting.cluster, own))


def _unclean_election(dice: Dice, setting: Setting) -> Setting:
    """Let the first topic lie where the plan knows, with followers that soon count as lagging."""
    of_topic, of_all = dice.choice(_UNCLEAN)
    cluster = _with_configs(setting.cluster, {"replica.lag.time.max.ms": _LAG_MS, **of_all})
    first = cluster.topics[0].name
    return setting._replace(cluster=_placed(dice, _with_topic_configs(cluster, {first: of_topic})))


def _failing_move(dice: Dice, setting: Setting) -> Setting:
    """Let the first topic lie in the first log dirs of brokers that have several others."""
    cluster = setting.cluster
    cluster = replace(cluster, log_dirs=max(cluster.log_dirs, _LOG_DIRS_MIN))
    return setting._replace(cluster=_placed(dice, cluster, SOURCE_LOG_DIR))


def _interrupted_move(dice: Dice, setting: Setting) -> Setting:
    """The same; at times with logs that are compacted, which moves as well."""
    placed = _failing_move(dice, setting)
    return _keyed_records(dice, placed) if dice.random() < 0.4 else placed


def _lasting_deletion(dice: Dice, setting: Setting) -> Setting:
    """The same, of a topic whose records may be deleted."""
    placed = _failing_move(dice, setting)
    first = placed.cluster.topics[0]
    if first.configs.get("cleanup.policy") != "compact":
        return placed
    both = {first.name: {"cleanup.policy": "compact,delete"}}
    return placed._replace(cluster=_with_topic_configs(placed.cluster, both))


def _isr_changes(dice: Dice, setting: Setting) -> Setting:
    """Let the first topic lie where the plan knows, and whoever is away be missed soon."""
    cluster = _placed(dice, setting.cluster)
    return setting._replace(
        cluster=replace(
            _with_configs(cluster, {"replica.lag.time.max.ms": dice.choice(_SOON_MS)}),
            log_dirs=max(cluster.log_dirs, 2),
            heartbeat_interval_ms=min(cluster.heartbeat_interval_ms, _HEARTBEAT_MS),
            session_timeout_ms=min(cluster.session_timeout_ms, _SESSION_MS),
        )
    )


def _returning_log_dirs(dice: Dice, setting: Setting) -> Setting:
    """The same, in the first log dir of brokers that have another one; segments may be small."""
    changed = _isr_changes(dice, setting)
    cluster = _placed(dice, changed.cluster, SOURCE_LOG_DIR)
    small = {cluster.topics[0].name: {"segment.bytes": dice.choice(_SMALL_SEGMENTS)}}
    is_small = dice.random() < 0.5
    return changed._replace(cluster=_with_topic_configs(cluster, small) if is_small else cluster)


def _groups(dice: Dice, setting: Setting) -> Setting:
    return Setting(*with_groups(dice, *setting))


def _transactions(dice: Dice, setting: Setting) -> Setting:
    return Setting(*with_transactions(dice, *setting))


def _contenders(dice: Dice, setting: Setting) -> Setting:
    return Setting(*with_contenders(dice, *setting))


def _authorizer(dice: Dice, setting: Setting) -> Setting:
    return Setting(*with_authorizer(dice, *setting))


def _examined(dice: Dice, setting: Setting) -> Setting:
    return Setting(*with_examiner(dice, *setting))


_CHANGES: Final[Mapping[str, Callable[[Dice, Setting], Setting]]] = {
    Situation.KEYED_RECORDS: _keyed_records,
    Situation.COMPRESSION: _compression,
    Situation.OLD_CLIENTS: _old_clients,
    Situation.SHORT_RETENTION: _short_retention,
    Situation.UNCLEAN_ELECTION: _unclean_election,
    Situation.FAILING_MOVE: _failing_move,
    Situation.INTERRUPTED_MOVE: _interrupted_move,
    Situation.LASTING_DELETION: _lasting_deletion,
    Situation.ISR_CHANGES: _isr_changes,
    Situation.RETURNING_LOG_DIRS: _returning_log_dirs,
    Situation.GROUPS: _groups,
    Situation.TRANSACTIONS: _transactions,
    Situation.CONTENDERS: _contenders,
    Situation.AUTHORIZER: _authorizer,
    Situation.EXAMINED: _examined,
    Situation.STAMPED_RECORDS: _stamped_records,
}
"""In this order: what comes last is left as it is by what comes before."""


def _readable(setting: Setting) -> Setting:
    """Take zstd from topics that old clients read: brokers do not unpack it for them."""
    readers = [one for one in setting.workloads if one.kind == "consume"]
    read = [one.topic for one in readers if one.message_format < _NEWEST_FORMAT]
    cluster = setting.cluster
    return Setting(
        replace(cluster, topics=tuple(map(_without_zstd, cluster.topics))) if read else cluster,
        tuple(
            replace(one, compression="gzip")
            if one.topic in read and one.compression == "zstd"
            else one
            for one in setting.workloads
        ),
    )


def _fitting(setting: Setting) -> Setting:
    """Let segments be large enough for the largest batch: brokers refuse others."""
    largest: dict[str, int] = {}
    for one in setting.workloads:
        size_bytes = (one.record_bytes + _RECORD_OVERHEAD_BYTES) * one.batch_records
        largest[one.topic] = max(largest.get(one.topic, 0), size_bytes + _BATCH_OVERHEAD_BYTES)
    larger = {
        topic.name: {"segment.bytes": str(largest[topic.name])}
        for topic in setting.cluster.topics
        if topic.name in largest
        and int(topic.configs.get("segment.bytes", largest[topic.name])) < largest[topic.name]
    }
    return setting._replace(cluster=_with_topic_configs(setting.cluster, larger))


def _without_zstd(topic: CreateTopic) -> CreateTopic:
    configs = topic.configs
    if configs.get("compression.type") != "zstd":
        return topic
    return replace(topic, configs={**configs, "compression.type": "gzip"})


def _some_topics(dice: Dice, cluster: ClusterPlan) -> list[str]:
    names = [topic.name for topic in cluster.topics]
    return dice.sample(names, dice.randint(1, len(names)))


def _with_configs(cluster: ClusterPlan, configs: Mapping[str, str]) -> ClusterPlan:
    return replace(cluster, configs={**cluster.configs, **configs})


def _with_topic_configs(
    cluster: ClusterPlan, configs: Mapping[str, Mapping[str, str]]
) -> ClusterPlan:
    topics = tuple(
        replace(topic, configs={**topic.configs, **configs.get(topic.name, {})})
        for topic in cluster.topics
    )
    return replace(cluster, topics=topics)


def _placed(dice: Dice, cluster: ClusterPlan, log_dir: str | None = None) -> ClusterPlan:
    """Give the replicas of the first topic, two of each partition at least, places of their own."""
    first, *others = cluster.topics
    count = max(first.replication_factor, 2)
    assignment = first.assignment or tuple(
        tuple(dice.sample(cluster.broker_ids, count)) for _ in range(first.partitions)
    )
    placed = replace(
        first,
        assignment=assignment,
        replication_factor=count,
        log_dir=log_dir or first.log_dir,
    )
    return replace(cluster, topics=(placed, *others))
