from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.answers.outages import Seen, outages
from analytics.transforms.failovers import failover_steps, failovers
from protocol.metrics.rows import ClientRow, FailoverEventRow, LogDirRow, ReplicaRow
from tests.analytics.frames import CLIENT, EVENT, LOG_DIR, REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)
COLUMNS = ("seen_by", "began_ms", "ended_ms", "duration_ms", "leader_before", "leader_after")


def seen(
    spark: SparkSession,
    replicas: Sequence[ReplicaRow],
    *,
    log_dirs: Sequence[LogDirRow] = (),
    events: Sequence[FailoverEventRow] = (),
    clients: Sequence[ClientRow] = (),
) -> DataFrame:
    told = frame_of(spark, "failover_event", events)
    tables = Seen(
        frame_of(spark, "log_dir", log_dirs),
        frame_of(spark, "replica", replicas),
        told,
        frame_of(spark, "client", clients),
    )
    return outages(tables, failovers(failover_steps(told)))


def led(broker_id: int, *seconds: int) -> list[ReplicaRow]:
    return [changed(REPLICA, broker_id=broker_id, at_ms=second * 1000) for second in seconds]


def test_a_gap_between_leaders_is_an_outage_by_the_disk_that_failed(spark: SparkSession) -> None:
    event = changed(EVENT, at_ms=2500, detail="/d1: append: eio")
    rows = [*led(1, 1, 2), *led(2, 7, 8)]
    found = seen(spark, rows, events=[event])
    assert picked(found, *COLUMNS) == [("brokers", 2000, 6000, 4000, 1, 2)]
    assert picked(found, "cause", "failure_id") == [("log dir /d1: eio", "f1")]


def test_a_leader_that_is_never_replaced_is_out_to_the_end_of_the_run(spark: SparkSession) -> None:
    other = [changed(each, topic="other") for each in led(2, 1, 2, 3, 4, 5, 6)]
    log_dirs = [changed(LOG_DIR, at_ms=second * 1000) for second in (1, 2)]
    log_dirs += [changed(LOG_DIR, broker_id=2, at_ms=second * 1000) for second in range(1, 7)]
    found = seen(spark, [*led(1, 1, 2), *other], log_dirs=log_dirs)
    assert picked(found, *COLUMNS) == [("brokers", 2000, None, 4000, 1, None)]
    assert picked(found, "cause", "failure_id") == [("broker 1 silent", None)]


def test_a_leader_lost_with_broker_and_disk_there_says_so(spark: SparkSession) -> None:
    log_dirs = [changed(LOG_DIR, at_ms=second * 1000) for second in range(1, 8)]
    found = seen(spark, led(1, 1, 2, 7), log_dirs=log_dirs)
    assert picked(found, "duration_ms", "cause") == [(4000, "leader lost")]


def test_an_outage_too_short_for_samples_is_seen_by_clients(spark: SparkSession) -> None:
    event = changed(EVENT, at_ms=2500, detail="/d1: append: eio")
    client = changed(CLIENT, at_ms=3000, silence_ms=300, silence_ended_at_ms=2700)
    found = seen(spark, [*led(1, 1, 2), *led(2, 3)], events=[event], clients=[client])
    assert picked(found, *COLUMNS) == [("client load", 2400, 2700, 300, 1, None)]
