"""``python -m analytics``: one dump folder in, tables and a report out."""

from __future__ import annotations

import dataclasses
import json
import sys
from enum import IntEnum
from typing import Final

import click
from rich.console import Console

from analytics.errors import (
    SPARK_ERRORS,
    AnalyticsError,
    EmptyDump,
    JavaMissing,
    JobFailed,
    SparkFailed,
    UnreadableDump,
    spark_error_text,
)
from analytics.job import run_job
from analytics.read import check_local_folder
from analytics.report import Report, print_report
from analytics.session import find_java, start_session


class ExitCode(IntEnum):
    """What the shell sees; 2 is click's for wrong options."""

    OK = 0
    FAILED = 1
    JAVA_MISSING = 3
    EMPTY_DUMP = 4
    UNREADABLE_DUMP = 5
    SPARK_FAILED = 6


_EXIT_CODES: Final[dict[type[AnalyticsError], ExitCode]] = {
    JobFailed: ExitCode.FAILED,
    JavaMissing: ExitCode.JAVA_MISSING,
    EmptyDump: ExitCode.EMPTY_DUMP,
    UnreadableDump: ExitCode.UNREADABLE_DUMP,
    SparkFailed: ExitCode.SPARK_FAILED,
}


@click.command()
@click.option("--dump", required=True, help="Folder of metric rows: a path or any Hadoop URL.")
@click.option("--out", required=True, help="Folder for the Parquet tables; replaced if there.")
@click.option("--master", help="Any Spark master; else spark-submit's, else this machine.")
@click.option("--bucket", help='Write facts in buckets of time, too, such as "10 seconds".')
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def main(*, dump: str, out: str, master: str | None, bucket: str | None, as_json: bool) -> None:
    """Turn a cluster's metric rows into Parquet tables and a readable report."""
    try:
        find_java()
        check_local_folder(dump)  # Spark would say so seconds later.
        report = _run(dump, out, master, bucket)
    except AnalyticsError as error:
        click.echo(f"analytics: {error}", err=True)
        sys.exit(_EXIT_CODES[type(error)])
    _print(report, as_json=as_json)


def _run(dump: str, out: str, master: str | None, bucket: str | None) -> Report:
    spark = start_session(master)
    try:
        return run_job(spark, dump, out.rstrip("/"), bucket)
    except SPARK_ERRORS as error:
        raise JobFailed(spark_error_text(error)) from error
    finally:
        spark.stop()


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(report), indent=2))
    else:
        console = Console()
        # A pipe or a file has no width; the tables are made for a wide terminal.
        print_report(report, console if console.is_terminal else Console(width=160))


if __name__ == "__main__":
    main()
