from pyspark.sql import DataFrame, SparkSession

from analytics import columns as c
from analytics.shown import NO_RUN, Run, Shown, cut_shown, latest_of, rows_shown, with_run_last
from tests.analytics.frames import made

RUNS = [{**dict.fromkeys(c.RUN, "c"), c.RUN_ID: f"run-{number}", c.SEED: -1} for number in (1, 2)]
COLUMNS = "cluster_id string, run_id string, seed long, place int"


def of_runs(spark: SparkSession, *counts: int) -> DataFrame:
    """Return so many rows of each run, in the order of runs."""
    pairs = zip(RUNS, counts, strict=True)
    rows = [(*run.values(), place) for run, count in pairs for place in range(count)]
    return made(spark, rows, COLUMNS).coalesce(1)


def latest() -> Run:
    return RUNS[-1]


def places(shown: Shown) -> list[tuple[str, int]]:
    return [(row[c.RUN_ID], row["place"]) for row in shown.rows["t"]]


def test_what_fits_is_shown_as_it_is_and_no_run_is_asked_for(spark: SparkSession) -> None:
    def never() -> Run:
        raise AssertionError

    shown = rows_shown({"t": of_runs(spark, 2, 1)}, never, 3)
    assert places(shown) == [("run-1", 0), ("run-1", 1), ("run-2", 0)]
    assert shown.left_out == {}


def test_the_latest_run_is_there_whole_and_what_is_left_out_of_others_is_counted(
    spark: SparkSession,
) -> None:
    frames = {"t": of_runs(spark, 4, 2), "checks": spark.range(5).coalesce(1)}
    shown = rows_shown(frames, latest, 3)
    assert places(shown) == [("run-1", 0), ("run-2", 0), ("run-2", 1)]
    assert shown.rows["checks"] == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert shown.left_out == {"t": 3, "checks": 2}
    less = cut_shown(shown, latest(), 2)
    assert places(less) == [("run-2", 0), ("run-2", 1)]
    assert less.left_out == {"t": 4, "checks": 3}


def test_a_latest_run_that_is_too_long_itself_is_cut_at_its_end(spark: SparkSession) -> None:
    shown = rows_shown({"t": of_runs(spark, 1, 4)}, latest, 2)
    assert places(shown) == [("run-2", 0), ("run-2", 1)]
    assert shown.left_out == {"t": 3}


def test_the_run_that_a_page_is_about_is_the_last_one(spark: SparkSession) -> None:
    first = RUNS[0]
    rows = {"runs": [{**run} for run in RUNS]}
    assert with_run_last(Shown(rows, {}), first).rows["runs"] == [RUNS[1], first]
    ends = [(*run.values(), end) for end, run in enumerate(RUNS)]
    runs = made(spark, ends, "cluster_id string, run_id string, seed long, last_ms long")
    assert latest_of(runs) == RUNS[1]
    assert latest_of(runs.limit(0)) == NO_RUN


def test_without_a_run_the_first_rows_are_shown(spark: SparkSession) -> None:
    shown = rows_shown({"t": of_runs(spark, 2, 2)}, lambda: NO_RUN, 3)
    assert places(shown) == [("run-1", 0), ("run-1", 1), ("run-2", 0)]
