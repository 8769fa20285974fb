import pytest
from pyspark.sql import SparkSession

from analytics.answers.all_answers import answers
from analytics.answers.slow_log_dirs import slowness
from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from analytics.facts.log_dirs import log_dir_facts
from analytics.job import results
from analytics.schema import TABLE_SCHEMAS
from analytics.transforms.failovers import failovers
from tests.analytics.frames import frame_of

pytestmark = pytest.mark.sampled_among("tables of a report", kept=7)


def test_a_plan_is_scored_only_where_there_is_one(spark: SparkSession) -> None:
    rows = {table: frame_of(spark, table, []) for table in TABLE_SCHEMAS}
    found = results(rows)
    found["failovers"] = failovers(found["failover_steps"])
    found["log_dir_facts"] = log_dir_facts(with_event_time(rows["log_dir"]), "10 seconds")
    found["latency_facts"] = latency_facts(with_event_time(rows["latency"]), "10 seconds")
    found["slowness"] = slowness(found["latency_facts"])
    assert sorted(answers(rows, found, None)) == [
        "comparisons",
        "imbalance",
        "outages",
        "slow_log_dirs",
        "throttle_costs",
    ]
