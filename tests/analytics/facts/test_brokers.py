import pytest
from pyspark.sql import SparkSession

from analytics.facts.brokers import broker_facts, request_facts
from analytics.facts.buckets import with_event_time
from tests.analytics.frames import LOG_DIR, REQUEST, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_a_broker_counts_its_log_dirs_and_those_that_were_offline(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=1000),
        changed(LOG_DIR, at_ms=1000, log_dir="/d2", queue_depth_count=4),
        changed(LOG_DIR, at_ms=2000, log_dir="/d2", online=False),
        changed(LOG_DIR, at_ms=2000, broker_id=2),
    ]
    found = broker_facts(with_event_time(frame_of(spark, "log_dir", rows)), "10 seconds")
    columns = ("log_dir_count", "offline_log_dir_count", "queue_depth_max", "last_seen_ms")
    assert picked(found.orderBy("broker_id"), *columns) == [(2, 1, 4, 2000), (1, 0, 0, 2000)]


def test_requests_are_counted_by_api_over_the_time_of_their_rows(spark: SparkSession) -> None:
    rows = [
        changed(REQUEST, at_ms=1000, request_count=30, error_count=2),
        changed(REQUEST, at_ms=2000, request_count=10),
        changed(REQUEST, at_ms=2000, api="Fetch", request_count=8),
    ]
    found = request_facts(with_event_time(frame_of(spark, "request", rows)), "10 seconds")
    assert picked(found.orderBy("api"), "api", "request_count", "error_count", "per_s") == [
        ("Fetch", 8, 0, 8.0),
        ("Produce", 40, 2, 20.0),
    ]
