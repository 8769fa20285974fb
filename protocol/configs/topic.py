"""A topic's configuration keys and their typed values: one field per key.

Built by ``protocol.configs.parsing``, not here. Source: TopicConfig.java, LogConfig.java (3.9);
defaults as a 3.9.2 broker describes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocol.configs.checks import (
    at_least,
    between,
    each_of,
    format_version,
    gzip_level,
    one_of,
    throttled_replicas,
)
from protocol.configs.types import INT_MAX, LONG_MAX, ConfigKey, ConfigType, Synonym, key, keys_of

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * _HOUR_MS


def _from(*names: str) -> tuple[Synonym, ...]:
    return tuple(Synonym(name) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The effective configuration of one topic on one broker."""

    cleanup_policy: tuple[str, ...] = key(
        ConfigType.LIST,
        ("delete",),
        "What becomes of old segments: delete them, compact them, or both.",
        each_of("compact", "delete"),
        synonyms=_from("log.cleanup.policy"),
    )
    compression_gzip_level: int = key(
        ConfigType.INT,
        -1,
        "Level used when the broker compresses with gzip; -1 is the library's own choice.",
        gzip_level,
        synonyms=_from("compression.gzip.level"),
    )
    compression_lz4_level: int = key(
        ConfigType.INT,
        9,
        "Level used when the broker compresses with lz4.",
        between(1, 17),
        synonyms=_from("compression.lz4.level"),
    )
    compression_type: str = key(
        ConfigType.STRING,
        "producer",
        "Codec of batches on disk; producer keeps what the producer chose.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=_from("compression.type"),
    )
    compression_zstd_level: int = key(
        ConfigType.INT,
        3,
        "Level used when the broker compresses with zstd.",
        between(-131072, 22),
        synonyms=_from("compression.zstd.level"),
    )
    delete_retention_ms: int = key(
        ConfigType.LONG,
        _DAY_MS,
        "How long a compacted topic keeps tombstones.",
        at_least(0),
        synonyms=_from("log.cleaner.delete.retention.ms"),
    )
    file_delete_delay_ms: int = key(
        ConfigType.LONG,
        60_000,
        "Time between renaming a file or log for deletion and removing it.",
        at_least(0),
        synonyms=_from("log.segment.delete.delay.ms"),
    )
    flush_messages: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Records appended between two forced syncs of a log.",
        at_least(1),
        synonyms=_from("log.flush.interval.messages"),
    )
    flush_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Time between two forced syncs of a log.",
        at_least(0),
        synonyms=_from("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = key(
        ConfigType.LIST,
        (),
        "Replicas whose fetching counts against the follower throttle: * or partition:broker.",
        throttled_replicas("follower.replication.throttled.replicas"),
    )
    index_interval_bytes: int = key(
        ConfigType.INT,
        4096,
        "Bytes of log between two entries of the offset index.",
        at_least(0),
        synonyms=_from("log.index.interval.bytes"),
    )
    leader_replication_throttled_replicas: tuple[str, ...] = key(
        ConfigType.LIST,
        (),
        "Replicas whose serving counts against the leader throttle: * or partition:broker.",
        throttled_replicas("leader.replication.throttled.replicas"),
    )
    local_retention_bytes: int = key(
        ConfigType.LONG,
        -2,
        "Bytes kept locally when remote storage is on; -2 follows retention.bytes.",
        at_least(-2),
        synonyms=_from("log.local.retention.bytes"),
    )
    local_retention_ms: int = key(
        ConfigType.LONG,
        -2,
        "Time kept locally when remote storage is on; -2 follows retention.ms.",
        at_least(-2),
        synonyms=_from("log.local.retention.ms"),
    )
    max_compaction_lag_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Longest time a record may stay uncompacted.",
        at_least(1),
        synonyms=_from("log.cleaner.max.compaction.lag.ms"),
    )
    max_message_bytes: int = key(
        ConfigType.INT,
        1_048_588,
        "Largest batch accepted, headers included.",
        at_least(0),
        synonyms=_from("message.max.bytes"),
    )
    message_downconversion_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether old consumers get batches rewritten in the format they know.",
        synonyms=_from("log.message.downconversion.enable"),
    )
    message_format_version: str = key(
        ConfigType.STRING,
        "3.0-IV1",
        "Kept for old tools; the format is always batch v2.",
        format_version,
        synonyms=_from("log.message.format.version"),
    )
    message_timestamp_after_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "How far a record's timestamp may lie ahead of the broker's clock.",
        at_least(0),
        synonyms=_from("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "How far a record's timestamp may lie behind the broker's clock.",
        at_least(0),
        synonyms=_from("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_difference_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "The older, two-sided form of the two bounds above.",
        at_least(0),
        synonyms=_from("log.message.timestamp.difference.max.ms"),
    )
    message_timestamp_type: str = key(
        ConfigType.STRING,
        "CreateTime",
        "Whether the producer's timestamp is kept or the time of the append is stamped.",
        one_of("CreateTime", "LogAppendTime"),
        synonyms=_from("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = key(
        ConfigType.DOUBLE,
        0.5,
        "Share of uncompacted bytes from which a log is worth compacting.",
        between(0, 1),
        synonyms=_from("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = key(
        ConfigType.LONG,
        0,
        "Shortest time a record stays uncompacted.",
        at_least(0),
        synonyms=_from("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = key(
        ConfigType.INT,
        1,
        "Smallest Isr with which acks=all is accepted.",
        at_least(1),
        synonyms=_from("min.insync.replicas"),
    )
    preallocate: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Whether a new segment's file takes its full size at once.",
        synonyms=_from("log.preallocate"),
    )
    remote_log_copy_disable: bool = key(
        ConfigType.BOOLEAN, default=False, doc="Stops copying to remote storage; kept for tools."
    )
    remote_log_delete_on_disable: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Removes remote data when remote storage is turned off; kept for tools.",
    )
    remote_storage_enable: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Remote storage, which is not served; kept for tools.",
    )
    retention_bytes: int = key(
        ConfigType.LONG,
        -1,
        "Size per partition from which old segments go; -1 is no bound.",
        synonyms=_from("log.retention.bytes"),
    )
    retention_ms: int = key(
        ConfigType.LONG,
        7 * _DAY_MS,
        "Age from which segments go; -1 is no bound.",
        at_least(-1),
        synonyms=(
            Synonym("log.retention.ms", is_endless_below_zero=True),
            Synonym("log.retention.minutes", _MINUTE_MS, is_endless_below_zero=True),
            Synonym("log.retention.hours", _HOUR_MS, is_endless_below_zero=True),
        ),
    )
    segment_bytes: int = key(
        ConfigType.INT,
        1 << 30,
        "Size at which a segment is closed and a new one begun.",
        at_least(14),
        synonyms=_from("log.segment.bytes"),
    )
    segment_index_bytes: int = key(
        ConfigType.INT,
        10 << 20,
        "Largest size of an index file.",
        between(4, INT_MAX),
        synonyms=_from("log.index.size.max.bytes"),
    )
    segment_jitter_ms: int = key(
        ConfigType.LONG,
        0,
        "Longest random delay taken off segment.ms, so that rolls do not coincide.",
        at_least(0),
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", _HOUR_MS)),
    )
    segment_ms: int = key(
        ConfigType.LONG,
        7 * _DAY_MS,
        "Age at which a segment is closed even when it is not full.",
        at_least(1),
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
    )
    unclean_leader_election_enable: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Whether a replica outside the Isr may lead when nobody else can, losing records.",
        synonyms=_from("unclean.leader.election.enable"),
    )

    @property
    def max_segment_ms(self) -> int:
        """`segment.ms`, or the smaller `max.compaction.lag.ms` of a compacted topic.

        Only segments that are closed are compacted. Source: LogConfig.maxSegmentMs, KIP-354.
        """
        if "compact" in self.cleanup_policy:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @property
    def timestamp_before_max_ms(self) -> int:
        """The effective bound: the older two-sided key counts where the newer one is not set."""
        before_ms, both_ms = (
            self.message_timestamp_before_max_ms,
            self.message_timestamp_difference_max_ms,
        )
        return both_ms if before_ms == LONG_MAX else before_ms

    @property
    def timestamp_after_max_ms(self) -> int:
        """As ``timestamp_before_max_ms``, ahead of the clock. Source: LogConfig.java, KIP-937."""
        after_ms, both_ms = (
            self.message_timestamp_after_max_ms,
            self.message_timestamp_difference_max_ms,
        )
        return both_ms if after_ms == LONG_MAX else after_ms


TOPIC_KEYS: Final[dict[str, ConfigKey]] = keys_of(TopicConfig)
"""By Kafka's name."""
