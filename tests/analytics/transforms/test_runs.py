import pytest
from pyspark.sql import SparkSession

from analytics.transforms.runs import runs
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import LOG_DIR, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_a_run_covers_its_own_samples_and_the_latest_comes_last(spark: SparkSession) -> None:
    earlier = RowOrigin(cluster_id="z", run_id="r0", seed=7)
    rows = [changed(LOG_DIR, at_ms=5000), changed(LOG_DIR, at_ms=9000, broker_id=2)]
    found = runs(
        frame_of(spark, "log_dir", rows).union(frame_of(spark, "log_dir", [LOG_DIR], earlier))
    )
    assert picked(found, "cluster_id", "run_id", "seed", "first_ms", "last_ms", "broker_count") == [
        ("z", "r0", 7, 1000, 1000, 1),
        ("jbod-lab", "run-1", -1, 5000, 9000, 2),
    ]
