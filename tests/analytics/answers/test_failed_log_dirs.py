import pytest
from pyspark.sql import SparkSession

from analytics.answers.failed_log_dirs import failed_log_dirs
from analytics.transforms.failovers import failover_steps, failovers
from tests.analytics.frames import EVENT, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_a_failure_is_of_the_log_dir_that_its_broker_named(spark: SparkSession) -> None:
    rows = [
        changed(EVENT, node="broker-12", detail="/d1: append: eio"),
        changed(EVENT, failure_id="f2", node="controller", detail=""),
    ]
    found = failed_log_dirs(failovers(failover_steps(frame_of(spark, "failover_event", rows))))
    assert picked(found, "failure_id", "broker_id", "log_dir", "cause") == [
        ("f1", 12, "/d1", "eio")
    ]
