"""Reads the lines of the metrics topic with Spark's own Kafka connector; parses none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics import columns
from analytics.errors import EmptyDump, UnreadableDump
from protocol.metrics.topic import METRICS_TOPIC

SCHEME: Final = "kafka://"
COMMAND_CONFIG: Final = "Security of --from, as a properties file of Kafka's clients."
TO_TOPIC: Final = "does its cluster file say metrics: {to_topic: true}?"
_SECURITY_KEYS: Final = ("security.", "ssl.", "sasl.")
_BYTES: Final = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_ADDRESS: Final = re.compile(r"kafka://([^/\s,]+:\d+(?:,[^/\s,]+:\d+)*)(?:/([A-Za-z0-9._-]+)?)?")


class TopicAddress(NamedTuple):
    """Where metric rows are read from, instead of a folder."""

    servers: str
    """As ``bootstrap.servers``."""
    topic: str
    command_config: str | None = None
    """A properties file of Kafka's clients, for a secured cluster."""


def topic_address(text: str, command_config: str | None = None) -> TopicAddress:
    """Return what ``kafka://HOST:PORT[,HOST:PORT...][/TOPIC]`` means.

    Raises:
        UnreadableDump: it is none.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UnreadableDump(
            f"{text!r} names no topic: write kafka://HOST:PORT[,HOST:PORT...][/TOPIC], "
            f"without TOPIC it is {METRICS_TOPIC}"
        )
    return TopicAddress(match[1], match[2] or METRICS_TOPIC, command_config)


def stream_records(spark: SparkSession, address: TopicAddress) -> DataFrame:
    """Return the topic from its beginning on, as a stream; columns as ``lines_of``."""
    reader = spark.readStream.format("kafka").options(**_options(spark, address))
    return lines_of(reader.option("startingOffsets", "earliest").load())


def batch_records(spark: SparkSession, address: TopicAddress) -> DataFrame:
    """Return what is in the topic now; columns as ``lines_of``.

    All partitions end at one moment. Left to itself each task looks for the end when it begins: the
    brokers whose partitions come first would look as if they had fallen silent.

    Raises:
        EmptyDump: there is no such topic.
    """
    ends = _end_offsets(spark, address)
    if not ends:
        raise EmptyDump(f"no topic {address.topic} on {address.servers}: {TO_TOPIC}")
    reader = spark.read.format("kafka").options(**_options(spark, address))
    return lines_of(reader.option("endingOffsets", json.dumps({address.topic: ends})).load())


def _end_offsets(spark: SparkSession, address: TopicAddress) -> dict[str, int]:
    """Ask for the end of every partition, by the consumer that the connector brings."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    settings = jvm.java.util.HashMap()
    for name in ("key", "value"):
        settings.put(f"{name}.deserializer", _BYTES)
    for name, value in _security(spark, address).items():
        settings.put(name, value)
    settings.put("bootstrap.servers", address.servers)
    settings.put("allow.auto.create.topics", "false")
    settings.put("isolation.level", "read_committed")
    kafka = jvm.org.apache.kafka
    consumer = kafka.clients.consumer.KafkaConsumer(settings)
    try:
        partitions = jvm.java.util.ArrayList()
        for each in consumer.partitionsFor(address.topic) or ():
            partitions.add(kafka.common.TopicPartition(address.topic, each.partition()))
        ends = consumer.endOffsets(partitions)
        return {str(each.partition()): ends[each] for each in partitions}
    finally:
        consumer.close()


def lines_of(records: DataFrame) -> DataFrame:
    """Input: as the connector reads. Output: table, version, line, file.

    ``file`` is where a record is, such as ``__jbodlab_metrics-0@17``; a key that is none of ours
    gives an empty table, which nobody reads.
    """
    key = F.coalesce(F.col("key").cast("string"), F.lit(""))
    place = F.concat("topic", F.lit("-"), "partition", F.lit("@"), "offset")
    version = F.regexp_extract(key, "/v([0-9]+)$", 1).try_cast("int")
    return records.select(
        F.regexp_extract(key, "^([a-z_]+)/v[0-9]+$", 1).alias(columns.TABLE),
        F.coalesce(version, F.lit(0)).alias(columns.VERSION),
        F.coalesce(F.col("value").cast("string"), F.lit("")).alias(columns.LINE),
        place.alias(columns.FILE),
    )


def _options(spark: SparkSession, address: TopicAddress) -> dict[str, str]:
    return {
        **{f"kafka.{name}": value for name, value in _security(spark, address).items()},
        "kafka.bootstrap.servers": address.servers,
        "subscribe": address.topic,
        "kafka.isolation.level": "read_committed",
    }


def _security(spark: SparkSession, address: TopicAddress) -> dict[str, str]:
    """Return what the properties file says of security, as Java reads it.

    Raises:
        UnreadableDump: it cannot be read.
    """
    path = address.command_config
    if path is None:
        return {}
    if not Path(path).is_file():
        raise UnreadableDump(f"--command-config {path}: there is no such file")
    java: Any = spark.sparkContext._jvm.java  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    properties = java.util.Properties()
    reader = java.io.FileReader(path)
    try:
        properties.load(reader)
    finally:
        reader.close()
    return {
        str(name): str(properties.getProperty(name))
        for name in properties.stringPropertyNames()
        if name.startswith(_SECURITY_KEYS)
    }
