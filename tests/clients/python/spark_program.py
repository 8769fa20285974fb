"""Spark's own Kafka connector in the report card: BOOTSTRAP PREFIX ITEM... .

librdkafka writes what Spark reads, and reads what Spark wrote.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from analytics.kafka_connector import VERSION, connector_jars
from analytics.session import start_session
from tests.clients.programs import BATCH, SINK, STREAMING
from tests.clients.python.confluent import Confluent
from tests.clients.python.items import Library, take
from tests.clients.python.ledger import Ledger, run, thread

POLL_S = 2.0


def frame(reader: Any, library: Library, topic: str) -> DataFrame:
    """Return a topic from its beginning on; ``reader`` is a batch's or a stream's."""
    options = {"kafka.bootstrap.servers": ",".join(library.bootstrap), "subscribe": topic}
    return reader.format("kafka").options(**options).option("startingOffsets", "earliest").load()


def take_rows(ledger: Ledger, rows: DataFrame) -> None:
    """Hold rows against the ledger, each partition in its order."""
    for row in rows.orderBy("partition", "offset").collect():
        ledger.read(bytes(row["key"]), bytes(row["value"]))


def batch(spark: SparkSession, library: Library, prefix: str) -> str:
    """Read whole topics again and again while they are written, and once at the end."""
    topic, ledger, reads = f"{prefix}-batch", Ledger(), 0
    library.create(topic)
    with library.sending(topic, ledger) as send:
        writing = thread(lambda: ledger.write(topic, send), ledger)
        while writing.is_alive():
            frame(spark.read, library, topic).count()
            reads += 1
            writing.join(POLL_S)
    take_rows(ledger, frame(spark.read, library, topic))
    ledger.judge(exactly=True)
    return f"{ledger.written} records, {reads} reads meanwhile"


def streaming(spark: SparkSession, library: Library, prefix: str) -> str:
    """Stream a topic into Parquet."""
    topic, ledger = f"{prefix}-streaming", Ledger()
    library.create(topic)
    with tempfile.TemporaryDirectory(prefix="jbodlab-spark-") as folder:
        records = frame(spark.readStream, library, topic)
        writer = records.writeStream.format("parquet").option("path", f"{folder}/rows")
        query = writer.option("checkpointLocation", f"{folder}/state").start()
        try:
            with library.sending(topic, ledger) as send:
                ledger.write(topic, send)
            query.processAllAvailable()
        finally:
            query.stop()
        batches = len(list(Path(folder, "state", "commits").glob("[0-9]*")))
        take_rows(ledger, spark.read.parquet(f"{folder}/rows"))
    ledger.judge(exactly=True)
    return f"{ledger.written} records in {batches} micro-batches"


def sink(spark: SparkSession, library: Library, prefix: str) -> str:
    """Stream one topic into another."""
    source, target, ledger = f"{prefix}-from", f"{prefix}-sink", Ledger()
    library.create(source, target)
    with tempfile.TemporaryDirectory(prefix="jbodlab-spark-") as folder:
        records = frame(spark.readStream, library, source).select("key", "value")
        writer = records.writeStream.format("kafka").option("topic", target)
        writer = writer.option("kafka.bootstrap.servers", ",".join(library.bootstrap))
        query = writer.option("checkpointLocation", folder).start()
        try:
            with library.sending(source, ledger) as send:
                ledger.write(target, send)
            query.processAllAvailable()
        finally:
            query.stop()
    with library.reading(ledger, None) as reader:
        reader.assign(target)

        def is_read() -> bool:
            take(reader, ledger)
            return ledger.is_read

        ledger.until("all is read", is_read)
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {ledger.again} of them twice"


def main() -> None:
    """Run the items in one Spark."""
    spark = start_session("local[1]", jars=connector_jars())
    spark.conf.set("spark.sql.shuffle.partitions", "1")

    def made(
        item: Callable[[SparkSession, Library, str], str],
    ) -> Callable[[list[str], str], str]:
        return lambda bootstrap, prefix: item(spark, Confluent(bootstrap), prefix)

    try:
        run(
            f"{VERSION} on Spark {spark.version}",
            {BATCH: made(batch), STREAMING: made(streaming), SINK: made(sink)},
        )
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
