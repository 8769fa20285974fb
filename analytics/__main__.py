"""``python -m analytics``: one dump folder in, tables and a report out."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from analytics.class_archive import archive_of, keep_archive
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
from analytics.job import Wanted, run_job
from analytics.live import WINDOW_BYTES_MAX, LivePage, Tables, follow
from analytics.read import check_local_folder
from analytics.report import Report, lines_of, print_findings, print_report
from analytics.session import find_java, start_session
from analytics.tail import Tail

LOOK_EVERY_S: Final = 0.5


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
@click.option("--out", required=True, help="Folder for tables and pictures; replaced if there.")
@click.option("--master", help="Any Spark master; else spark-submit's, else this machine.")
@click.option("--bucket", help='Write all facts in such buckets of time, such as "10 seconds".')
@click.option("--plan", help="Score a plan of kafka-reassign-partitions (JSON) before and after.")
@click.option("--live", "form", flag_value="live", help="Follow a dump of this machine, to Ctrl-C.")
@click.option("--tables", "form", flag_value="tables", help="Print every table, not ten lines.")
@click.option("--json", "form", flag_value="json", help="Print the report as one JSON object.")
@click.option("--plain", "is_plain", is_flag=True, help="No facts, answers and pictures: quicker.")
@click.option("--archive/--no-archive", default=True, help="Keep Java's classes for next time.")
def main(
    *,
    dump: str,
    out: str,
    master: str | None,
    form: str | None,
    archive: bool,
    **wanted: Any,
) -> None:
    """Turn a cluster's metric rows into Parquet tables, pictures and a readable report."""
    try:
        java = find_java()
        check_local_folder(dump)  # Spark would say so seconds later.
        if form == "live":
            _follow(dump, out, master)
            return
        report = _run(dump, out, master, Wanted(**wanted), makes_archive=archive)
    except AnalyticsError as error:
        click.echo(f"analytics: {error}", err=True)
        sys.exit(_EXIT_CODES[type(error)])
    _print(report, form)
    if archive:
        sys.stdout.flush()
        keep_archive(archive_of(java))


def _run(dump: str, out: str, master: str | None, wanted: Wanted, *, makes_archive: bool) -> Report:
    spark = start_session(master, makes_archive=makes_archive)
    try:
        return run_job(spark, dump, out.rstrip("/"), wanted)
    except SPARK_ERRORS as error:
        raise JobFailed(spark_error_text(error)) from error
    finally:
        spark.stop()


def _follow(dump: str, out: str, master: str | None) -> None:
    """Print the lines that matter whenever there is something new, until Ctrl-C."""
    console = _console(80)
    page = LivePage(Path(out))
    tail = Tail(Path(dump), Path(out) / "_live", WINDOW_BYTES_MAX)
    console.print(f"pictures: {page.path}, as they change; Ctrl-C ends", soft_wrap=True)

    def show(tables: Tables) -> None:
        page.write(tables)
        if console.is_terminal:
            console.clear()
        for line in lines_of(tables):
            console.print(line, markup=False, highlight=False)
        console.print(f"pictures: {page.path}; Ctrl-C ends", soft_wrap=True)

    spark = start_session(master)
    try:
        follow(spark, tail, show, _slept)
    except KeyboardInterrupt:
        pass
    except SPARK_ERRORS as error:
        raise JobFailed(spark_error_text(error)) from error
    finally:
        tail.close()
        spark.stop()


def _slept() -> bool:
    time.sleep(LOOK_EVERY_S)
    return True


def _print(report: Report, form: str | None) -> None:
    if form == "json":
        click.echo(json.dumps(dataclasses.asdict(report), indent=2))
    elif form == "tables":
        # A pipe or a file has no width; the tables are made for a wide terminal.
        print_report(report, _console(160))
    else:
        print_findings(report, _console(80))


def _console(width: int) -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=width)


if __name__ == "__main__":
    main()
