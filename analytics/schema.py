"""The metric tables as Spark sees them: types, units and column names, all from ``metric_rows``.

It reads no file and starts no Spark.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from protocol.metrics.rows import TABLES, Unit

API: Final = "api"
APPEND_BYTES_TOTAL: Final = "append_bytes_total"
AT_MS: Final = "at_ms"
BROKER_EPOCH: Final = "broker_epoch"
BROKER_ID: Final = "broker_id"
COPIED_BYTES: Final = "copied_bytes"
DETAIL: Final = "detail"
DIRECTORY_ID: Final = "directory_id"
ERROR_COUNT: Final = "error_count"
FAILURE_ID: Final = "failure_id"
FUTURE_COUNT: Final = "future_count"
INTERVAL_MS: Final = "interval_ms"
IS_FUTURE: Final = "is_future"
IS_LEADER: Final = "is_leader"
LAG: Final = "lag"
LOG_DIR: Final = "log_dir"
MAX_US: Final = "max_us"
NODE: Final = "node"
ONLINE: Final = "online"
P50_US: Final = "p50_us"
P99_US: Final = "p99_us"
PARTITION: Final = "partition"
PARTITION_COUNT: Final = "partition_count"
QUEUE_DEPTH_COUNT: Final = "queue_depth_count"
RECEIVED_BYTES: Final = "received_bytes"
REPLICA_COUNT: Final = "replica_count"
REQUEST_COUNT: Final = "request_count"
SENT_BYTES: Final = "sent_bytes"
SIZE_BYTES: Final = "size_bytes"
SOURCE_LOG_DIR: Final = "source_log_dir"
STARTED_AT_MS: Final = "started_at_ms"
STATE: Final = "state"
STEP: Final = "step"
TARGET_LOG_DIR: Final = "target_log_dir"
TOPIC: Final = "topic"
TOTAL_BYTES: Final = "total_bytes"
USABLE_BYTES: Final = "usable_bytes"
USED_BYTES: Final = "used_bytes"

FAILED_AT_MS: Final = "failed_at_ms"
FILL: Final = "fill"
LAG_MAX: Final = "lag_max"
LEADER_COUNT: Final = "leader_count"
APPEND_BYTES_PER_S: Final = "append_bytes_per_s"
QUEUE_DEPTH_MAX: Final = "queue_depth_max"
STEP_ORDER: Final = "step_order"
SINCE_FAILURE_MS: Final = "since_failure_ms"
SINCE_PREVIOUS_MS: Final = "since_previous_ms"
OFFLINE_COUNT: Final = "offline_count"
MOVED_COUNT: Final = "moved_count"
ELECTED_AFTER_MS: Final = "elected_after_ms"
ENDED_AFTER_MS: Final = "ended_after_ms"
LAST_STEP: Final = "last_step"
DURATION_MS: Final = "duration_ms"
BYTES_PER_S: Final = "bytes_per_s"
PER_S: Final = "per_s"
P50_MEAN_US: Final = "p50_mean_us"
P99_WORST_US: Final = "p99_worst_us"
WRITE_BYTES_PER_S: Final = "write_bytes_per_s"

LINE: Final = "line"
FILE: Final = "file"
TABLE: Final = "table"
REASON: Final = "reason"
MALFORMED_COUNT: Final = "malformed_count"

UNIT: Final = "unit"
ALLOWED: Final = "allowed"

_TYPES: Final[dict[type, DataType]] = {int: LongType(), str: StringType(), bool: BooleanType()}


def struct_type(row_class: type[Any]) -> StructType:
    """Return the Spark schema of a row class, columns in their order, none nullable.

    Column metadata: ``unit`` where the row states one, ``allowed`` (a list) where the column is an
    enum.

    Raises:
        KeyError: a column of a type that metric rows do not use.
    """
    hints = get_type_hints(row_class, include_extras=True)
    return StructType([_field(f.name, hints[f.name]) for f in dataclasses.fields(row_class)])


def _field(name: str, hint: Any) -> StructField:
    metadata: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        [unit] = [note.name for note in notes if isinstance(note, Unit)]
        metadata[UNIT] = unit
    if issubclass(hint, StrEnum):
        metadata[ALLOWED] = [member.value for member in hint]
        hint = str
    return StructField(name, _TYPES[hint], nullable=False, metadata=metadata)


TABLE_SCHEMAS: Final[dict[str, StructType]] = {
    name: struct_type(row) for name, row in TABLES.items()
}
