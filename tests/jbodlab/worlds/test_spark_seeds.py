"""Simulated clusters on Spark: the runs are those of this process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.seed_records import SeedTask, seed_record
from jbodlab.worlds.spark_seeds import run_on_spark
from tests.deadlines import DEADLINE_S

SEEDS = range(96_001, 96_004)


def test_without_java_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(LabError, match="install Java") as caught:
        run_on_spark(SeedTask(), range(1, 2), "local[1]", str(tmp_path))
    assert caught.value.exit_code is ExitCode.MISSING_JAVA


@pytest.mark.sampled_among("traces of seeds on Spark", kept=0)
@pytest.mark.timeout(20 * DEADLINE_S)
def test_seeds_on_spark_have_the_traces_that_they_have_here(tmp_path: Path) -> None:
    import duckdb  # noqa: PLC0415 - whoever has loaded it complains of leaks when it ends

    words = ["simulate", "--seeds", f"{SEEDS.start}..{SEEDS.stop - 1}", "--seconds", "1"]
    where = ("--spark", "local[1]", "--json", "--out", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "jbodlab", *words, *where],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [everything] = [row for row in json.loads(done.stdout)["distributions"] if row["kind"] == "all"]
    assert everything["seed_count"] == len(SEEDS)
    columns, files = "seed, trace_hash, unavailable_ms", f"{tmp_path}/seeds/*.parquet"
    query = f"SELECT {columns} FROM read_parquet('{files}')"
    task = SeedTask(seconds=1)
    here = [seed_record(task, seed) for seed in SEEDS]
    assert sorted(duckdb.connect().execute(query).fetchall()) == [
        (each["seed"], each["trace_hash"], each["unavailable_ms"]) for each in here
    ]
