import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.clean import (
    NOT_ONE_OBJECT,
    good_rows,
    is_plain,
    malformed_lines,
    parsed_lines,
    plain_rows,
)
from protocol.metrics.rows import TABLE_OF_ROW
from tests.analytics.frames import EVENT, LOG_DIR, SAMPLES, line_of, made, picked, plain

GOOD = plain(LOG_DIR)
LINES = "line string, file string, version int"


def line(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def without(name: str) -> str:
    return json.dumps({key: value for key, value in GOOD.items() if key != name})


MALFORMED = {
    "a number as text": (line(used_bytes="5"), "wrong type: used_bytes"),
    "text as a number": (line(log_dir=5), "wrong type: log_dir"),
    "a fraction": (line(used_bytes=1.5), "wrong type: used_bytes"),
    "a number as a flag": (line(online=1), "wrong type: online"),
    "a null": (line(log_dir=None), "wrong type: log_dir"),
    "more than 64 bits": (line(used_bytes=2**63), "wrong type: used_bytes"),
    "an object as text": (line(log_dir={}), "wrong type: log_dir"),
    "a missing column": (without("online"), "missing column: online"),
    "a cut line": (line()[:-10], NOT_ONE_OBJECT),
    "two objects": (line() + line(), NOT_ONE_OBJECT),
    "two objects with a comma": (f"{line()},{line()}", NOT_ONE_OBJECT),
    "something behind": (line() + " x", NOT_ONE_OBJECT),
    "a column twice": (line()[:-1] + ', "online": true}', NOT_ONE_OBJECT),
    "an array": (f"[{line()}]", NOT_ONE_OBJECT),
    "null": ("null", NOT_ONE_OBJECT),
    "an empty line": ("", NOT_ONE_OBJECT),
    "no JSON": ("{'at_ms': 1}", NOT_ONE_OBJECT),
}


def test_what_nodes_write_is_taken_from_sparks_own_reader(spark: SparkSession) -> None:
    for row in SAMPLES:
        table = TABLE_OF_ROW[type(row)]
        frame = made(spark, [(line_of(row).decode(), "f", 2)], LINES)
        parsed = parsed_lines(frame, table)
        assert parsed.select(is_plain()).collect() == [(True,)], table
        [read] = plain_rows(parsed, table).collect()
        assert read.asDict() == plain(row)


def test_lines_that_do_not_fit_are_set_aside_each_with_its_reason(spark: SparkSession) -> None:
    lines = [(text, f"file-{name}", 2) for name, (text, _) in MALFORMED.items()]
    frame = made(spark, [(line(), "good", 2), *lines], LINES)
    found = picked(malformed_lines(parsed_lines(frame, "log_dir"), "log_dir"), "file", "reason")
    assert dict(found) == {f"file-{name}": reason for name, (_, reason) in MALFORMED.items()}
    assert good_rows(parsed_lines(frame, "log_dir"), "log_dir").count() == 1


def test_the_line_is_kept_as_it_was(spark: SparkSession) -> None:
    frame = made(spark, [('{"at_ms": ', "f", 2)], LINES)
    found = picked(malformed_lines(parsed_lines(frame, "replica"), "replica"), "table", "line")
    assert found == [("replica", '{"at_ms": ')]


def test_a_good_row_has_its_values_whatever_the_order_of_its_columns(spark: SparkSession) -> None:
    backwards = dict(reversed(list({**GOOD, "log_dir": 'ä "d"\\1', "used_bytes": 2**62}.items())))
    frame = made(spark, [(json.dumps(backwards), "f", 2)], LINES)
    [row] = good_rows(parsed_lines(frame, "log_dir"), "log_dir").collect()
    assert row.asDict() == backwards


def test_good_rows_keep_the_units(spark: SparkSession) -> None:
    frame = made(spark, [(line(), "f", 2)], LINES)
    good = good_rows(parsed_lines(frame, "log_dir"), "log_dir")
    assert good.schema["used_bytes"].metadata == {"unit": "bytes"}


@pytest.mark.parametrize("step", ["leaders_elected", "no such step"])
def test_a_step_that_nobody_declared_is_malformed(spark: SparkSession, step: str) -> None:
    text = json.dumps({**plain(EVENT), "step": step})
    frame = made(spark, [(text, "f", 2)], LINES)
    parsed = parsed_lines(frame, "failover_event")
    reasons = picked(malformed_lines(parsed, "failover_event"), "reason")
    is_known = step == "leaders_elected"
    assert reasons == ([] if is_known else [("unknown value: step",)])
    assert good_rows(parsed, "failover_event").count() == int(is_known)
