"""The broker keys that stand in for what a topic leaves unset: one typed field per key.

The rest of a broker's keys are in ``protocol.configs.broker``. Source: KafkaConfig.scala,
ServerTopicConfigSynonyms.java (3.9).
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.configs.checks import (
    at_least,
    between,
    each_of,
    format_version,
    gzip_level,
    not_below,
    not_zero,
    one_of,
)
from protocol.configs.types import LONG_MAX, ConfigType, Update, key


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class TopicDefaults:
    """What a broker gives to topics that say nothing."""

    compression_gzip_level: int = key(
        ConfigType.INT,
        -1,
        "Level used when the broker compresses with gzip.",
        gzip_level,
        update=Update.CLUSTER_WIDE,
    )
    compression_lz4_level: int = key(
        ConfigType.INT,
        9,
        "Level used when the broker compresses with lz4.",
        between(1, 17),
        update=Update.CLUSTER_WIDE,
    )
    compression_type: str = key(
        ConfigType.STRING,
        "producer",
        "Codec of batches on disk; producer keeps what the producer chose.",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        update=Update.CLUSTER_WIDE,
    )
    compression_zstd_level: int = key(
        ConfigType.INT,
        3,
        "Level used when the broker compresses with zstd.",
        between(-131072, 22),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_delete_retention_ms: int = key(
        ConfigType.LONG,
        86400000,
        "How long compacted topics keep tombstones.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_max_compaction_lag_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Longest time a record may stay uncompacted.",
        at_least(1),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_min_cleanable_ratio: float = key(
        ConfigType.DOUBLE,
        0.5,
        "Share of uncompacted bytes from which a log is worth compacting.",
        between(0, 1),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_min_compaction_lag_ms: int = key(
        ConfigType.LONG,
        0,
        "Shortest time a record stays uncompacted.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_cleanup_policy: tuple[str, ...] = key(
        ConfigType.LIST,
        ("delete",),
        "What becomes of old segments.",
        each_of("compact", "delete"),
        update=Update.CLUSTER_WIDE,
    )
    log_flush_interval_messages: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Records appended between two forced syncs of a log.",
        at_least(1),
        update=Update.CLUSTER_WIDE,
    )
    log_flush_interval_ms: int | None = key(
        ConfigType.LONG,
        None,
        "Time between two forced syncs; by default the scheduler's interval.",
        update=Update.CLUSTER_WIDE,
        nullable=True,
    )
    log_index_interval_bytes: int = key(
        ConfigType.INT,
        4096,
        "Bytes of log between two entries of the offset index.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_index_size_max_bytes: int = key(
        ConfigType.INT,
        10 << 20,
        "Largest size of an index file.",
        at_least(4),
        update=Update.CLUSTER_WIDE,
    )
    log_local_retention_bytes: int = key(
        ConfigType.LONG,
        -2,
        "Bytes kept locally when remote storage is on; -2 follows log.retention.bytes.",
        at_least(-2),
        update=Update.CLUSTER_WIDE,
    )
    log_local_retention_ms: int = key(
        ConfigType.LONG,
        -2,
        "Time kept locally when remote storage is on; -2 follows log.retention.ms.",
        at_least(-2),
        update=Update.CLUSTER_WIDE,
    )
    log_message_downconversion_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether old consumers get batches rewritten in the format they know.",
        update=Update.CLUSTER_WIDE,
    )
    log_message_format_version: str = key(
        ConfigType.STRING,
        "3.0-IV1",
        "Kept for old tools; the format is always batch v2.",
        format_version,
    )
    log_message_timestamp_after_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "How far a record's timestamp may lie ahead of the broker's clock.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_message_timestamp_before_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "How far a record's timestamp may lie behind the broker's clock.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_message_timestamp_difference_max_ms: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "The older, two-sided form of the two bounds above.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_message_timestamp_type: str = key(
        ConfigType.STRING,
        "CreateTime",
        "Whose timestamp records carry.",
        one_of("CreateTime", "LogAppendTime"),
        update=Update.CLUSTER_WIDE,
    )
    log_preallocate: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Whether a new segment's file takes its full size at once.",
        update=Update.CLUSTER_WIDE,
    )
    log_retention_bytes: int = key(
        ConfigType.LONG,
        -1,
        "Size per partition from which old segments go; -1 is no bound.",
        update=Update.CLUSTER_WIDE,
    )
    log_retention_hours: int = key(
        ConfigType.INT,
        168,
        "Age from which segments go, in hours.",
        not_zero("log.retention.hours"),
    )
    log_retention_minutes: int | None = key(
        ConfigType.INT,
        None,
        "The same in minutes; goes before hours.",
        not_zero("log.retention.minutes"),
        nullable=True,
    )
    log_retention_ms: int | None = key(
        ConfigType.LONG,
        None,
        "The same in milliseconds; goes before minutes; -1 is no bound.",
        not_zero("log.retention.ms"),
        update=Update.CLUSTER_WIDE,
        nullable=True,
    )
    log_roll_hours: int = key(
        ConfigType.INT, 168, "Age at which a segment is closed, in hours.", at_least(1)
    )
    log_roll_jitter_hours: int = key(
        ConfigType.INT, 0, "Longest random delay taken off that age, in hours.", at_least(0)
    )
    log_roll_jitter_ms: int | None = key(
        ConfigType.LONG,
        None,
        "The same in milliseconds; goes before hours.",
        not_below("log.roll.jitter.ms", 0),
        update=Update.CLUSTER_WIDE,
        nullable=True,
    )
    log_roll_ms: int | None = key(
        ConfigType.LONG,
        None,
        "Age at which a segment is closed; goes before hours.",
        not_below("log.roll.ms", 1),
        update=Update.CLUSTER_WIDE,
        nullable=True,
    )
    log_segment_bytes: int = key(
        ConfigType.INT,
        1 << 30,
        "Size at which a segment is closed.",
        at_least(14),
        update=Update.CLUSTER_WIDE,
    )
    message_max_bytes: int = key(
        ConfigType.INT,
        1048588,
        "Largest batch accepted, headers included.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    min_insync_replicas: int = key(
        ConfigType.INT,
        1,
        "Smallest Isr with which acks=all is accepted.",
        at_least(1),
        update=Update.CLUSTER_WIDE,
    )
    unclean_leader_election_enable: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Whether a replica outside the Isr may lead when nobody else can.",
        update=Update.CLUSTER_WIDE,
    )
