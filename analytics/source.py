"""Opens what a report is made of: a dump folder, or the metrics topic; parses no line."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.errors import SPARK_ERRORS, EmptyDump, UnreadableDump, spark_error_text
from analytics.read import check_dump, read_lines
from analytics.topic import SCHEME, TO_TOPIC, batch_records, topic_address


class Source(NamedTuple):
    """Lines of metric rows that do not change while they are read."""

    size_bytes: int | None
    """How much there is to read; None where that is not known."""
    lines_of: Callable[[str], DataFrame]
    """Returns a table's line, file, version."""


@contextmanager
def opened(spark: SparkSession, place: str, command_config: str | None = None) -> Generator[Source]:
    """Give what lies in ``place``: a dump folder, or the topic of a ``kafka://`` address.

    ``command_config`` is a properties file with what a secured cluster asks for.

    Raises:
        EmptyDump: there is no line to read.
        UnreadableDump: ``place`` cannot be read.
    """
    if not place.startswith(SCHEME):
        yield Source(check_dump(spark, place), partial(read_lines, spark, place))
        return
    # Kept, so that tables that are read twice cost the cluster one read.
    lines = _records(spark, place, command_config).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield Source(_size_bytes(lines, place), partial(_lines_of, lines))
    finally:
        lines.unpersist()


def _lines_of(lines: DataFrame, table: str) -> DataFrame:
    return lines.where(F.col(c.TABLE) == table).select(c.LINE, c.FILE, c.VERSION)


def _records(spark: SparkSession, place: str, command_config: str | None) -> DataFrame:
    address = topic_address(place, command_config)
    try:
        return batch_records(spark, address)
    except SPARK_ERRORS as error:
        raise UnreadableDump(f"cannot read {place}: {spark_error_text(error)}") from error


def _size_bytes(lines: DataFrame, place: str) -> int:
    try:
        [found] = lines.agg(F.sum(F.octet_length(c.LINE)).alias("size")).collect()
    except SPARK_ERRORS as error:
        raise UnreadableDump(f"cannot read {place}: {spark_error_text(error)}") from error
    if found["size"] is None:
        raise EmptyDump(f"no metric rows in {place}: {TO_TOPIC}")
    return found["size"]
