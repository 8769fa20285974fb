"""``python -m analytics.follow``: the metrics topic as a stream, into Parquet, until Ctrl-C."""

from __future__ import annotations

import sys

import click

from analytics.errors import SPARK_ERRORS, AnalyticsError, JobFailed, spark_error_text
from analytics.kafka_connector import connector_jars
from analytics.session import find_java, start_session
from analytics.stream import follow
from analytics.topic import stream_records, topic_address


@click.command()
@click.option("--from", "source", required=True, metavar="kafka://HOST:PORT", help="The topic.")
@click.option("--out", required=True, help="Folder for rows, facts and how far they are.")
@click.option("--bucket", help='Write facts in buckets of time, too, such as "10 seconds".')
@click.option("--every", default="2 seconds", show_default=True, help="Between two micro-batches.")
@click.option("--once", is_flag=True, help="Take what is there since the last time, and end.")
@click.option("--master", help="Any Spark master; else spark-submit's, else this machine.")
def main(
    *, source: str, out: str, bucket: str | None, every: str, once: bool, master: str | None
) -> None:
    """Follow the metrics topic: each row is in Parquet exactly once, whatever breaks meanwhile."""
    try:
        find_java()
        address = topic_address(source)
        spark = start_session(master, jars=connector_jars())
        try:
            lines = stream_records(spark, address)
            follow(spark, lines, out.rstrip("/"), bucket, None if once else every)
        except SPARK_ERRORS as error:
            raise JobFailed(spark_error_text(error)) from error
        finally:
            spark.stop()
    except AnalyticsError as error:
        click.echo(f"analytics: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
