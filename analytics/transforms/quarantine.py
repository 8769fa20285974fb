"""How many lines of each table were set aside, and why."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import schema as s


def malformed_counts(lines: DataFrame) -> DataFrame:
    """Input: ``malformed_lines``. Output: table, reason, malformed_count, ordered by both."""
    return (
        lines.groupBy(s.TABLE, s.REASON)
        .agg(F.count(F.lit(1)).alias(s.MALFORMED_COUNT))
        .select(s.TABLE, s.REASON, s.MALFORMED_COUNT)
        .orderBy(s.TABLE, s.REASON)
    )
