"""How many lines of each table were set aside, and why."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c


def malformed_counts(lines: DataFrame) -> DataFrame:
    """Input: ``malformed_lines``. Output: table, reason, malformed_count, ordered by both."""
    return (
        lines.groupBy(c.TABLE, c.REASON)
        .agg(F.count(F.lit(1)).alias(c.MALFORMED_COUNT))
        .select(c.TABLE, c.REASON, c.MALFORMED_COUNT)
        .orderBy(c.TABLE, c.REASON)
    )
