"""The whole job: dump folder in, Parquet tables and a report out. It prints nothing.

Below ``out``: ``rows/<table>`` (the good rows as they were), ``quarantine`` (the others), and one
folder per result table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics.clean import good_rows, malformed_lines
from analytics.columns import TABLE
from analytics.read import check_dump, read_lines
from analytics.report import Report, RowDict
from analytics.schema import TABLE_SCHEMAS
from analytics.transforms.failovers import failover_steps, failovers
from analytics.transforms.log_dirs import log_dirs
from analytics.transforms.moves import moves
from analytics.transforms.partitions import partition_rates
from analytics.transforms.quarantine import malformed_counts
from analytics.transforms.requests import requests

QUARANTINE: Final = "quarantine"


def run_job(spark: SparkSession, dump: str, out: str) -> Report:
    """Read ``dump``, replace the tables below ``out`` and return what they say.

    Raises:
        EmptyDump: there is no line to read; ``out`` is untouched.
        UnreadableDump: ``dump`` cannot be read; ``out`` is untouched.
    """
    check_dump(spark, dump)
    lines = {table: read_lines(spark, dump, table) for table in TABLE_SCHEMAS}
    rows = {
        table: _stored(good_rows(lines[table], TABLE_SCHEMAS[table]), f"{out}/rows/{table}")
        for table in TABLE_SCHEMAS
    }
    malformed = [malformed_lines(lines[table], TABLE_SCHEMAS[table], table) for table in lines]
    quarantine = _stored(reduce(DataFrame.unionByName, malformed), f"{out}/{QUARANTINE}")
    steps = failover_steps(rows["failover_event"])
    return Report(
        dump=dump,
        out=out,
        row_counts=_row_counts(rows),
        log_dirs=_result(log_dirs(rows["log_dir"], rows["replica"]), f"{out}/log_dirs"),
        failover_steps=_result(steps, f"{out}/failover_steps"),
        failovers=_result(failovers(steps), f"{out}/failovers"),
        moves=_result(moves(rows["move_progress"]), f"{out}/moves"),
        partitions=_result(partition_rates(rows["replica"]), f"{out}/partitions"),
        requests=_result(requests(rows["request"]), f"{out}/requests"),
        malformed=_result(malformed_counts(quarantine), f"{out}/malformed"),
    )


def _row_counts(rows: dict[str, DataFrame]) -> dict[str, int]:
    """Count all tables in one Spark job, which is most of what a count costs."""
    counted = [
        frame.agg(F.lit(table).alias(TABLE), F.count(F.lit(1)).alias("count"))
        for table, frame in rows.items()
    ]
    return {row[TABLE]: row["count"] for row in reduce(DataFrame.unionByName, counted).collect()}


def _stored(frame: DataFrame, path: str) -> DataFrame:
    """Write ``frame`` and go on from the file, so that no line is parsed twice."""
    frame.write.mode("overwrite").parquet(path)
    return frame.sparkSession.read.schema(frame.schema).parquet(path)


def _result(frame: DataFrame, path: str) -> Sequence[RowDict]:
    """Write a result, which is small, as one file, and return its rows; both in its order."""
    rows = frame.collect()
    # PySpark's overloads name a type that the checker cannot know.
    stored = frame.sparkSession.createDataFrame(rows, frame.schema)  # pyright: ignore[reportUnknownMemberType]
    stored.coalesce(1).write.mode("overwrite").parquet(path)
    return [row.asDict() for row in rows]
