"""Under which names the numbers of a broker are exposed, and what they mean. It holds no number.

The names are those that Kafka's MBeans get from the usual JMX exporters:
``kafka_server_replicamanager_isrshrinks_total``; those that begin with ``jbodlab_`` are ours.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

MetricKind: TypeAlias = Literal["counter", "gauge"]

_CLEANER: Final = "kafka_log_logcleanermanager_"
_SERVER: Final = "kafka_server_replicamanager_"
_TOPICS: Final = "kafka_server_brokertopicmetrics_"
PLAIN: Final[tuple[tuple[str, str, MetricKind, str], ...]] = (
    ("isr_expands", _SERVER + "isrexpands_total", "counter", "Replicas that joined an ISR."),
    ("isr_shrinks", _SERVER + "isrshrinks_total", "counter", "ISR changes that dropped replicas."),
    ("failed_isr_updates", _SERVER + "failedisrupdates_total", "counter", "ISR changes refused."),
    ("partition_count", _SERVER + "partitioncount", "gauge", "Hosted partitions, offline too."),
    ("leader_count", _SERVER + "leadercount", "gauge", "Partitions led here."),
    ("offline_replica_count", _SERVER + "offlinereplicacount", "gauge", "Offline replicas."),
    (
        "under_replicated_partitions",
        _SERVER + "underreplicatedpartitions",
        "gauge",
        "Partitions led here whose ISR is smaller than their replicas.",
    ),
    (
        "under_min_isr_partitions",
        _SERVER + "underminisrpartitioncount",
        "gauge",
        "Partitions led here whose ISR is smaller than min.insync.replicas.",
    ),
    (
        "partitions_with_late_transactions",
        _SERVER + "partitionswithlatetransactionscount",
        "gauge",
        "Partitions led here with a transaction that was open for too long.",
    ),
    ("producer_id_count", _SERVER + "produceridcount", "gauge", "Producers known to partitions."),
    ("messages_in", _TOPICS + "messagesin_total", "counter", "Records appended by producers."),
    ("bytes_in", _TOPICS + "bytesin_total", "counter", "Bytes appended by producers."),
    ("bytes_out", _TOPICS + "bytesout_total", "counter", "Record bytes sent to consumers."),
    (
        "replication_bytes_in",
        _TOPICS + "replicationbytesin_total",
        "counter",
        "Bytes appended by the fetch loops of followers.",
    ),
    (
        "replication_bytes_out",
        _TOPICS + "replicationbytesout_total",
        "counter",
        "Record bytes sent to followers.",
    ),
    (
        "move_bytes",
        "kafka_server_replicaalterlogdirsmanager_bytes_total",
        "counter",
        "Bytes copied into future logs.",
    ),
    (
        "moves_done",
        "kafka_server_replicaalterlogdirsmanager_done_total",
        "counter",
        "Replicas moved to another log dir.",
    ),
    (
        "moves_failed",
        "kafka_server_replicaalterlogdirsmanager_failed_total",
        "counter",
        "Moves that ended without a swap, cancelled ones excepted.",
    ),
    ("broker_state", "kafka_server_kafkaserver_brokerstate", "gauge", "Kafka's BrokerState."),
    (
        "log_dir_failures",
        "jbodlab_broker_log_dir_failures_total",
        "counter",
        "Log dirs that went offline since the start.",
    ),
    (
        "unexpected_errors",
        "jbodlab_broker_unexpected_errors_total",
        "counter",
        "Requests and tasks that ended with an error nobody foresaw; each is in the log.",
    ),
    (
        "malformed_requests",
        "jbodlab_broker_malformed_requests_total",
        "counter",
        "Connections closed because of what the peer sent.",
    ),
    (
        "rows_dropped",
        "jbodlab_broker_metric_rows_dropped_total",
        "counter",
        "Event rows lost because the dump did not keep up.",
    ),
)
LOG_DIR: Final[tuple[tuple[str, str, MetricKind, str], ...]] = (
    ("offline", "kafka_log_logmanager_logdirectoryoffline", "gauge", "1 for an offline log dir."),
    (
        "cordoned",
        "kafka_log_logmanager_logdirectorycordoned",
        "gauge",
        "1 for a cordoned log dir, online or not.",
    ),
    (
        "queue_depth",
        "jbodlab_broker_log_dir_queue_depth",
        "gauge",
        "Jobs that wait for this disk.",
    ),
    (
        "append_count",
        "jbodlab_broker_log_dir_appends_total",
        "counter",
        "Appends written to this log dir.",
    ),
    (
        "append_bytes",
        "jbodlab_broker_log_dir_append_bytes_total",
        "counter",
        "Bytes appended to this log dir.",
    ),
    (
        "uncleanable_partitions",
        _CLEANER + "uncleanable_partitions_count",
        "gauge",
        "Compacted logs of this log dir that the cleaner cannot read and leaves alone.",
    ),
    (
        "uncleanable_bytes",
        _CLEANER + "uncleanable_bytes",
        "gauge",
        "What those logs weigh.",
    ),
    (
        "max_dirty_percent",
        _CLEANER + "max_dirty_percent",
        "gauge",
        "The largest share of a compacted log that was not compacted yet.",
    ),
    (
        "cleaner_idle_ms",
        _CLEANER + "time_since_last_run_ms",
        "gauge",
        "Since the cleaner looked for work; -1 before it did.",
    ),
)
_NETWORK: Final = "kafka_network_requestmetrics_"
REQUEST: Final = (
    ("request_count", _NETWORK + "requests_total", "Answered requests."),
    ("error_count", _NETWORK + "errors_total", "Answers with an error code."),
    ("received_bytes", _NETWORK + "requestbytes_total", "Bytes of request bodies."),
    ("sent_bytes", _NETWORK + "responsebytes_total", "Bytes of response bodies."),
    ("total_time_us", _NETWORK + "totaltimeus_total", "Time from request to response, in us."),
)
