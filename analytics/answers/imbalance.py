"""How unevenly the log dirs of a cluster are used, over time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.inequality import gini, largest_by_mean


def imbalance(facts: DataFrame) -> DataFrame:
    """Input: ``log_dir_facts``. Output: one row per bucket of a run, the earliest first.

    Only log dirs that were online count: what is on the others is no load. ``fullest`` is
    "broker: log dir". A measure without any load is null.
    """
    used, appended = F.col(c.USED_BYTES).cast("double"), F.col(c.APPEND_BYTES_PER_S)
    name = F.concat(F.col(c.BROKER_ID).cast("string"), F.lit(": "), F.col(c.LOG_DIR))
    return (
        facts.where(F.col(c.ONLINE_SHARE) > 0)
        .groupBy(*c.RUN, c.BUCKET, c.BUCKET_MS)
        .agg(
            F.count(F.lit(1)).alias(c.LOG_DIR_COUNT),
            gini(used).alias(c.USED_GINI),
            largest_by_mean(used).alias(c.USED_LARGEST_BY_MEAN),
            gini(appended).alias(c.APPEND_GINI),
            largest_by_mean(appended).alias(c.APPEND_LARGEST_BY_MEAN),
            F.max(F.struct(c.USED_BYTES, name.alias("name"))).getField("name").alias(c.FULLEST),
        )
        .orderBy(*c.RUN, c.BUCKET)
    )
