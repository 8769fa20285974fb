from pyspark.sql import SparkSession

from analytics.transforms.quarantine import malformed_counts
from tests.analytics.frames import made, picked


def test_malformed_lines_are_counted_by_table_and_reason(spark: SparkSession) -> None:
    lines = [("b", "f", "1", "x"), ("a", "f", "2", "y"), ("b", "g", "3", "x"), ("b", "f", "4", "w")]
    frame = made(spark, lines, "table string, file string, line string, reason string")
    found = malformed_counts(frame)
    assert picked(found, *found.columns) == [("a", "y", 1), ("b", "w", 1), ("b", "x", 2)]
