import json
from typing import Any

from pyspark.sql import SparkSession

from analytics.clean import good_rows, malformed_lines, parsed_lines, unknown_columns
from analytics.upcast import added_later, older_versions
from protocol.metrics.rows import NO_RUN, TABLE_VERSION
from tests.analytics.frames import LOG_DIR, REPLICA, made, picked, plain

LINES = "line string, file string, version int"


def version_one(row: dict[str, Any], table: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in added_later(table, 1)}


def test_every_version_before_todays_is_read() -> None:
    assert older_versions() == list(range(1, TABLE_VERSION))


def test_a_row_of_version_1_gets_what_that_version_lacked(spark: SparkSession) -> None:
    old = json.dumps(version_one(plain(REPLICA), "replica"), separators=(",", ":"))
    spaced = json.dumps(version_one(plain(REPLICA), "replica"))
    parsed = parsed_lines(made(spark, [(old, "f", 1), (spaced, "f", 1)], LINES), "replica")
    wanted = {
        **plain(REPLICA),
        "cluster_id": "",
        "run_id": NO_RUN,
        "interval_ms": -1,
    }
    assert [row.asDict() for row in good_rows(parsed, "replica").collect()] == [wanted, wanted]
    assert malformed_lines(parsed, "replica").count() == 0


def test_a_row_of_today_must_have_what_older_ones_lack(spark: SparkSession) -> None:
    line = json.dumps(version_one(plain(LOG_DIR), "log_dir"))
    parsed = parsed_lines(made(spark, [(line, "f", 2)], LINES), "log_dir")
    assert picked(malformed_lines(parsed, "log_dir"), "reason") == [
        ("missing column: cluster_id, run_id, seed, interval_ms",)
    ]


def test_a_column_that_a_newer_version_added_is_left_out_and_counted(spark: SparkSession) -> None:
    line = json.dumps({**plain(LOG_DIR), "colour": "red", "at_ms": 5})
    parsed = parsed_lines(made(spark, [(line, "f", 3), (line, "g", 3)], LINES), "log_dir")
    assert picked(good_rows(parsed, "log_dir"), "at_ms", "log_dir") == [(5, "/d1"), (5, "/d1")]
    assert malformed_lines(parsed, "log_dir").count() == 0
    assert picked(unknown_columns(parsed, "log_dir"), "table", "unknown_column", "row_count") == [
        ("log_dir", "colour", 2)
    ]
