import pytest
from pyspark.sql import SparkSession

from analytics.transforms.requests import requests
from tests.analytics.frames import REQUEST, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_rates_are_over_the_whole_time_of_a_broker(spark: SparkSession) -> None:
    rows = [
        changed(REQUEST, at_ms=1000, request_count=30),
        changed(REQUEST, at_ms=4000, request_count=10),
        changed(REQUEST, at_ms=2000, api="Fetch", request_count=8),
        changed(REQUEST, at_ms=2000, broker_id=2, request_count=5),
    ]
    found = requests(frame_of(spark, "request", rows))
    assert picked(found, "broker_id", "api", "request_count", "per_s") == [
        (1, "Produce", 40, 10.0),
        (1, "Fetch", 8, 2.0),
        (2, "Produce", 5, 5.0),
    ]


def test_medians_are_weighted_and_the_worst_tail_is_kept(spark: SparkSession) -> None:
    rows = [
        changed(REQUEST, request_count=30, p50_us=100, p99_us=900, error_count=1),
        changed(REQUEST, at_ms=2000, request_count=10, p50_us=500, p99_us=400, max_us=5000),
    ]
    found = requests(frame_of(spark, "request", rows))
    columns = ("p50_mean_us", "p99_worst_us", "max_us", "error_count", "received_bytes")
    assert picked(found, *columns) == [(200.0, 900, 5000, 1, 2000)]


def test_an_api_that_nobody_called_is_left_out(spark: SparkSession) -> None:
    assert requests(frame_of(spark, "request", [changed(REQUEST, request_count=0)])).count() == 0
