"""Distributions over many seeds and their outliers, on a few."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics.transforms.seeds import OUTLIERS_MAX, SEED, distributions, event_lines, outliers
from tests.analytics.frames import made, picked


def seed(number: int, unavailable_ms: int, **columns: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "seed": number,
        "replay": f"jbodlab simulate --seed {number}",
        "is_ok": True,
        "violations": [],
        "error": "",
        "cell": {},
        "features": [],
        "fault_hits": {"eio": 1, "slow": 0},
        "broker_count": 3,
        "log_dir_count": 2,
        "heartbeat_interval_ms": 500,
        "session_timeout_ms": 3000,
        "configs": {},
        "unavailable_ms": unavailable_ms,
        "event_lines": [],
    }
    return known | columns


def frame(spark: SparkSession, *seeds: dict[str, Any]) -> DataFrame:
    text = made(spark, [(json.dumps(each),) for each in seeds], "text string")
    return text.select(F.from_json("text", SEED).alias("record")).select("record.*")


def test_seeds_are_summed_up_by_all_that_they_had(spark: SparkSession) -> None:
    seeds = frame(
        spark,
        seed(1, 100, cell={"b": "2", "a": "1"}),
        seed(2, 300, cell={"a": "1", "b": "3"}, broker_count=4, is_ok=False),
        seed(3, 500, features=["moves"], configs={"min.isr": "2"}, fault_hits={"kill": 2}),
    )
    found = {
        (kind, value): rest
        for kind, value, *rest in picked(
            distributions(seeds),
            *("kind", "value", "seed_count", "violation_count", "p50_ms", "max_ms"),
        )
    }
    assert found["all", ""] == [3, 1, 300.0, 500]
    assert found["cause", "eio"] == [2, 1, 200.0, 300]
    assert ("cause", "slow") not in found, "it met nothing"
    assert found["factor", "a=1"] == [2, 1, 200.0, 300]
    assert found["cell", "a=1 b=3"] == [1, 1, 300.0, 300]
    assert found["shape", "4x2"] == [1, 1, 300.0, 300]
    assert found["policy", "min.isr=2"] == [1, 0, 500.0, 500]
    assert found["policy", "heartbeat.interval.ms=500"][0] == 3
    assert found["feature", "moves"] == [1, 0, 500.0, 500]


def test_what_violates_something_comes_first_and_says_how_to_run_it_again(
    spark: SparkSession,
) -> None:
    slow = [seed(number, number) for number in range(100, 110 + OUTLIERS_MAX)]
    bad = seed(1, 5, is_ok=False, violations=["lost: one", "lost: two"])
    failed = {"seed": 2, "replay": "again", "is_ok": False, "error": "KeyError: 3"}
    found = picked(outliers(frame(spark, *slow, failed, bad)), "seed", "found", "replay")
    assert found[:2] == [(1, "lost: one", "jbodlab simulate --seed 1"), (2, "KeyError: 3", "again")]
    assert [row[0] for row in found[2:]] == list(range(109 + OUTLIERS_MAX, 109, -1))


def test_events_are_lines_of_their_seed(spark: SparkSession) -> None:
    lines = event_lines(frame(spark, seed(7, 1, event_lines=["{}", "[]"])))
    assert picked(lines, "line", "file") == [("{}", "seed 7"), ("[]", "seed 7")]
