"""What happened after each log dir failure, and how long every step took.

Times of different nodes are wall clocks: on several machines they are as good as their clocks.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from protocol.metrics.rows import FailoverStep

_LATEST_COUNTS = [FailoverStep.BROKERS_TOLD.value, FailoverStep.CLIENT_RECOVERED.value]
"""Steps that are done when the last of several nodes has done them; the others count at once."""


def failover_steps(rows: DataFrame) -> DataFrame:
    """Input: FailoverEventRow. Output: one row per failure and step, in their order.

    ``since_failure_ms`` counts from the broker's own row, or from the first row when that is lost.
    """
    is_latest = F.col(c.STEP).isin(_LATEST_COUNTS)
    steps = rows.groupBy(c.FAILURE_ID, c.STEP).agg(
        F.min(c.AT_MS).alias("first_ms"),
        F.max(c.AT_MS).alias("last_ms"),
        F.min_by(c.NODE, c.AT_MS).alias(c.NODE),
        F.min_by(c.DETAIL, c.AT_MS).alias(c.DETAIL),
        F.max(c.PARTITION_COUNT).alias(c.PARTITION_COUNT),
    )
    at_ms = F.when(is_latest, F.col("last_ms")).otherwise(F.col("first_ms"))
    timed = steps.withColumn(c.AT_MS, at_ms).withColumn(c.STEP_ORDER, _step_order())
    of_failure = Window.partitionBy(c.FAILURE_ID)
    failed_at = F.coalesce(
        F.min(_at(FailoverStep.LOG_DIR_FAILED, c.AT_MS)).over(of_failure),
        F.min(c.AT_MS).over(of_failure),
    )
    previous = F.lag(c.AT_MS).over(of_failure.orderBy(c.STEP_ORDER))
    return timed.select(
        c.FAILURE_ID,
        c.STEP_ORDER,
        c.STEP,
        c.NODE,
        c.AT_MS,
        (F.col(c.AT_MS) - failed_at).alias(c.SINCE_FAILURE_MS),
        (F.col(c.AT_MS) - previous).alias(c.SINCE_PREVIOUS_MS),
        c.PARTITION_COUNT,
        c.DETAIL,
    ).orderBy(c.FAILURE_ID, c.STEP_ORDER)


def failovers(steps: DataFrame) -> DataFrame:
    """Input: ``failover_steps``. Output: one row per failure, the earliest first.

    ``elected_after_ms`` and ``moved_count`` are null when no leader was elected.
    """
    replicas = _at(FailoverStep.REPLICAS_OFFLINE, c.PARTITION_COUNT)
    on_broker = _at(FailoverStep.LOG_DIR_FAILED, c.PARTITION_COUNT)
    elected = FailoverStep.LEADERS_ELECTED
    return (
        steps.groupBy(c.FAILURE_ID)
        .agg(
            F.min(F.col(c.AT_MS) - F.col(c.SINCE_FAILURE_MS)).alias(c.FAILED_AT_MS),
            F.min_by(c.NODE, c.STEP_ORDER).alias(c.NODE),
            F.min_by(c.DETAIL, c.STEP_ORDER).alias(c.DETAIL),
            F.coalesce(F.max(replicas), F.max(on_broker)).alias(c.OFFLINE_COUNT),
            F.max(_at(elected, c.PARTITION_COUNT)).alias(c.MOVED_COUNT),
            F.max(_at(elected, c.SINCE_FAILURE_MS)).alias(c.ELECTED_AFTER_MS),
            F.max(c.SINCE_FAILURE_MS).alias(c.ENDED_AFTER_MS),
            F.max_by(c.STEP, c.STEP_ORDER).alias(c.LAST_STEP),
        )
        .select(
            c.FAILURE_ID,
            c.FAILED_AT_MS,
            c.NODE,
            c.DETAIL,
            c.OFFLINE_COUNT,
            c.MOVED_COUNT,
            c.ELECTED_AFTER_MS,
            c.ENDED_AFTER_MS,
            c.LAST_STEP,
        )
        .orderBy(c.FAILED_AT_MS, c.FAILURE_ID)
    )


def _at(step: FailoverStep, column: str) -> Column:
    """The column's value in rows of ``step``, null in the others."""
    return F.when(F.col(c.STEP) == step.value, F.col(column))


def _step_order() -> Column:
    steps = F.array(*[F.lit(step.value) for step in FailoverStep])
    return F.array_position(steps, F.col(c.STEP)) - 1
