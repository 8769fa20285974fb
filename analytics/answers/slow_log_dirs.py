"""The disk that is slow among its siblings, and for how long that was seen before it failed.

Source: Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993): the modified z-score, of
the median and the median absolute deviation, of which more than 3.5 is an outlier.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.failed_log_dirs import failed_log_dirs

SLOW_Z_MIN: Final = 3.5
LOG_DIRS_MIN: Final = 3
"""Among fewer there is no telling which one is odd."""
_MAD_OF_NORMAL: Final = 0.6745
"""The median absolute deviation of a normal distribution of deviation 1."""
_DEVIATION_MIN: Final = 0.0953
"""ln(1.1): log dirs that differ by less than a tenth are alike, whatever the others do."""
_KEY: Final = [*c.RUN, c.BROKER_ID, c.LOG_DIR, c.OPERATION]


def slowness(facts: DataFrame) -> DataFrame:
    """Input: ``latency_facts``. Output: a row per bucket, log dir and operation (append, sync).

    ``z_score`` is the modified z-score of the logarithm of ``mean_us`` among all log dirs of the
    cluster that did the same in the same bucket; ``siblings_us`` is their median.
    """
    siblings = Window.partitionBy(*c.RUN, c.BUCKET, c.OPERATION)
    took = F.log(F.greatest(F.col(c.MEAN_US), F.lit(1.0)))
    deviation = F.greatest(F.col("mad") / _MAD_OF_NORMAL, F.lit(_DEVIATION_MIN))
    return (
        facts.where((F.col(c.SCOPE) == "log_dir") & F.col(c.OPERATION).isin("append", "sync"))
        .withColumn("took", took)
        .withColumn("median", F.median("took").over(siblings))
        .withColumn("mad", F.median(F.abs(F.col("took") - F.col("median"))).over(siblings))
        .withColumn("log_dirs", F.count(F.lit(1)).over(siblings))
        .where(F.col("log_dirs") >= LOG_DIRS_MIN)
        .select(
            c.BUCKET,
            c.BUCKET_MS,
            *c.RUN,
            c.BROKER_ID,
            F.col(c.NAME).alias(c.LOG_DIR),
            c.OPERATION,
            c.SAMPLE_COUNT,
            c.MEAN_US,
            F.exp("median").alias(c.SIBLINGS_US),
            ((F.col("took") - F.col("median")) / deviation).alias(c.Z_SCORE),
        )
    )


def slow_log_dirs(scores: DataFrame, failovers: DataFrame) -> DataFrame:
    """Input: ``slowness``, ``failovers``. Output: a row per log dir and operation, slowest first.

    ``first_slow_ms`` is the begin of the first bucket above ``SLOW_Z_MIN`` (null: never), and
    ``warning_ms`` how long before the log dir's first failure that was. Buckets that end after the
    failure do not count.
    """
    failed = _first_failures(failovers)
    began = F.unix_millis(c.BUCKET)
    is_before = F.col(c.FAILED_AT_MS).isNull() | (
        began + F.col(c.BUCKET_MS) <= F.col(c.FAILED_AT_MS)
    )
    is_slow = F.col(c.Z_SCORE) > SLOW_Z_MIN
    weighed = F.sum(F.col(c.MEAN_US) * F.col(c.SAMPLE_COUNT)) / F.sum(c.SAMPLE_COUNT)
    return (
        scores.join(F.broadcast(failed), on=[*c.RUN, c.BROKER_ID, c.LOG_DIR], how="left")
        .where(is_before)
        .groupBy(*_KEY)
        .agg(
            F.count(F.lit(1)).alias(c.BUCKET_COUNT),
            F.count_if(is_slow).alias(c.SLOW_BUCKET_COUNT),
            weighed.alias(c.MEAN_US),
            F.avg(c.SIBLINGS_US).alias(c.SIBLINGS_US),
            F.max(c.Z_SCORE).alias(c.Z_SCORE_MAX),
            F.min(F.when(is_slow, began)).alias(c.FIRST_SLOW_MS),
            F.max(c.FAILED_AT_MS).alias(c.FAILED_AT_MS),
        )
        .withColumn(c.WARNING_MS, F.col(c.FAILED_AT_MS) - F.col(c.FIRST_SLOW_MS))
        .orderBy(*c.RUN, F.desc(c.Z_SCORE_MAX), *_KEY)
    )


def _first_failures(failovers: DataFrame) -> DataFrame:
    first = F.min(c.FAILED_AT_MS).alias(c.FAILED_AT_MS)
    return failed_log_dirs(failovers).groupBy(*c.RUN, c.BROKER_ID, c.LOG_DIR).agg(first)
