"""What happened after each log dir failure, and how long every step took.

Times of different nodes are wall clocks: on several machines they are as good as their clocks.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from protocol.metrics.rows import FailoverStep

_FAILURE: Final = [*c.RUN, c.FAILURE_ID]
_LATEST_COUNTS = [FailoverStep.BROKERS_TOLD.value, FailoverStep.CLIENT_RECOVERED.value]
"""Steps that are done when the last of several nodes has done them; the others count at once."""
_OF_CLUSTER: Final = [step for step in FailoverStep if step is not FailoverStep.CLIENT_RECOVERED]
"""Steps without which a failover is unfinished; there may have been no client."""


def failover_steps(rows: DataFrame) -> DataFrame:
    """Input: FailoverEventRow. Output: one row per failure and step, in their order.

    ``since_failure_ms`` counts from the broker's own row, or from the first row when that is lost.
    A step that nobody wrote has nulls; ``since_previous_ms`` is negative where clocks disagree.
    """
    steps = _every_step(_seen_steps(rows)).withColumn(c.STEP_ORDER, _step_order())
    of_failure = Window.partitionBy(*_FAILURE)
    failed_at = F.coalesce(
        F.min(_at(FailoverStep.LOG_DIR_FAILED, c.AT_MS)).over(of_failure),
        F.min(c.AT_MS).over(of_failure),
    )
    before = of_failure.orderBy(c.STEP_ORDER).rowsBetween(Window.unboundedPreceding, -1)
    previous = F.last(c.AT_MS, ignorenulls=True).over(before)
    return steps.select(
        *_FAILURE,
        c.STEP_ORDER,
        c.STEP,
        c.NODE,
        c.AT_MS,
        (F.col(c.AT_MS) - failed_at).alias(c.SINCE_FAILURE_MS),
        (F.col(c.AT_MS) - previous).alias(c.SINCE_PREVIOUS_MS),
        c.PARTITION_COUNT,
        c.DETAIL,
    ).orderBy(*_FAILURE, c.STEP_ORDER)


def _seen_steps(rows: DataFrame) -> DataFrame:
    first, last = F.struct(c.AT_MS, c.NODE, c.DETAIL), F.max(c.AT_MS)
    at_ms = F.when(F.col(c.STEP).isin(_LATEST_COUNTS), last).otherwise(F.min(c.AT_MS))
    return (
        rows.groupBy(*_FAILURE, c.STEP)
        .agg(
            F.min(first).alias("first"),
            at_ms.alias(c.AT_MS),
            F.max(c.PARTITION_COUNT).alias(c.PARTITION_COUNT),
        )
        .select(
            *_FAILURE, c.STEP, c.AT_MS, f"first.{c.NODE}", f"first.{c.DETAIL}", c.PARTITION_COUNT
        )
    )


def _every_step(seen: DataFrame) -> DataFrame:
    """Add the cluster's steps that a failure did not come to, as nulls."""
    values = [name for name in seen.columns if name not in (*_FAILURE, c.STEP)]
    # Out of one map per failure: a union would make twice what steps come from.
    entries = F.collect_list(F.struct(c.STEP, F.struct(*values)))
    wanted = F.array(*[F.lit(step.value) for step in _OF_CLUSTER])
    step = F.explode(F.array_union(wanted, F.map_keys("seen"))).alias(c.STEP)
    return (
        seen.groupBy(*_FAILURE)
        .agg(F.map_from_entries(entries).alias("seen"))
        .select(*_FAILURE, step, "seen")
        .select(*_FAILURE, c.STEP, F.try_element_at("seen", F.col(c.STEP)).alias("of_step"))
        .select(*_FAILURE, c.STEP, *[f"of_step.{name}" for name in values])
    )


def failovers(steps: DataFrame) -> DataFrame:
    """Input: ``failover_steps``. Output: one row per failure, the earliest of a run first.

    ``elected_after_ms`` and ``moved_count`` are null when no election was seen; ``waiting_for`` is
    the first step that was not, null when ``is_finished``. ``clock_skew_ms`` is by how much a step
    seems to be before the one that led to it, 0 when none is. ``cause`` is the error alone.
    """
    replicas = _at(FailoverStep.REPLICAS_OFFLINE, c.PARTITION_COUNT)
    on_broker = _at(FailoverStep.LOG_DIR_FAILED, c.PARTITION_COUNT)
    elected, seen = FailoverStep.LEADERS_ELECTED, F.col(c.AT_MS).isNotNull()
    is_lost = ~seen & F.col(c.STEP).isin([step.value for step in _OF_CLUSTER])
    first = F.min(F.when(seen, F.struct(c.STEP_ORDER, c.NODE, c.DETAIL)))
    skew = F.greatest(F.max(-F.col(c.SINCE_PREVIOUS_MS)), F.lit(0))
    return (
        steps.groupBy(*_FAILURE)
        .agg(
            F.min(F.col(c.AT_MS) - F.col(c.SINCE_FAILURE_MS)).alias(c.FAILED_AT_MS),
            first.getField(c.NODE).alias(c.NODE),
            first.getField(c.DETAIL).alias(c.DETAIL),
            F.coalesce(F.max(replicas), F.max(on_broker)).alias(c.OFFLINE_COUNT),
            F.max(_at(elected, c.PARTITION_COUNT)).alias(c.MOVED_COUNT),
            F.max(_at(elected, c.SINCE_FAILURE_MS)).alias(c.ELECTED_AFTER_MS),
            F.max(_at(FailoverStep.CLIENT_RECOVERED, c.SINCE_FAILURE_MS)).alias(
                c.RECOVERED_AFTER_MS
            ),
            F.max(c.SINCE_FAILURE_MS).alias(c.ENDED_AFTER_MS),
            F.max_by(c.STEP, F.when(seen, F.col(c.STEP_ORDER))).alias(c.LAST_STEP),
            F.min_by(c.STEP, F.when(is_lost, F.col(c.STEP_ORDER))).alias(c.WAITING_FOR),
            F.coalesce(skew, F.lit(0)).alias(c.CLOCK_SKEW_MS),
        )
        .select(
            *_FAILURE,
            c.FAILED_AT_MS,
            c.NODE,
            c.DETAIL,
            _cause().alias(c.CAUSE),
            c.OFFLINE_COUNT,
            c.MOVED_COUNT,
            c.ELECTED_AFTER_MS,
            c.RECOVERED_AFTER_MS,
            c.ENDED_AFTER_MS,
            c.LAST_STEP,
            F.col(c.WAITING_FOR).isNull().alias(c.IS_FINISHED),
            c.WAITING_FOR,
            c.CLOCK_SKEW_MS,
        )
        .orderBy(*c.RUN, c.FAILED_AT_MS, c.FAILURE_ID)
    )


def failover_durations(found: DataFrame) -> DataFrame:
    """Input: ``failovers``. Output: run, cause, size_class, step durations over their failures.

    ``size_class`` is the power of ten of the replicas that went offline: "1-9", "10-99", ...;
    "unknown" where no row counted them.
    Percentiles are of ``elected_after_ms``, exact, over the failures that came so far.
    """
    digits = F.length(F.greatest(F.col(c.OFFLINE_COUNT), F.lit(1)).cast("string"))
    low = F.rpad(F.lit("1"), digits, "0")
    # Without a count the greatest of it and 1 would be 1; -1: nobody counted.
    is_counted = F.col(c.OFFLINE_COUNT) >= 0
    size = F.when(is_counted, F.concat(low, F.lit("-"), F.rpad(F.lit("9"), digits, "9")))
    key = [*c.RUN, c.CAUSE, c.SIZE_CLASS]

    def quantile(share: float) -> Column:
        return F.percentile(c.ELECTED_AFTER_MS, share)

    return (
        found.withColumn(c.SIZE_CLASS, F.coalesce(size, F.lit("unknown")))
        .groupBy(*key)
        .agg(
            F.count(F.lit(1)).alias(c.FAILURE_COUNT),
            F.count_if(~F.col(c.IS_FINISHED)).alias(c.UNFINISHED_COUNT),
            quantile(0.5).alias(c.P50_MS),
            quantile(0.9).alias(c.P90_MS),
            quantile(0.99).alias(c.P99_MS),
            F.max(c.ELECTED_AFTER_MS).alias(c.MAX_MS),
        )
        .orderBy(*key)
    )


def _at(step: FailoverStep, column: str) -> Column:
    """The column's value in rows of ``step``, null in the others."""
    return F.when(F.col(c.STEP) == step.value, F.col(column))


def _cause() -> Column:
    """Read the error out of "log dir: operation: error: 'file'"; files differ, causes are alike."""
    error = F.element_at(F.split(c.DETAIL, ": ", 3), -1)
    return F.regexp_replace(error, ": '[^']*'$", "")


def _step_order() -> Column:
    steps = F.array(*[F.lit(step.value) for step in FailoverStep])
    return F.array_position(steps, F.col(c.STEP)) - 1
