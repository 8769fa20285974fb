"""Broker keys of the coordinators: consumer groups and their offsets, transactions.

Only keys that something here reads. Source: OffsetConfig.java, GroupCoordinatorConfig.java,
TransactionLogConfig.java, TransactionStateManagerConfig.java (3.9), AddPartitionsToTxnConfig.java.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol.configs.checks import (
    at_least,
    between,
    each_of,
    one_of_any_case,
    rebalance_protocols,
)
from protocol.configs.group_defaults import GroupDefaults
from protocol.configs.types import INT_MAX, ConfigType, Update, key


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinationConfig(GroupDefaults):
    """What a broker's configuration says of its coordinators."""

    group_min_session_timeout_ms: int = key(
        ConfigType.INT, 6000, "Smallest session timeout that a member may ask for."
    )
    group_max_session_timeout_ms: int = key(
        ConfigType.INT, 1800000, "Largest session timeout that a member may ask for."
    )
    group_initial_rebalance_delay_ms: int = key(
        ConfigType.INT, 3000, "Wait for more members before a new group's first rebalance."
    )
    group_max_size: int = key(
        ConfigType.INT, INT_MAX, "Members that one group may have.", at_least(1)
    )
    group_consumer_max_size: int = key(
        ConfigType.INT,
        INT_MAX,
        "Members that one group of the consumer protocol may have.",
        at_least(1),
    )
    group_consumer_assignors: tuple[str, ...] = key(
        ConfigType.LIST,
        ("uniform", "range"),
        "Assignors that members may ask for; the first one where none does.",
        each_of("uniform", "range"),
    )
    group_consumer_migration_policy: str = key(
        ConfigType.STRING,
        "bidirectional",
        "Which groups with members may change their protocol: to consumer (upgrade), to classic"
        " (downgrade), both, or none (disabled).",
        one_of_any_case("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = key(
        ConfigType.LIST,
        ("classic", "consumer"),
        "Protocols that members of groups may speak; classic is always one of them.",
        rebalance_protocols,
    )
    offset_metadata_max_bytes: int = key(
        ConfigType.INT, 4096, "Largest metadata that a client may keep with an offset."
    )
    offsets_load_buffer_size: int = key(
        ConfigType.INT,
        5242880,
        "Bytes read at once while a partition of offsets is loaded; one batch may be larger.",
        at_least(1),
    )
    offsets_topic_replication_factor: int = key(
        ConfigType.SHORT,
        3,
        "Replicas of the offsets topic; as many as there are brokers where there are fewer.",
        at_least(1),
    )
    offsets_topic_num_partitions: int = key(
        ConfigType.INT,
        50,
        "Partitions of the offsets topic; not to be changed once it is there.",
        at_least(1),
    )
    offsets_topic_segment_bytes: int = key(
        ConfigType.INT, 104857600, "Size of its segments, small for quick loads.", at_least(1)
    )
    offsets_topic_compression_codec: int = key(
        ConfigType.INT,
        0,
        "How its batches are compressed: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        between(0, 4),
    )
    offsets_retention_minutes: int = key(
        ConfigType.INT,
        10080,
        "Offsets of a group without members, or of topics it left, are kept for so long.",
        at_least(1),
    )
    offsets_retention_check_interval_ms: int = key(
        ConfigType.LONG, 600000, "Time between two looks for offsets that expired.", at_least(1)
    )
    offsets_commit_timeout_ms: int = key(
        ConfigType.INT,
        5000,
        "Time until a commit is answered with an error that is not replicated.",
        at_least(1),
    )
    transaction_state_log_replication_factor: int = key(
        ConfigType.SHORT,
        3,
        "Replicas of the transaction topic; as many as there are brokers where there are fewer.",
        at_least(1),
    )
    transaction_state_log_num_partitions: int = key(
        ConfigType.INT,
        50,
        "Partitions of the transaction topic; not to be changed once it is there.",
        at_least(1),
    )
    transaction_state_log_segment_bytes: int = key(
        ConfigType.INT, 104857600, "Size of its segments, small for quick loads.", at_least(1)
    )
    transaction_state_log_min_isr: int = key(
        ConfigType.INT, 2, "Its min.insync.replicas; no more than it has replicas.", at_least(1)
    )
    transaction_state_log_load_buffer_size: int = key(
        ConfigType.INT,
        5242880,
        "Bytes read at once while a partition of transactions is loaded; a batch may be larger.",
        at_least(1),
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = key(
        ConfigType.INT, 10000, "Time between two looks for late transactions.", at_least(1)
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = key(
        ConfigType.INT, 3600000, "Time between two looks for unused transactional ids.", at_least(1)
    )
    transaction_partition_verification_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether a leader asks the coordinator before it takes records of a transaction.",
        update=Update.CLUSTER_WIDE,
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = key(
        ConfigType.INT,
        100,
        "How long a leader asks again while the transaction before is being ended.",
        at_least(0),
    )
    add_partitions_to_txn_retry_backoff_ms: int = key(
        ConfigType.INT, 20, "Time between two such questions.", at_least(1)
    )
    transactional_id_expiration_ms: int = key(
        ConfigType.INT,
        604800000,
        "A transactional id without a transaction is forgotten after so long.",
        at_least(1),
    )
