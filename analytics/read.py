"""Reads the lines of a dump folder, on any file system that Hadoop knows; parses none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics import columns
from analytics.errors import SPARK_ERRORS, EmptyDump, UnreadableDump, spark_error_text

SETTINGS_FOLDERS: Final = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME")
"""Environment variables: what lies there may give plain paths another file system."""
NO_URL: Final = "{} is no folder of this machine, and only such a dump is followed: give a path"
_FILES: Final = "*.jsonl"
_MISSING: Final = "it does not exist"


class DumpFile(NamedTuple):
    """A file of a dump, as it is now."""

    path: str
    size_bytes: int
    modified_ms: int


def is_of_this_machine(place: str) -> bool:
    """Tell whether Hadoop, too, would read this path on this machine, and as one path."""
    is_elsewhere = ":" in place or any(name in os.environ for name in SETTINGS_FOLDERS)
    return not is_elsewhere and not any(sign in place for sign in "*?[{\\")


def check_local_folder(dump: str) -> int | None:
    """Look for a folder of this machine, without Spark; leave all others to ``check_dump``.

    Returns:
        The bytes of its files; None when it is not known to be of this machine.

    Raises:
        UnreadableDump: ``dump`` is a path on this machine, and nothing is there.
    """
    if not is_of_this_machine(dump):
        return None
    try:
        Path(dump).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableDump(f"cannot read {dump}: {_MISSING}") from error
    except OSError:
        return None  # Spark tells what it sees.
    with suppress(OSError):  # Files may vanish meanwhile.
        return sum(path.stat().st_size for path in Path(dump).rglob(_FILES))
    return None


def check_dump(spark: SparkSession, dump: str) -> int | None:
    """Return the bytes there are to read, None when not all are on this machine; opens no file.

    Raises:
        EmptyDump: there is no ``*.jsonl`` file below ``dump``.
        UnreadableDump: ``dump`` cannot be listed.
    """
    try:
        names = _text(spark, dump).inputFiles()
    except SPARK_ERRORS as error:
        reason = _MISSING if _is_missing(error) else spark_error_text(error)
        raise UnreadableDump(f"cannot read {dump}: {reason}") from error
    if not names:
        raise EmptyDump(f"no metric rows below {dump}: is it the cluster's metrics.dump_dir?")
    paths = [Path(unquote(urlsplit(name).path)) for name in names if name.startswith("file:")]
    return sum(path.stat().st_size for path in paths) if len(paths) == len(names) else None


def read_lines(spark: SparkSession, dump: str, table: str) -> DataFrame:
    """Output: line, file, version (of its table). No line when the dump has no such table."""
    try:
        text = _text(spark, f"{dump.rstrip('/')}/{table}/v*")
    except AnalysisException as error:
        if not _is_missing(error):
            raise
        return _no_lines(spark)
    return _lines(text, table)


def read_files(spark: SparkSession, paths: Sequence[str], table: str) -> DataFrame:
    """Output: as ``read_lines``, of these files of a dump, which are of ``table``."""
    return _lines(_text(spark, *paths), table) if paths else _no_lines(spark)


def list_files(spark: SparkSession, dump: str) -> dict[str, DumpFile]:
    """Return what ``dump`` has, by the ``file`` that its lines would have; opens no file."""
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", value=True)
    found = reader.option("pathGlobFilter", _FILES).load(dump)
    modified = F.unix_millis("_metadata.file_modification_time")
    listed = found.select("_metadata.file_path", "path", "_metadata.file_size", modified)
    return {row[0]: DumpFile(row[1], row[2], row[3]) for row in sorted(listed.collect())}


def count_lines(spark: SparkSession, paths: Sequence[str]) -> dict[str, int]:
    """Return how many lines files have, by ``file``; files without any are left out."""
    if not paths:
        return {}
    counted = _text(spark, *paths).groupBy("_metadata.file_path").count()
    return dict(counted.collect())


def _no_lines(spark: SparkSession) -> DataFrame:
    return spark.range(0).select(
        F.lit("").alias(columns.LINE),
        F.lit("").alias(columns.FILE),
        F.lit(0).alias(columns.VERSION),
    )


def _lines(text: DataFrame, table: str) -> DataFrame:
    file = F.col("_metadata.file_path")
    return text.select(
        F.col("value").alias(columns.LINE),
        file.alias(columns.FILE),
        _version(F.regexp_extract(file, f"/{table}/v([0-9]+)/", 1)),
    )


def _version(digits: Column) -> Column:
    return F.coalesce(digits.try_cast("int"), F.lit(0)).alias(columns.VERSION)


def _text(spark: SparkSession, *paths: str) -> DataFrame:
    # Without a recursive look-up Spark would add a column for each "broker=" folder.
    reader = spark.read.option("recursiveFileLookup", value=True)
    return reader.option("pathGlobFilter", _FILES).text(list(paths))


def _is_missing(error: Exception) -> bool:
    return isinstance(error, AnalysisException) and error.getCondition() == "PATH_NOT_FOUND"
