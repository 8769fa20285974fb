"""Writes tables beside those of the last run and then puts them in their place. It computes none.

A reader of a table sees the old one or the new one, and whoever ends in between loses neither.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from analytics import columns as c

_WRITING: Final = "_writing-"
_HOST: Final = socket.gethostname()
PARTITIONED_BY: Final = (c.RUN_ID, c.DAY)
"""Of rows and facts: the run, and the day in UTC."""


class Tables:
    """The tables below one folder. Write all, then ``publish``; or ``discard``."""

    def __init__(self, spark: SparkSession, out: str, *, in_one_task: bool = False) -> None:
        """Remember where to write.

        Args:
            spark: what writes.
            out: folder on any file system that Hadoop knows.
            in_one_task: whether each table is so small that one task makes it: it is one partition
                then, kept in memory, and whatever comes from it needs no shuffle and no file.
        """
        self._spark = spark
        self.in_one_task = in_one_task
        # Asked for by its whole name: Java looks for "org" alone in each of Spark's packages.
        context: Any = spark.sparkContext
        self._path = getattr(context._jvm, "org.apache.hadoop.fs.Path")  # noqa: SLF001
        self._out = out
        self._beside = f"{out}/{_WRITING}{_HOST}.{os.getpid()}.{uuid4().hex[:8]}"
        self._written: dict[str, StructType] = {}
        self._kept: dict[str, DataFrame] = {}
        self._files: list[str] = []

    def forget_killed(self) -> None:
        """Remove what runs of this machine left that were killed; those that run are left alone."""
        files, out = self._file_system(), self._path(self._out)
        if not files.exists(out):
            return
        for status in files.listStatus(out):
            name = status.getPath().getName()
            if _is_of_the_dead(name):
                self._delete(f"{self._out}/{name}")

    def write_rows(self, name: str, rows: DataFrame) -> DataFrame:
        """Write metric rows, by run and day; return them as they are read from there.

        They may be observed.
        """
        at = F.timestamp_millis(c.AT_MS)
        return self.write_by_day(name, rows, at, is_counted=True)

    def write_by_day(
        self, name: str, rows: DataFrame, at: Column, *, is_counted: bool = False
    ) -> DataFrame:
        """Do as ``write_rows`` with rows of any kind; ``at`` is a timestamp.

        ``is_counted``: an observation of ``rows`` is waited for.
        """
        dated = rows.withColumn(c.DAY, F.date_format(at, "yyyy-MM-dd"))
        dated = self._kept_or_same(name, self.gathered(dated), is_counted=is_counted)
        writer = dated.write.partitionBy(*PARTITIONED_BY).option("compression", "snappy")
        writer.parquet(self._begin(name, dated))
        return self.stored(name).select(*rows.columns)

    def write(self, name: str, table: DataFrame) -> None:
        """Write a result as one file, in its order."""
        one = self._kept_or_same(name, table.coalesce(1))
        one.write.parquet(self._begin(name, one))

    def write_text(self, name: str, text: str) -> None:
        """Write one file of text, in the place of the last run's when tables are published."""
        stream = self._file_system().create(self._path(f"{self._beside}/{name}"))
        stream.write(bytearray(text, "utf-8"))
        stream.close()
        self._files.append(name)

    def write_many(self, name: str, table: DataFrame) -> None:
        """Write a table as a file of each task that makes it."""
        table.write.parquet(self._begin(name, table))

    def forget(self, name: str) -> None:
        """Take back a table that was written, to write it anew."""
        del self._written[name]
        self._kept.pop(name, None)
        self._delete(f"{self._beside}/{name}")

    def stored(self, name: str) -> DataFrame:
        """Return a table that was written and is not published yet, without a look at its files."""
        if name in self._kept:
            return self._kept[name]
        stored = self._spark.read.schema(self._written[name]).parquet(f"{self._beside}/{name}")
        return self.gathered(stored)

    def gathered(self, rows: DataFrame) -> DataFrame:
        """Return ``rows`` in one partition if tables are small, else as they are."""
        return rows.coalesce(1) if self.in_one_task else rows

    def has(self, name: str) -> bool:
        """Tell whether a table was written."""
        return name in self._written

    def publish(self, names: Iterable[str] = ()) -> None:
        """Put every written table in the place of the last run's; of ``names`` no old one stays."""
        for name in names:
            if not self.has(name) and name not in self._files:
                self._delete(f"{self._out}/{name}")
        for name in (*self._written, *self._files):
            self._swap(name)
        self.discard()

    def discard(self) -> None:
        """Remove what was written and not published."""
        self._delete(self._beside)

    def _kept_or_same(self, name: str, table: DataFrame, *, is_counted: bool = False) -> DataFrame:
        """Return a small table such that its rows are kept: to read them from a file takes longer.

        The job that writes it computes it. One whose rows are counted on the way (an observation)
        is computed at once, by a job of its own: else counts were told before there are any.
        """
        if not self.in_one_task:
            return table
        self._kept[name] = table.localCheckpoint(eager=is_counted)
        return self._kept[name]

    def _begin(self, name: str, table: DataFrame) -> str:
        self._written[name] = table.schema
        return f"{self._beside}/{name}"

    def _swap(self, name: str) -> None:
        place, old = f"{self._out}/{name}", f"{self._beside}/_old/{name}"
        files, path = self._file_system(), self._path
        if files.exists(path(place)):
            files.mkdirs(path(old).getParent())
            files.rename(path(place), path(old))
        files.mkdirs(path(place).getParent())
        files.rename(path(f"{self._beside}/{name}"), path(place))

    def _delete(self, folder: str) -> None:
        self._file_system().delete(self._path(folder), True)  # noqa: FBT003 - Java

    def _file_system(self) -> Any:
        configuration = self._spark.sparkContext._jsc.hadoopConfiguration()  # pyright: ignore  # noqa: SLF001
        return self._path(self._out).getFileSystem(configuration)


def _is_of_the_dead(name: str) -> bool:
    """Tell whether a folder is one that a process of this machine wrote, which has ended."""
    host, _, number = name.removeprefix(_WRITING).rpartition(".")[0].rpartition(".")
    if not name.startswith(_WRITING) or host != _HOST or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # Of another user.
    return False


def collected(frames: Mapping[str, DataFrame], rows_max: int) -> dict[str, list[dict[str, Any]]]:
    """Return up to ``rows_max`` rows of each table, in their order, by one Spark job."""
    as_json = [
        frame.limit(rows_max).select(
            F.lit(name).alias("name"),
            F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"),
        )
        for name, frame in frames.items()
    ]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in frames}
    # What a driver holds, one task can read. One after the other: neither Java nor Python holds all
    # lines beside what is made of them.
    for each in reduce(DataFrame.unionAll, as_json).coalesce(1).toLocalIterator():
        found[each["name"]].append(json.loads(each["row"], object_pairs_hook=_row))
    return found


def _row(columns: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a row whose names of columns are those of all others, in memory, too."""
    return {sys.intern(name): value for name, value in columns}
