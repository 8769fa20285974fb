import pytest
from pyspark.sql import SparkSession

from analytics.answers.imbalance import imbalance
from analytics.facts.buckets import with_event_time
from analytics.facts.log_dirs import log_dir_facts
from tests.analytics.frames import LOG_DIR, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_log_dirs_are_weighed_in_each_bucket_and_those_offline_do_not_count(
    spark: SparkSession,
) -> None:
    rows = [
        changed(LOG_DIR, log_dir="/d1", used_bytes=10),
        changed(LOG_DIR, log_dir="/d2", used_bytes=30),
        changed(LOG_DIR, log_dir="/d3", used_bytes=0, online=False),
        changed(LOG_DIR, at_ms=11_000, log_dir="/d1", used_bytes=20),
        changed(LOG_DIR, at_ms=11_000, log_dir="/d2", used_bytes=20),
    ]
    facts = log_dir_facts(with_event_time(frame_of(spark, "log_dir", rows)), "10 seconds")
    columns = ("log_dir_count", "used_bytes_gini", "used_bytes_largest_by_mean", "fullest")
    assert picked(imbalance(facts), *columns) == [
        (2, 0.25, 1.5, "1: /d2"),
        (2, 0.0, 1.0, "1: /d2"),
    ]
