import pytest
from pyspark.sql import SparkSession

from analytics.answers.comparisons import comparisons, run_samples
from analytics.chosen import Chosen
from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from analytics.transforms.failovers import failover_steps, failovers
from analytics.transforms.runs import runs
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import EVENT, LATENCY, LOG_DIR, changed, frame_of, made, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)
SAMPLES = "cluster_id string, run_id string, seed bigint, measure string, value double"


def test_two_runs_are_compared_as_welch_does(spark: SparkSession) -> None:
    """The numbers are those of the t distribution, integrated step by step."""
    old, new = [10.0, 12.0, 11.0, 13.0, 14.0], [15.0, 18.0, 14.0, 19.0, 21.0, 20.0]
    rows = [("c", "a", -1, "ms", value) for value in old]
    rows += [("c", "b", -1, "ms", value) for value in new]
    order = [
        frame_of(
            spark,
            "log_dir",
            [changed(LOG_DIR, at_ms=at_ms)],
            RowOrigin(cluster_id="c", run_id=name),
        )
        for name, at_ms in (("a", 1000), ("b", 2000))
    ]
    [found] = comparisons(made(spark, rows, SAMPLES), runs(order[0].unionAll(order[1]))).collect()
    assert (found["run_id"], found["base_run_id"], found["base_count"], found["count"]) == (
        *("b", "a"),
        *(5, 6),
    )
    assert found["difference"] == pytest.approx(35 / 6)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((2.7508, 8.9159), abs=0.01)
    assert found["p_value"] == pytest.approx(0.00236, abs=0.00001)


def test_a_chosen_run_is_compared_with_another_one(spark: SparkSession) -> None:
    rows = [("c", name, -1, "ms", float(ord(name))) for name in "abd"]
    order = made(
        spark,
        [("c", name, -1, at_ms, at_ms + 1) for at_ms, name in enumerate("abd")],
        "cluster_id string, run_id string, seed bigint, first_ms bigint, last_ms bigint",
    )
    samples = made(spark, rows, SAMPLES)
    latest = comparisons(samples, order, Chosen(against="a"))
    assert picked(latest, "run_id", "base_run_id", "difference") == [("d", "a", 3.0)]
    earlier = comparisons(samples, order, Chosen(run="a", against="d"))
    assert picked(earlier, "run_id", "base_run_id", "difference") == [("a", "d", -3.0)]


def test_values_that_are_all_alike_tell_no_interval(spark: SparkSession) -> None:
    rows = [("c", name, -1, "ms", 1.0) for name in ("a", "b") for _ in range(3)]
    order = made(
        spark,
        [("c", "a", -1, 1, 2), ("c", "b", -1, 5, 6)],
        "cluster_id string, run_id string, seed bigint, first_ms bigint, last_ms bigint",
    )
    found = comparisons(made(spark, rows, SAMPLES), order)
    assert picked(found, "difference", "ci_low", "p_value") == [(0.0, None, None)]


def test_runs_are_compared_by_latencies_and_failovers(spark: SparkSession) -> None:
    facts = latency_facts(with_event_time(frame_of(spark, "latency", [LATENCY])), "10 seconds")
    steps = [EVENT, changed(EVENT, at_ms=1500, step="leaders_elected", node="controller")]
    failed = failovers(failover_steps(frame_of(spark, "failover_event", steps)))
    assert sorted(picked(run_samples(facts, failed), "measure", "value")) == [
        ("log dir failure to election ms", 500.0),
        ("log dir sync p99 us", 1000.0),
    ]
