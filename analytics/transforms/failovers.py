"""What happened after each log dir failure, and how long every step took.

Times of different nodes are wall clocks: on several machines they are as good as their clocks.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import schema as s
from protocol.metrics.rows import FailoverStep

_LATEST_COUNTS = [FailoverStep.BROKERS_TOLD.value, FailoverStep.CLIENT_RECOVERED.value]
"""Steps that are done when the last of several nodes has done them; the others count at once."""


def failover_steps(rows: DataFrame) -> DataFrame:
    """Input: FailoverEventRow. Output: one row per failure and step, in their order.

    ``since_failure_ms`` counts from the broker's own row, or from the first row when that is lost.
    """
    is_latest = F.col(s.STEP).isin(_LATEST_COUNTS)
    steps = rows.groupBy(s.FAILURE_ID, s.STEP).agg(
        F.min(s.AT_MS).alias("first_ms"),
        F.max(s.AT_MS).alias("last_ms"),
        F.min_by(s.NODE, s.AT_MS).alias(s.NODE),
        F.min_by(s.DETAIL, s.AT_MS).alias(s.DETAIL),
        F.max(s.PARTITION_COUNT).alias(s.PARTITION_COUNT),
    )
    at_ms = F.when(is_latest, F.col("last_ms")).otherwise(F.col("first_ms"))
    timed = steps.withColumn(s.AT_MS, at_ms).withColumn(s.STEP_ORDER, _step_order())
    of_failure = Window.partitionBy(s.FAILURE_ID)
    failed_at = F.coalesce(
        F.min(_at(FailoverStep.LOG_DIR_FAILED, s.AT_MS)).over(of_failure),
        F.min(s.AT_MS).over(of_failure),
    )
    previous = F.lag(s.AT_MS).over(of_failure.orderBy(s.STEP_ORDER))
    return timed.select(
        s.FAILURE_ID,
        s.STEP_ORDER,
        s.STEP,
        s.NODE,
        s.AT_MS,
        (F.col(s.AT_MS) - failed_at).alias(s.SINCE_FAILURE_MS),
        (F.col(s.AT_MS) - previous).alias(s.SINCE_PREVIOUS_MS),
        s.PARTITION_COUNT,
        s.DETAIL,
    ).orderBy(s.FAILURE_ID, s.STEP_ORDER)


def failovers(steps: DataFrame) -> DataFrame:
    """Input: ``failover_steps``. Output: one row per failure, the earliest first.

    ``elected_after_ms`` and ``moved_count`` are null when no leader was elected.
    """
    replicas = _at(FailoverStep.REPLICAS_OFFLINE, s.PARTITION_COUNT)
    on_broker = _at(FailoverStep.LOG_DIR_FAILED, s.PARTITION_COUNT)
    elected = FailoverStep.LEADERS_ELECTED
    return (
        steps.groupBy(s.FAILURE_ID)
        .agg(
            F.min(F.col(s.AT_MS) - F.col(s.SINCE_FAILURE_MS)).alias(s.FAILED_AT_MS),
            F.min_by(s.NODE, s.STEP_ORDER).alias(s.NODE),
            F.min_by(s.DETAIL, s.STEP_ORDER).alias(s.DETAIL),
            F.coalesce(F.max(replicas), F.max(on_broker)).alias(s.OFFLINE_COUNT),
            F.max(_at(elected, s.PARTITION_COUNT)).alias(s.MOVED_COUNT),
            F.max(_at(elected, s.SINCE_FAILURE_MS)).alias(s.ELECTED_AFTER_MS),
            F.max(s.SINCE_FAILURE_MS).alias(s.ENDED_AFTER_MS),
            F.max_by(s.STEP, s.STEP_ORDER).alias(s.LAST_STEP),
        )
        .select(
            s.FAILURE_ID,
            s.FAILED_AT_MS,
            s.NODE,
            s.DETAIL,
            s.OFFLINE_COUNT,
            s.MOVED_COUNT,
            s.ELECTED_AFTER_MS,
            s.ENDED_AFTER_MS,
            s.LAST_STEP,
        )
        .orderBy(s.FAILED_AT_MS, s.FAILURE_ID)
    )


def _at(step: FailoverStep, column: str) -> Column:
    """The column's value in rows of ``step``, null in the others."""
    return F.when(F.col(s.STEP) == step.value, F.col(column))


def _step_order() -> Column:
    steps = F.array(*[F.lit(step.value) for step in FailoverStep])
    return F.array_position(steps, F.col(s.STEP)) - 1
