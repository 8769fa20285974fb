import pytest
from pyspark.sql import SparkSession

from analytics.transforms.recoveries import client_recoveries
from protocol.metrics.rows import ClientRow, FailoverStep, MetricRow
from tests.analytics.frames import CLIENT, EVENT, REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)

EVENTS = [
    changed(EVENT, at_ms=10_000, detail="/d1: append: eio"),
    changed(EVENT, at_ms=10_100, step=FailoverStep.LEADERS_ELECTED, node="controller"),
]
LED = [
    changed(REPLICA, at_ms=9000, partition=0),
    changed(REPLICA, at_ms=9000, partition=1),
    changed(REPLICA, at_ms=9000, partition=2, log_dir="/d2"),
    changed(REPLICA, at_ms=9000, partition=3, is_leader=False),
]


def silence(partition: int, began_ms: int, ended_ms: int) -> ClientRow:
    return changed(
        CLIENT, partition=partition, silence_ms=ended_ms - began_ms, silence_ended_at_ms=ended_ms
    )


def recoveries(spark: SparkSession, *clients: MetricRow) -> list[tuple[object, ...]]:
    found = client_recoveries(
        frame_of(spark, "failover_event", EVENTS),
        frame_of(spark, "replica", LED),
        frame_of(spark, "client", clients),
    )
    return picked(found, "failure_id", "step", "node", "at_ms", "partition_count")


def test_clients_are_served_again_when_the_last_led_partition_is(spark: SparkSession) -> None:
    found = recoveries(
        spark,
        silence(0, 9_990, 10_150),
        silence(0, 10_150, 10_155),
        silence(1, 9_980, 10_300),
        silence(2, 9_000, 14_000),
        silence(3, 9_000, 15_000),
        silence(1, 12_000, 12_900),
    )
    assert found == [("f1", "client_recovered", "client load", 10_300, 2)]


def test_without_a_silence_of_a_client_nothing_is_said(spark: SparkSession) -> None:
    assert recoveries(spark, silence(0, 5_000, 9_999)) == []
