"""``python -m analytics.follow``: the topic or a dump as a stream, into Parquet, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from pyspark.sql import DataFrame, SparkSession

from analytics.errors import SPARK_ERRORS, AnalyticsError, JobFailed, spark_error_text
from analytics.kafka_connector import connector_jars
from analytics.read import NO_URL, check_local_folder
from analytics.segments import Segments
from analytics.session import SMALL_BYTES_MAX, find_java, start_session, suited_to
from analytics.stream import dump_lines, follow
from analytics.topic import COMMAND_CONFIG, TopicAddress, stream_records, topic_address

SEGMENTS: Final = "_segments"
"""Below the folder of tables: the lines of a dump, as they were taken."""


@click.command()
@click.option("--from", "topic", metavar="kafka://HOST:PORT", help="The topic.")
@click.option("--command-config", metavar="FILE", help=COMMAND_CONFIG)
@click.option("--dump", help="A dump folder of this machine, instead.")
@click.option(
    "--out",
    required=True,
    help="Folder for rows, facts and how far they are; of this machine with --dump.",
)
@click.option("--bucket", help='Write facts in buckets of time, too, such as "10 seconds".')
@click.option("--every", default="2 seconds", show_default=True, help="Between two micro-batches.")
@click.option("--once", is_flag=True, help="Take what is there since the last time, and end.")
@click.option("--master", help="Any Spark master; else spark-submit's, else this machine.")
def main(
    *,
    topic: str | None,
    dump: str | None,
    out: str,
    bucket: str | None,
    master: str | None,
    command_config: str | None,
    **pace: Any,
) -> None:
    """Follow metric rows: each one is in Parquet exactly once, whatever breaks meanwhile."""
    if (dump is None) == (topic is None):
        raise click.UsageError("give --from kafka://HOST:PORT or --dump FOLDER")
    if dump is not None and "://" in dump:
        raise click.UsageError(NO_URL.format(dump))
    interval = None if pace["once"] else pace["every"]
    try:
        find_java()
        address = None if topic is None else topic_address(topic, command_config)
        if dump is not None:
            check_local_folder(dump)
        jars = () if address is None else connector_jars()
        spark = start_session(master, jars=jars)
        try:
            lines, meanwhile = _opened(spark, address, dump or "", out)
            # Of 200 tasks, Spark's own number, each keeps a state for each fact.
            with suited_to(spark, SMALL_BYTES_MAX + 1):
                follow(spark, lines, out.rstrip("/"), bucket, interval, meanwhile)
        except SPARK_ERRORS as error:
            raise JobFailed(spark_error_text(error)) from error
        finally:
            spark.stop()
    except AnalyticsError as error:
        click.echo(f"analytics: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _opened(
    spark: SparkSession, address: TopicAddress | None, dump: str, out: str
) -> tuple[DataFrame, Callable[[], object]]:
    """Return a stream of lines, and what has to be called again and again to have more of them."""
    if address is not None:
        return stream_records(spark, address), _nothing
    segments = Segments(Path(dump), Path(out, SEGMENTS))
    while segments.take():  # So much is there already.
        pass
    return dump_lines(spark, f"{out}/{SEGMENTS}"), segments.take


def _nothing() -> None:
    """Spark asks the topic itself."""


if __name__ == "__main__":
    main()
