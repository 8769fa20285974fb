"""Seeds as Spark tasks: each once, whatever one of them comes to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.seeds import run_seeds
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import EVENT, changed, line_of


def made_up_record(seed: int) -> str:
    """Return what a seed came to; where it runs, this module is not known."""
    origin = RowOrigin(cluster_id="c", run_id=f"seed-{seed}", seed=seed)
    return json.dumps(
        {
            "seed": seed,
            "is_ok": seed != 62,
            "error": "" if seed != 62 else "it broke",
            "violations": [],
            "replay": f"again {seed}",
            "unavailable_ms": seed,
            "event_lines": [line_of(changed(EVENT, failure_id=f"f{seed}"), origin).decode()],
        }
    )


@pytest.mark.sampled_among("seeds on Spark", kept=0)
def test_every_seed_is_kept_and_one_that_fails_stops_nobody(
    spark: SparkSession, tmp_path: Path
) -> None:
    shown = run_seeds(spark, made_up_record, range(50, 110), str(tmp_path))
    [everything] = [row for row in shown["distributions"] if row["kind"] == "all"]
    assert (everything["seed_count"], everything["violation_count"]) == (60, 1)
    assert (shown["outliers"][0]["seed"], shown["outliers"][0]["found"]) == (62, "it broke")
    seeds = spark.read.parquet(f"{tmp_path}/seeds")
    assert sorted(row[0] for row in seeds.select("seed").collect()) == list(range(50, 110))
    found = spark.read.parquet(f"{tmp_path}/failovers")
    assert found.count() == 60
    [durations] = spark.read.parquet(f"{tmp_path}/failover_durations").collect()
    assert (durations["failure_count"], durations["unfinished_count"]) == (60, 60)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "60 seeds, 1 violation." in page
    assert "it broke" in page
