"""Reads the lines of a dump folder, on any file system that Hadoop knows; parses none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics import columns
from analytics.errors import SPARK_ERRORS, EmptyDump, UnreadableDump, spark_error_text

SETTINGS_FOLDERS: Final = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME")
"""Environment variables: what lies there may give plain paths another file system."""
_MISSING: Final = "it does not exist"


def check_local_folder(dump: str) -> None:
    """Look for a folder of this machine, without Spark; leave all others to ``check_dump``.

    Raises:
        UnreadableDump: ``dump`` is a path on this machine, and nothing is there.
    """
    is_elsewhere = ":" in dump or any(name in os.environ for name in SETTINGS_FOLDERS)
    is_pattern = any(sign in dump for sign in "*?[{\\")
    if is_elsewhere or is_pattern:
        return
    try:
        Path(dump).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableDump(f"cannot read {dump}: {_MISSING}") from error
    except OSError:
        return  # Spark tells what it sees.


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
        return spark.range(0).select(
            F.lit("").alias(columns.LINE),
            F.lit("").alias(columns.FILE),
            F.lit(0).alias(columns.VERSION),
        )
    file = F.col("_metadata.file_path")
    version = F.regexp_extract(file, f"/{table}/v([0-9]+)/", 1).try_cast("int")
    return text.select(
        F.col("value").alias(columns.LINE),
        file.alias(columns.FILE),
        F.coalesce(version, F.lit(0)).alias(columns.VERSION),
    )


def _text(spark: SparkSession, path: str) -> DataFrame:
    # Without a recursive look-up Spark would add a column for each "broker=" folder.
    reader = spark.read.option("recursiveFileLookup", value=True)
    return reader.option("pathGlobFilter", "*.jsonl").text(path)


def _is_missing(error: Exception) -> bool:
    return isinstance(error, AnalysisException) and error.getCondition() == "PATH_NOT_FOUND"
