import pytest
from pyspark.sql import SparkSession

from analytics import columns as c
from analytics.chosen import Chosen, check_runs, chosen_run
from analytics.errors import UnknownRun
from tests.analytics.frames import made, picked

COLUMNS = "cluster_id string, run_id string, seed bigint, first_ms bigint, last_ms bigint"
RUNS = [("c", "a", -1, 1, 2), ("c", "b", 1, 3, 4), ("c", "b", 2, 5, 6), ("c", "d", -1, 7, 8)]


def test_a_run_that_is_not_there_is_told_with_those_that_are(spark: SparkSession) -> None:
    runs = made(spark, RUNS, COLUMNS)
    check_runs(Chosen(run="a", against="d"), runs)
    check_runs(Chosen(), runs)
    with pytest.raises(UnknownRun, match="there is no run e in the dump; there are a, b, d"):
        check_runs(Chosen(run="a", against="e"), runs)


@pytest.mark.parametrize(("run", "seed"), [(None, -1), ("a", -1), ("b", 2)])
def test_the_latest_of_runs_with_one_id_is_meant(
    run: str | None, seed: int, spark: SparkSession
) -> None:
    found = made(spark, RUNS, COLUMNS).agg(chosen_run(run).alias("one")).select("one.*")
    assert picked(found, *c.RUN) == [("c", run or "d", seed)]
