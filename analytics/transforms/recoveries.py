"""When clients were served again after a failure, out of their rows: a failover's last step."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from protocol.metrics.rows import FailoverStep

GIVEN_UP_MS: Final = 60_000
"""A silence that begins later after a failure is another one's."""

_FAILURE: Final = [*c.RUN, c.FAILURE_ID]
_OF_TOPIC: Final = [c.TOPIC, c.PARTITION]
_PARTITION: Final = [*c.RUN, *_OF_TOPIC]


def client_recoveries(events: DataFrame, replicas: DataFrame, clients: DataFrame) -> DataFrame:
    """Input: FailoverEventRow, ReplicaRow, ClientRow. Output: FailoverEventRow, client_recovered.

    One row per failure: of each partition that was led from the log dir at the broker's last
    sample before, the longest silence of a client that overlaps the time from the failure to the
    election; the last of them to end counts. Failures without such a silence have no row.
    """
    by_partition = silences(events, replicas, clients)
    last = F.max(F.struct(f"longest.{c.SILENCE_ENDED_AT_MS}", f"longest.{c.CLIENT}"))
    return (
        by_partition.groupBy(*_FAILURE)
        .agg(last.alias("last"), F.count(F.lit(1)).alias(c.PARTITION_COUNT))
        .select(
            *c.RUN,
            F.col(f"last.{c.SILENCE_ENDED_AT_MS}").alias(c.AT_MS),
            F.concat(F.lit("client "), F.col(f"last.{c.CLIENT}")).alias(c.NODE),
            c.FAILURE_ID,
            F.lit(FailoverStep.CLIENT_RECOVERED.value).alias(c.STEP),
            F.lit(-1).cast("bigint").alias("topic_count"),
            c.PARTITION_COUNT,
            F.lit("").alias(c.DETAIL),
        )
    )


def silences(events: DataFrame, replicas: DataFrame, clients: DataFrame) -> DataFrame:
    """Output: run, failure_id, topic, partition, longest (silence_ms, silence_ended_at_ms, client).

    The longest silence of a client about a partition that overlaps the failover of its log dir.
    """
    served = _led_partitions(events, replicas).join(
        clients.where(F.col(c.SILENCE_ENDED_AT_MS) >= 0), on=_PARTITION, how="inner"
    )
    began = F.col(c.SILENCE_ENDED_AT_MS) - F.col(c.SILENCE_MS)
    overlaps = (F.col(c.SILENCE_ENDED_AT_MS) > F.col(c.FAILED_AT_MS)) & (
        began <= F.col("elected_at_ms")
    )
    longest = F.max(F.struct(c.SILENCE_MS, c.SILENCE_ENDED_AT_MS, c.CLIENT)).alias("longest")
    return served.where(overlaps).groupBy(*_FAILURE, c.TOPIC, c.PARTITION).agg(longest)


def _led_partitions(events: DataFrame, replicas: DataFrame) -> DataFrame:
    """Output: run, failure_id, failed_at_ms, elected_at_ms, topic, partition."""
    failed = _failures(events)
    is_led = F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE) & (F.col(c.AT_MS) <= F.col(c.FAILED_AT_MS))
    here = [*c.RUN, c.BROKER_ID, c.LOG_DIR]
    led = replicas.join(F.broadcast(failed), on=here, how="inner").where(is_led)
    failure = [*_FAILURE, c.FAILED_AT_MS, "elected_at_ms"]
    last = F.max(c.AT_MS).over(Window.partitionBy(*_FAILURE))
    return (
        # Samples before all failures of a log dir are by far more than its partitions: no window
        # over them.
        led.groupBy(*failure, *_OF_TOPIC)
        .agg(F.max(c.AT_MS).alias(c.AT_MS))
        .select(*failure, *_OF_TOPIC, c.AT_MS, last.alias("last"))
        .where(F.col(c.AT_MS) == F.col("last"))
        .select(*failure, *_OF_TOPIC)
    )


def _failures(events: DataFrame) -> DataFrame:
    """Output: run, failure_id, failed_at_ms, elected_at_ms, broker_id, log_dir."""
    is_failed = F.col(c.STEP) == FailoverStep.LOG_DIR_FAILED.value
    is_elected = F.col(c.STEP) == FailoverStep.LEADERS_ELECTED.value
    first = F.min(F.when(is_failed, F.struct(c.AT_MS, c.NODE, c.DETAIL)))
    elected_at = F.min(F.when(is_elected, F.col(c.AT_MS)))
    broker = F.regexp_extract("failed.node", "^broker-([0-9]+)$", 1)
    return (
        events.groupBy(*_FAILURE)
        .agg(first.alias("failed"), elected_at.alias("elected_at_ms"))
        .where(F.col("failed").isNotNull())
        .select(
            *_FAILURE,
            F.col(f"failed.{c.AT_MS}").alias(c.FAILED_AT_MS),
            F.coalesce("elected_at_ms", F.col(f"failed.{c.AT_MS}") + GIVEN_UP_MS).alias(
                "elected_at_ms"
            ),
            broker.try_cast("bigint").alias(c.BROKER_ID),
            F.element_at(F.split(f"failed.{c.DETAIL}", ": "), 1).alias(c.LOG_DIR),
        )
    )
