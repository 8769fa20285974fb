"""What each run of a dump covers: the frame that all its other tables are read in."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c


def runs(log_dirs: DataFrame) -> DataFrame:
    """Input: LogDirRow. Output: one row per run, the latest last.

    ``first_ms`` to ``last_ms`` is what brokers' samples cover.
    """
    return (
        log_dirs.groupBy(*c.RUN)
        .agg(
            F.min(c.AT_MS).alias(c.FIRST_MS),
            F.max(c.AT_MS).alias(c.LAST_MS),
            F.count_distinct(c.BROKER_ID).alias(c.BROKER_COUNT),
            F.count(F.lit(1)).alias(c.ROW_COUNT),
        )
        .select(*c.RUN, c.FIRST_MS, c.LAST_MS, c.BROKER_COUNT, c.ROW_COUNT)
        .orderBy(c.LAST_MS, *c.RUN)
    )
