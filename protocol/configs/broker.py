"""A broker's configuration keys and their typed values: one field per key.

Only keys that something here reads or describes. Keys that begin
with ``jbodlab.`` are ours. Built by ``protocol.configs.parsing``. Source: KafkaConfig.scala and the
server-common config classes (3.9).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final

from protocol.configs.checks import at_least, cordoned, one_of
from protocol.configs.connection_counts import counts_of_addresses
from protocol.configs.types import INT_MAX, LONG_MAX, ConfigKey, ConfigType, Update, key, keys_of
from protocol.configs.zookeeper import ZookeeperConfig

REQUEST_BYTES_MAX: Final = 32 << 20
RESPONSE_BYTES_MAX: Final = 32 << 20
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Values of ``replica.selector.class``; other classes cannot be loaded here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig(ZookeeperConfig):
    """The effective configuration of one broker."""

    broker_id: int = key(ConfigType.INT, -1, "Id of this broker.")
    broker_rack: str | None = key(
        ConfigType.STRING, None, "Rack of this broker, for placing replicas apart.", nullable=True
    )
    log_dir: str = key(ConfigType.STRING, "/tmp/kafka-logs", "Log dirs when log.dirs is unset.")
    log_dirs: str | None = key(
        ConfigType.STRING, None, "The log dirs, separated by commas.", nullable=True
    )
    num_recovery_threads_per_data_dir: int = key(
        ConfigType.INT,
        1,
        "Threads per log dir for loading at start and closing at the end.",
        at_least(1),
        update=Update.CLUSTER_WIDE,
    )
    num_replica_alter_log_dirs_threads: int | None = key(
        ConfigType.INT,
        None,
        "Moves that may run at once; by default one per log dir.",
        nullable=True,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Bound on the rate of moves between log dirs.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
        dynamic_only=True,
    )
    alter_log_dirs_replication_quota_window_num: int = key(
        ConfigType.INT, 11, "Samples kept to measure the rate of moves.", at_least(1)
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = key(
        ConfigType.INT, 1, "Length of one such sample.", at_least(1)
    )
    log_dir_failure_timeout_ms: int = key(
        ConfigType.LONG,
        30000,
        "The broker ends itself when a failed log dir could not be reported for so long.",
        at_least(1),
    )
    cordoned_log_dirs: tuple[str, ...] = key(
        ConfigType.LIST,
        (),
        "Log dirs that take no new replicas; * is all of them.",
        cordoned,
        update=Update.PER_BROKER,
    )
    jbodlab_log_dir_io_deadline_ms: int = key(
        ConfigType.LONG,
        10000,
        "Not Kafka's: an operation of a log dir that takes longer fails the log dir.",
        at_least(1),
    )
    jbodlab_log_dir_queue_bytes_max: int = key(
        ConfigType.LONG,
        64 << 20,
        "Not Kafka's: bytes waiting for one log dir before requests wait to be read.",
        at_least(1),
    )
    jbodlab_log_dir_queue_depth_max: int = key(
        ConfigType.INT,
        4096,
        "Not Kafka's: operations waiting for one log dir before requests wait to be read.",
        at_least(1),
    )
    jbodlab_log_dir_watch_interval_ms: int = key(
        ConfigType.LONG,
        200,
        "Not Kafka's: how often the root of each log dir is looked at: is it still where it was?",
        at_least(1),
    )
    jbodlab_tail_cache_bytes: int = key(
        ConfigType.LONG,
        32 << 20,
        "Not Kafka's: memory for the newest records of all partitions; 0 reads all from disks.",
        at_least(0),
    )
    jbodlab_reassignment_throttles_remove: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Not Kafka's: throttles set for reassignments go when the last reassignment ends.",
        update=Update.CLUSTER_WIDE,
    )
    replica_high_watermark_checkpoint_interval_ms: int = key(
        ConfigType.LONG,
        5000,
        "Time between two writes of the high watermarks, which also probe an idle log dir.",
        at_least(1),
    )
    log_flush_offset_checkpoint_interval_ms: int = key(
        ConfigType.INT, 60000, "Time between two writes of the recovery points.", at_least(0)
    )
    log_flush_start_offset_checkpoint_interval_ms: int = key(
        ConfigType.INT, 60000, "Time between two writes of the log start offsets.", at_least(0)
    )
    log_flush_scheduler_interval_ms: int = key(
        ConfigType.LONG, LONG_MAX, "Time between two looks for logs that are due for a sync."
    )
    log_retention_check_interval_ms: int = key(
        ConfigType.LONG,
        300000,
        "Time between two looks for segments that are due for deletion.",
        at_least(1),
    )
    log_initial_task_delay_ms: int = key(
        ConfigType.LONG,
        30000,
        "Wait after the start before the first of the periodic tasks of logs.",
        at_least(0),
        internal=True,
    )
    log_segment_delete_delay_ms: int = key(
        ConfigType.LONG,
        60000,
        "Time between renaming a file for deletion and removing it.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_enable: bool = key(
        ConfigType.BOOLEAN, default=True, doc="Whether logs of compacted topics are compacted."
    )
    log_cleaner_threads: int = key(
        ConfigType.INT,
        1,
        "Kept for tools: each log dir has a cleaner of its own.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_io_max_bytes_per_second: float = key(
        ConfigType.DOUBLE,
        sys.float_info.max,
        "Bound on what all cleaners read and write together.",
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_dedupe_buffer_size: int = key(
        ConfigType.LONG,
        128 << 20,
        "Memory that the cleaners may take for keys, in all.",
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_size: int = key(
        ConfigType.INT,
        512 << 10,
        "Memory for reading and writing; half of it is what one step of a cleaner reads.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_load_factor: float = key(
        ConfigType.DOUBLE,
        0.9,
        "How full the memory for keys may get.",
        update=Update.CLUSTER_WIDE,
    )
    log_cleaner_backoff_ms: int = key(
        ConfigType.LONG,
        15000,
        "Wait of a cleaner that found nothing to do.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    auto_create_topics_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether asking for the metadata of an unknown topic creates it.",
    )
    default_replication_factor: int = key(
        ConfigType.INT, 1, "Replicas of a topic that names none.", at_least(1)
    )
    delete_topic_enable: bool = key(
        ConfigType.BOOLEAN, default=True, doc="Whether topics can be deleted."
    )
    num_partitions: int = key(
        ConfigType.INT, 1, "Partitions of a topic that names none.", at_least(1)
    )
    auto_leader_rebalance_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether leadership is given back to preferred leaders from time to time.",
    )
    leader_imbalance_check_interval_seconds: int = key(
        ConfigType.LONG, 300, "Time between two looks for such leaders.", at_least(1)
    )
    leader_imbalance_per_broker_percentage: int = key(
        ConfigType.INT, 10, "Share of a broker's partitions led elsewhere that is tolerated."
    )
    controller_socket_timeout_ms: int = key(
        ConfigType.INT,
        30000,
        "How long the controller waits for a broker's answer before it asks again.",
        at_least(1),
    )
    follower_replication_throttled_rate: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Bound on what throttled followers fetch, in bytes a second.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
        dynamic_only=True,
    )
    leader_replication_throttled_rate: int = key(
        ConfigType.LONG,
        LONG_MAX,
        "Bound on what throttled leaders serve, in bytes a second.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
        dynamic_only=True,
    )
    num_replica_fetchers: int = key(
        ConfigType.INT, 1, "Fetch loops per source broker.", update=Update.CLUSTER_WIDE
    )
    replica_fetch_backoff_ms: int = key(
        ConfigType.INT, 1000, "Pause after a failed fetch of a follower or a move.", at_least(0)
    )
    replica_fetch_max_bytes: int = key(
        ConfigType.INT,
        1 << 20,
        "Bytes per partition in one fetch of a follower or a move.",
        at_least(0),
    )
    replica_fetch_min_bytes: int = key(ConfigType.INT, 1, "Bytes a follower's fetch waits for.")
    replica_fetch_response_max_bytes: int = key(
        ConfigType.INT, 10 << 20, "Bytes in one answer to a follower's fetch.", at_least(0)
    )
    replica_fetch_wait_max_ms: int = key(ConfigType.INT, 500, "Longest wait of a follower's fetch.")
    replica_lag_time_max_ms: int = key(
        ConfigType.LONG, 30000, "A follower that has not caught up for so long leaves the Isr."
    )
    replica_selector_class: str | None = key(
        ConfigType.STRING,
        None,
        "Choice of the replica a consumer reads from: the leader, or one in the consumer's rack.",
        one_of("", LEADER_SELECTOR, RACK_AWARE_SELECTOR),
        nullable=True,
    )
    replica_socket_timeout_ms: int = key(
        ConfigType.INT, 30000, "Time after which a request to another broker counts as lost."
    )
    replication_quota_window_num: int = key(
        ConfigType.INT, 11, "Samples kept to measure the rate of replication.", at_least(1)
    )
    replication_quota_window_size_seconds: int = key(
        ConfigType.INT, 1, "Length of one such sample.", at_least(1)
    )
    quota_window_num: int = key(
        ConfigType.INT, 11, "Samples kept to measure what clients do.", at_least(1)
    )
    quota_window_size_seconds: int = key(
        ConfigType.INT, 1, "Length of one such sample.", at_least(1)
    )
    controller_quota_window_num: int = key(
        ConfigType.INT,
        11,
        "Samples of controller mutations that may be saved up.",
        at_least(1),
    )
    controller_quota_window_size_seconds: int = key(
        ConfigType.INT, 1, "Length of one such sample.", at_least(1)
    )
    connections_max_idle_ms: int = key(
        ConfigType.LONG, 600000, "Connections without traffic for so long are closed."
    )
    controlled_shutdown_enable: bool = key(
        ConfigType.BOOLEAN,
        default=True,
        doc="Whether a broker hands over its leaderships before it ends.",
    )
    controlled_shutdown_max_retries: int = key(ConfigType.INT, 3, "Tries of that.")
    controlled_shutdown_retry_backoff_ms: int = key(
        ConfigType.LONG, 5000, "Pause between two tries."
    )
    fetch_max_bytes: int = key(
        ConfigType.INT, 57671680, "Bytes in one answer to a consumer's fetch.", at_least(1024)
    )
    max_incremental_fetch_session_cache_slots: int = key(
        ConfigType.INT, 1000, "Fetch sessions kept.", at_least(0)
    )
    max_request_partition_size_limit: int = key(
        ConfigType.INT, 2000, "Partitions in one answer of DescribeTopicPartitions.", at_least(1)
    )
    producer_id_expiration_check_interval_ms: int = key(
        ConfigType.INT,
        600000,
        "Time between two looks for producers that are forgotten.",
        at_least(1),
        internal=True,
    )
    producer_id_expiration_ms: int = key(
        ConfigType.INT,
        86400000,
        "A producer that wrote nothing for so long is forgotten.",
        at_least(1),
        update=Update.CLUSTER_WIDE,
    )
    queued_max_request_bytes: int = key(
        ConfigType.LONG,
        REQUEST_BYTES_MAX,
        "Memory for requests that are here and not answered; more wait to be read. -1: no bound.",
        at_least(-1),
    )
    jbodlab_queued_response_bytes_max: int = key(
        ConfigType.LONG,
        RESPONSE_BYTES_MAX,
        "Not Kafka's: memory for answers not read yet; more fetches wait. -1: no bound.",
        at_least(-1),
    )
    max_connections: int = key(
        ConfigType.INT,
        INT_MAX,
        "Connections at a time; more are closed.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    max_connection_creation_rate: int = key(
        ConfigType.INT,
        INT_MAX,
        "Connections a second; further ones wait up to 1 s.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    max_connections_per_ip: int = key(
        ConfigType.INT,
        INT_MAX,
        "Connections of one address at a time.",
        at_least(0),
        update=Update.CLUSTER_WIDE,
    )
    max_connections_per_ip_overrides: str = key(
        ConfigType.STRING,
        "",
        "Addresses that may have another number of them, as address:number, separated by commas.",
        counts_of_addresses,
        update=Update.CLUSTER_WIDE,
    )
    request_timeout_ms: int = key(
        ConfigType.INT, 30000, "Time a request to the controller may take."
    )
    socket_request_max_bytes: int = key(
        ConfigType.INT, 104857600, "Largest request accepted.", at_least(1)
    )
    transaction_max_timeout_ms: int = key(
        ConfigType.INT,
        900000,
        "Time after which a transaction is late: it should have been aborted long ago.",
        at_least(1),
    )


BROKER_KEYS: Final[dict[str, ConfigKey]] = keys_of(BrokerConfig)
"""By Kafka's name."""

KEYS_OF_THE_SPEC: Final = (
    "broker.id",
    "broker.rack",
    "log.dir",
    "log.dirs",
)
"""Keys that ``cluster.yaml`` sets by words of its own, so that they cannot be set twice."""
