import dataclasses
from typing import get_type_hints

import msgspec

from protocol.metrics.rows import TABLE_OF_ROW, TABLES, FailoverEventRow, FailoverStep


def test_the_steps_of_a_failover_are_numbered_in_the_order_they_happen() -> None:
    assert [step.order for step in FailoverStep] == list(range(len(FailoverStep)))
    assert FailoverStep.LOG_DIR_FAILED.order < FailoverStep.LEADERS_ELECTED.order


def test_every_table_has_a_wall_clock_column_first() -> None:
    for row in TABLES.values():
        assert dataclasses.fields(row)[0].name == "at_ms"
        assert get_type_hints(row)["at_ms"] is int


def test_a_row_class_finds_its_table() -> None:
    assert {TABLE_OF_ROW[row]: row for row in TABLES.values()} == TABLES


def test_a_row_is_one_json_object_with_steps_as_text() -> None:
    row = FailoverEventRow(
        at_ms=1,
        node="broker-1",
        failure_id="f",
        step=FailoverStep.HEARTBEAT_SENT,
        topic_count=-1,
        partition_count=3,
        detail="eio",
    )
    assert msgspec.json.decode(msgspec.json.encode(row)) == {
        "at_ms": 1,
        "node": "broker-1",
        "failure_id": "f",
        "step": "heartbeat_sent",
        "topic_count": -1,
        "partition_count": 3,
        "detail": "eio",
    }
