import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics.clean import NOT_ONE_OBJECT, good_rows, malformed_lines
from analytics.schema import TABLE_SCHEMAS
from tests.analytics.frames import EVENT, LOG_DIR, made, picked, plain

GOOD = plain(LOG_DIR)


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
    "an unknown column": (line(extra=1, more=2), "unknown column: extra, more"),
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


def test_lines_that_do_not_fit_are_set_aside_each_with_its_reason(spark: SparkSession) -> None:
    lines = [(text, f"file-{name}") for name, (text, _) in MALFORMED.items()]
    frame = made(spark, [(line(), "good"), *lines], "line string, file string")
    found = picked(malformed_lines(frame, TABLE_SCHEMAS["log_dir"], "log_dir"), "file", "reason")
    assert dict(found) == {f"file-{name}": reason for name, (_, reason) in MALFORMED.items()}
    assert good_rows(frame, TABLE_SCHEMAS["log_dir"]).count() == 1


def test_the_line_is_kept_as_it_was(spark: SparkSession) -> None:
    frame = made(spark, [('{"at_ms": ', "f")], "line string, file string")
    found = picked(malformed_lines(frame, TABLE_SCHEMAS["replica"], "replica"), "table", "line")
    assert found == [("replica", '{"at_ms": ')]


def test_a_good_row_has_its_values_whatever_the_order_of_its_columns(spark: SparkSession) -> None:
    backwards = dict(reversed(list({**GOOD, "log_dir": 'ä "d"\\1', "used_bytes": 2**62}.items())))
    frame = made(spark, [(json.dumps(backwards), "f")], "line string, file string")
    [row] = good_rows(frame, TABLE_SCHEMAS["log_dir"]).collect()
    assert row.asDict() == backwards


def test_good_rows_keep_the_units(spark: SparkSession) -> None:
    frame = made(spark, [(line(), "f")], "line string, file string")
    good = good_rows(frame, TABLE_SCHEMAS["log_dir"])
    assert good.schema["used_bytes"].metadata == {"unit": "bytes"}


@pytest.mark.parametrize("step", ["leaders_elected", "no such step"])
def test_a_step_that_nobody_declared_is_malformed(spark: SparkSession, step: str) -> None:
    text = json.dumps({**plain(EVENT), "step": step})
    frame = made(spark, [(text, "f")], "line string, file string")
    rows = TABLE_SCHEMAS["failover_event"]
    reasons = picked(malformed_lines(frame, rows, "failover_event"), "reason")
    is_known = step == "leaders_elected"
    assert reasons == ([] if is_known else [("unknown value: step",)])
    assert good_rows(frame, rows).count() == int(is_known)
