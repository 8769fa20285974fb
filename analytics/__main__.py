"""``python -m analytics``: a dump folder or the metrics topic in, tables and a report out."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import click
from pyspark import SparkContext
from pyspark.sql import SparkSession
from rich.console import Console

from analytics.chosen import Chosen
from analytics.class_archive import archive_of, keep_archive
from analytics.errors import (
    SPARK_ERRORS,
    AnalyticsError,
    BadPlan,
    ConnectorMissing,
    EmptyDump,
    JavaMissing,
    JobFailed,
    SparkFailed,
    UnknownRun,
    UnreadableDump,
    spark_error_text,
)
from analytics.job import Wanted, run_job
from analytics.kafka_connector import connector_jars
from analytics.live import WINDOW_BYTES_MAX, LivePage, Tables, follow
from analytics.plan_file import check_local_plan
from analytics.read import NO_URL, check_local_folder
from analytics.report import Report, lines_of, print_findings, print_report
from analytics.session import SMALL_BYTES_MAX, find_java, start_session
from analytics.tail import Tail
from analytics.topic import COMMAND_CONFIG, topic_address

LOOK_EVERY_S: Final = 0.5


class ExitCode(IntEnum):
    """What the shell sees; 2 is click's for wrong options."""

    OK = 0
    FAILED = 1
    JAVA_MISSING = 3
    EMPTY_DUMP = 4
    UNREADABLE_DUMP = 5
    SPARK_FAILED = 6
    CONNECTOR_MISSING = 7
    BAD_PLAN = 8
    UNKNOWN_RUN = 9


_EXIT_CODES: Final[dict[type[AnalyticsError], ExitCode]] = {
    JobFailed: ExitCode.FAILED,
    JavaMissing: ExitCode.JAVA_MISSING,
    EmptyDump: ExitCode.EMPTY_DUMP,
    UnreadableDump: ExitCode.UNREADABLE_DUMP,
    SparkFailed: ExitCode.SPARK_FAILED,
    ConnectorMissing: ExitCode.CONNECTOR_MISSING,
    BadPlan: ExitCode.BAD_PLAN,
    UnknownRun: ExitCode.UNKNOWN_RUN,
}


@click.command()
@click.option("--dump", help="Folder of metric rows: a path or any Hadoop URL.")
@click.option("--from", "topic", metavar="kafka://HOST:PORT", help="The topic, instead of --dump.")
@click.option("--command-config", metavar="FILE", help=COMMAND_CONFIG)
@click.option("--out", required=True, help="Folder for tables and pictures; replaced if there.")
@click.option("--master", help="Any Spark master; else spark-submit's, else this machine.")
@click.option("--bucket", help='Write all facts in such buckets of time, such as "10 seconds".')
@click.option("--plan", help="Score a plan of kafka-reassign-partitions (JSON) before and after.")
@click.option("--run", metavar="RUN", help="The run that is shown; else the latest one.")
@click.option("--against", metavar="RUN", help="Compare with this run; else with the one before.")
@click.option("--live", "form", flag_value="live", help="Follow a dump of this machine, to Ctrl-C.")
@click.option("--tables", "form", flag_value="tables", help="Print every table: 40 lines of each.")
@click.option("--json", "form", flag_value="json", help="Print the report as one JSON object.")
@click.option("--plain", "is_plain", is_flag=True, help="No facts, answers and pictures: quicker.")
@click.option("--new", "is_only_new", is_flag=True, help="Read only files new since last time.")
@click.option("--archive/--no-archive", default=True, help="Keep Java's classes for next time.")
def main(
    *,
    dump: str | None,
    topic: str | None,
    out: str,
    master: str | None,
    form: str | None,
    archive: bool,
    **wanted: Any,
) -> None:
    """Turn a cluster's metric rows into Parquet tables, pictures and a readable report."""
    wanted["chosen"] = Chosen(wanted.pop("run"), wanted.pop("against"))
    place = dump or topic or ""
    _check_usage(dump, topic, form, wanted)
    archive = archive and topic is None  # For the next report of a dump, without the connector.
    try:
        java = find_java()
        if wanted["plan"] is not None:
            check_local_plan(wanted["plan"])
        jars, is_little = _checked(place, is_topic=topic is not None)
        if form == "live":
            _follow(place, out, master)
            return
        spark = start_session(master, is_for_little=is_little, jars=jars, makes_archive=archive)
        report = _run(spark, place, out, Wanted(**wanted))
    except AnalyticsError as error:
        click.echo(f"analytics: {error}", err=True)
        sys.exit(_EXIT_CODES[type(error)])
    _print(report, form)
    if archive:
        sys.stdout.flush()
        gateway: Any = SparkContext._gateway  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        keep_archive(archive_of(java), gateway)


# Any: what click read.
def _check_usage(
    dump: str | None, topic: str | None, form: str | None, wanted: Mapping[str, Any]
) -> None:
    is_live = form == "live"
    if (dump is None) == (topic is None) or (topic is not None and is_live):
        raise click.UsageError("give --dump FOLDER or --from kafka://HOST:PORT; --live only a dump")
    if wanted["is_only_new"] and (topic is not None or is_live):
        raise click.UsageError("--new reads a dump folder: give --dump FOLDER, without --live")
    asked = {"--plan": wanted["plan"], "--run": wanted["chosen"].run}
    asked["--against"] = wanted["chosen"].against
    named = [option for option, value in asked.items() if value is not None]
    if named and (wanted["is_plain"] or is_live):
        words = f"only a whole report has that: give {', '.join(named)} without --plain and --live"
        raise click.UsageError(words)
    if is_live and dump is not None and "://" in dump:
        raise click.UsageError(NO_URL.format(dump))


def _checked(place: str, *, is_topic: bool) -> tuple[list[Path], bool]:
    """Return the jars that reading ``place`` needs, and whether little is to be expected there.

    Spark would say what is wrong seconds later.
    """
    if not is_topic:
        size_bytes = check_local_folder(place)
        return [], size_bytes is not None and size_bytes <= SMALL_BYTES_MAX
    topic_address(place)
    return connector_jars(), True


def _run(spark: SparkSession, place: str, out: str, wanted: Wanted) -> Report:
    try:
        return run_job(spark, place, out.rstrip("/"), wanted)
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
