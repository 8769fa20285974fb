import math
import statistics

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.answers.slow_log_dirs import slow_log_dirs, slowness
from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from analytics.transforms.failovers import failover_steps, failovers
from tests.analytics.frames import EVENT, LATENCY, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def scores(spark: SparkSession, took_us: list[tuple[int, str, int]]) -> DataFrame:
    """Return the z-scores of log dirs that took so long: (at_ms, log dir, us)."""
    rows = [
        changed(
            LATENCY,
            at_ms=at_ms,
            name=log_dir,
            sample_count=1,
            sum_us=us,
            max_us=us,
            bucket_us=(us,),
            bucket_counts=(1,),
        )
        for at_ms, log_dir, us in took_us
    ]
    facts = latency_facts(with_event_time(frame_of(spark, "latency", rows)), "10 seconds")
    return slowness(facts)


def test_the_z_score_is_of_the_median_and_its_absolute_deviation(spark: SparkSession) -> None:
    took = {"/d1": 100, "/d2": 150, "/d3": 200, "/d4": 4000}
    found = scores(spark, [(1000, name, us) for name, us in took.items()])
    logs = [math.log(us) for us in took.values()]
    median = statistics.median(logs)
    mad = statistics.median(abs(each - median) for each in logs)
    wanted = {name: 0.6745 * (math.log(us) - median) / mad for name, us in took.items()}
    assert dict(picked(found, "log_dir", "z_score")) == pytest.approx(wanted, rel=1e-3)


def test_log_dirs_that_differ_by_less_than_a_tenth_are_alike(spark: SparkSession) -> None:
    found = scores(spark, [(1000, f"/d{n}", us) for n, us in enumerate((100, 100, 100, 109))])
    assert max(row["z_score"] for row in found.collect()) < 1


def test_of_two_log_dirs_none_is_odd(spark: SparkSession) -> None:
    assert scores(spark, [(1000, "/d1", 1), (1000, "/d2", 10_000)]).collect() == []


def test_a_disk_that_slows_is_told_before_it_fails_and_not_by_what_comes_later(
    spark: SparkSession,
) -> None:
    even = [(at, f"/d{n}", 100 + n) for at in (1000, 11_000, 21_000, 31_000) for n in (2, 3, 4)]
    odd = [(1000, "/d1", 101), (11_000, "/d1", 5000), (21_000, "/d1", 5000), (31_000, "/d1", 9)]
    event = changed(EVENT, at_ms=30_500, detail="/d1: append: eio")
    failed = failovers(failover_steps(frame_of(spark, "failover_event", [event])))
    found = slow_log_dirs(scores(spark, even + odd), failed)
    columns = ("log_dir", "slow_bucket_count", "bucket_count", "first_slow_ms", "warning_ms")
    assert picked(found, *columns)[0] == ("/d1", 2, 3, 10_000, 20_500)
