from pyspark.sql import SparkSession

from analytics.distinct import KEYS, distinct_rows, has_copies
from analytics.schema import TABLE_SCHEMAS
from protocol.metrics.rows import TABLE_OF_ROW, RowOrigin
from tests.analytics.frames import REQUEST, SAMPLES, changed, frame_of


def test_rows_of_a_file_that_was_copied_count_once(spark: SparkSession) -> None:
    rows = frame_of(spark, "request", [REQUEST, REQUEST, changed(REQUEST, at_ms=2000)])
    other = frame_of(spark, "request", [REQUEST], RowOrigin(run_id="run-2"))
    assert distinct_rows(rows.union(other), "request").count() == 3


def test_every_table_has_a_key_of_its_own_columns() -> None:
    assert list(KEYS) == list(TABLE_SCHEMAS) == [TABLE_OF_ROW[type(row)] for row in SAMPLES]
    for table, key in KEYS.items():
        assert set(key) < set(TABLE_SCHEMAS[table].names)


def test_rows_are_told_apart_by_the_whole_key_and_keep_their_columns(spark: SparkSession) -> None:
    rows = [REQUEST, changed(REQUEST, api="Fetch"), changed(REQUEST, broker_id=2)]
    frame = frame_of(spark, "request", [*rows, *rows])
    kept = distinct_rows(frame, "request")
    assert kept.columns == frame.columns
    units = {field.name: field.metadata for field in frame.schema}
    assert {field.name: field.metadata for field in kept.schema} == units
    assert any(units.values())
    assert sorted(kept.collect()) == sorted(frame.limit(len(rows)).collect())


def test_copies_are_found_by_the_key_alone(spark: SparkSession) -> None:
    rows = [REQUEST, changed(REQUEST, api="Fetch"), changed(REQUEST, broker_id=2)]
    assert not has_copies(frame_of(spark, "request", rows), "request")
    assert has_copies(frame_of(spark, "request", [*rows, changed(REQUEST, p50_us=1)]), "request")
    assert not has_copies(frame_of(spark, "request", []), "request")
