from dataclasses import make_dataclass

import pytest

from analytics import schema
from protocol.metrics.rows import TABLES, FailoverStep, LogDirRow, RowOrigin


def test_every_table_has_a_schema_with_the_columns_of_its_rows_in_order() -> None:
    assert list(schema.TABLE_SCHEMAS) == list(TABLES)
    origin = list(RowOrigin.__dataclass_fields__)
    columns = [*origin, *LogDirRow.__dataclass_fields__]
    assert schema.TABLE_SCHEMAS["log_dir"].names == columns


def test_columns_have_types_units_and_no_nulls() -> None:
    row = schema.TABLE_SCHEMAS["log_dir"]
    assert [row[name].dataType.simpleString() for name in ("at_ms", "log_dir", "online")] == [
        "bigint",
        "string",
        "boolean",
    ]
    assert row["used_bytes"].metadata == {"unit": "bytes"}
    assert row["at_ms"].metadata == {"unit": "ms since epoch"}
    assert row["log_dir"].metadata == {}
    assert not any(field.nullable for field in row)


def test_an_enum_is_a_string_that_names_its_values() -> None:
    step = schema.TABLE_SCHEMAS["failover_event"]["step"]
    assert step.dataType.simpleString() == "string"
    assert step.metadata["allowed"] == [member.value for member in FailoverStep]


def test_a_type_that_rows_do_not_use_is_refused() -> None:
    with pytest.raises(KeyError):
        schema.struct_type(make_dataclass("Odd", [("x", bytes)]))


def test_numbers_state_their_unit_unless_they_name_something() -> None:
    names = {"seed", "broker_id", "broker_epoch", "leader_epoch", "leader", "partition"}
    for rows in schema.TABLE_SCHEMAS.values():
        for field in rows:
            if field.dataType.simpleString() == "bigint" and field.name not in names:
                assert "unit" in field.metadata, field.name
