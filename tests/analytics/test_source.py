"""What a report is made of; the topic itself is in tests/integration/test_metrics_topic.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.errors import EmptyDump, UnreadableDump
from analytics.source import opened
from tests.analytics.frames import picked, write_line


def test_a_folder_gives_the_lines_of_a_table_and_how_much_there_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_line(tmp_path, "replica", "one")
    with opened(spark, str(tmp_path)) as source:
        assert picked(source.lines_of("replica"), "line") == [("one",)]
        assert source.size_bytes == len("one\n")


def test_a_folder_without_rows_is_not_opened(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(EmptyDump, match="no metric rows below"), opened(spark, str(tmp_path)):
        pass


def test_an_address_that_names_no_topic_is_not_opened(spark: SparkSession) -> None:
    with pytest.raises(UnreadableDump, match="names no topic"), opened(spark, "kafka://host"):
        pass
