"""Tells good lines of a dump from malformed ones, strictly. It reads and writes no file.

Spark's own JSON reader takes missing columns for nulls and text for what is none, and ignores what
it does not know. So a line is taken from it only if it looks just as brokers write theirs; every
other one is parsed a second time, as a variant, and the types that it really has are compared with
the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from analytics import columns as c
from analytics import schema
from analytics.upcast import columns_of, older_versions, upcast
from protocol.metrics.rows import TABLE_VERSION

NOT_ONE_OBJECT: Final = "not one JSON object (a cut line?)"

_NATIVE: Final = "native"
_STRICT: Final = "strict"
_IS_PLAIN: Final = "is_plain"
_VARIANT_TYPES: Final = {
    "bigint": "BIGINT",
    "string": "STRING",
    "boolean": "BOOLEAN",
    "array<bigint>": "ARRAY<BIGINT>",
}


def native_lines(lines: DataFrame, table: str) -> DataFrame:
    """Input: ``line``, ``file``, ``version``. Output: the same with what ``plain_rows`` reads.

    That is ``native`` (a struct) and ``is_plain``.
    """
    rows = schema.TABLE_SCHEMAS[table]
    nullable = StructType([StructField(field.name, field.dataType) for field in rows.fields])
    native = lines.select("*", _once(F.from_json(c.LINE, nullable)).alias(_NATIVE))
    return native.select("*", _once(_is_plain(rows, table)).alias(_IS_PLAIN))


def parsed_lines(lines: DataFrame, table: str) -> DataFrame:
    """Input and output: as ``native_lines``, with ``strict``, a variant, for what is not plain."""
    # The line is put in brackets, so that anything behind its object makes it invalid.
    bracketed = F.concat(F.lit("["), F.col(c.LINE), F.lit("]"))
    strict = F.when(~F.col(_IS_PLAIN), F.try_parse_json(bracketed))
    return native_lines(lines, table).select("*", _once(strict).alias(_STRICT))


def is_plain() -> Column:
    """Tell of a parsed line whether it is just as brokers write it; then it is good."""
    return F.col(_IS_PLAIN)


def good_rows(parsed: DataFrame, table: str) -> DataFrame:
    """Input: ``parsed_lines``. Output: the columns of ``rows`` of every line that fits them.

    Columns that are not known are left out; older versions get what they lack.
    """
    rows = schema.TABLE_SCHEMAS[table]
    return parsed.where(F.col(_IS_PLAIN) | _fits(rows, table)).select(
        *[_typed(field, table) for field in rows.fields]
    )


def plain_rows(parsed: DataFrame, table: str) -> DataFrame:
    """Input: ``native_lines``. Output: as ``good_rows``, of lines just as brokers write them."""
    rows = schema.TABLE_SCHEMAS[table]
    columns = [
        upcast(F.col(f"{_NATIVE}.{field.name}"), table, field.name).alias(
            field.name, metadata=field.metadata
        )
        for field in rows.fields
    ]
    return parsed.where(F.col(_IS_PLAIN)).select(*columns)


def malformed_lines(parsed: DataFrame, table: str) -> DataFrame:
    """Input: ``parsed_lines``. Output: table, file, line, reason of the other lines."""
    rows = schema.TABLE_SCHEMAS[table]
    return parsed.where(~F.col(_IS_PLAIN) & ~_fits(rows, table)).select(
        F.lit(table).alias(c.TABLE), c.FILE, c.LINE, _reason(rows, table).alias(c.REASON)
    )


def unknown_columns(parsed: DataFrame, table: str) -> DataFrame:
    """Input: ``parsed_lines``. Output: table, unknown_column, row_count, of good rows."""
    rows = schema.TABLE_SCHEMAS[table]
    names = F.array(*[F.lit(field.name) for field in rows.fields])
    return (
        parsed.where(~F.col(_IS_PLAIN) & _fits(rows, table))
        .select(F.explode(F.array_except(F.json_object_keys(c.LINE), names)).alias("unknown"))
        .groupBy("unknown")
        .agg(F.count(F.lit(1)).alias(c.ROW_COUNT))
        .select(F.lit(table).alias(c.TABLE), F.col("unknown").alias(c.UNKNOWN_COLUMN), c.ROW_COUNT)
    )


def _once(value: Column) -> Column:
    """Keep Spark from putting an expression into every later one that reads it."""
    return F.explode(F.array(value))


def _is_plain(rows: StructType, table: str) -> Column:
    """Tell whether Spark, given what it read, would write the very same line.

    Then nothing was taken for what it is not and nothing left out, for brokers write as Spark does.
    A null is told apart by its name, so a text that contains it makes a line not plain. Such lines
    and those with other spaces may be good, too: this is quick, not complete.
    """
    line = F.col(c.LINE)
    written = _by_version(partial(_written, rows), rows, table)
    checks = [line == written, ~line.contains("null")]
    for field in rows.fields:
        if schema.ALLOWED in field.metadata:
            value = F.col(f"{_NATIVE}.{field.name}")
            checks.append(_or_new(value.isin(field.metadata[schema.ALLOWED]), field, table))
    return F.coalesce(_all(checks), F.lit(False))  # noqa: FBT003 - lit takes no keyword


def _written(rows: StructType, fields: list[StructField]) -> Column:
    native = F.col(_NATIVE)
    if len(fields) < len(rows.fields):
        native = F.struct(*[native[field.name] for field in fields])
    return F.to_json(native, {"ignoreNullFields": "false"})


def _all(checks: list[Column]) -> Column:
    return reduce(lambda one, other: one & other, checks)


def _or_new(check: Column, field: StructField, table: str) -> Column:
    """Return ``check``, or true where the version of the row has no such column yet."""
    for version in older_versions():
        names = [one.name for one in columns_of(table, StructType([field]), version)]
        if not names:
            check = check | (F.col(c.VERSION) <= version)
    return check


def _by_version(of: Callable[[list[StructField]], Column], rows: StructType, table: str) -> Column:
    """Return what holds for the columns of the row's own version."""
    newer = columns_of(table, rows, TABLE_VERSION)
    value = of(newer)
    for version in reversed(older_versions()):
        fields = columns_of(table, rows, version)
        if fields != newer:
            value = F.when(F.col(c.VERSION) <= version, of(fields)).otherwise(value)
            newer = fields
    return value


def _fits(rows: StructType, table: str) -> Column:
    is_single = F.try_variant_get(F.col(_STRICT), "$[1]", "variant").isNull()
    is_object = F.schema_of_variant(_STRICT).startswith("ARRAY<OBJECT<")
    checks = [is_single, is_object]
    for field in rows.fields:
        checks.append(_or_new(_has_type(field), field, table))
        if schema.ALLOWED in field.metadata:
            checks.append(_is_allowed(field))
    return F.coalesce(_all(checks), F.lit(False))  # noqa: FBT003 - lit takes no keyword


def _typed(field: StructField, table: str) -> Column:
    native = F.col(f"{_NATIVE}.{field.name}")
    value = F.when(F.col(_IS_PLAIN), native).otherwise(_value(field))
    return upcast(value, table, field.name).alias(field.name, metadata=field.metadata)


def _value(field: StructField) -> Column:
    return F.try_variant_get(F.col(_STRICT), f"$[0].{field.name}", field.dataType.simpleString())


def _is_allowed(field: StructField) -> Column:
    return _value(field).isin(field.metadata[schema.ALLOWED])


def _reason(rows: StructType, table: str) -> Column:
    def names_of(fields: list[StructField]) -> Column:
        return F.array(*[F.lit(field.name) for field in fields])

    keys = F.json_object_keys(c.LINE)
    missing = F.array_except(_by_version(names_of, rows, table), keys)
    reason = F.when(F.col(_STRICT).isNull() | keys.isNull(), NOT_ONE_OBJECT)
    reason = reason.when(F.size(missing) > 0, _listed("missing column: ", missing))
    for field in rows.fields:
        has_type = _or_new(_has_type(field), field, table)
        reason = reason.when(~has_type, f"wrong type: {field.name}")
        if schema.ALLOWED in field.metadata:
            reason = reason.when(~_is_allowed(field), f"unknown value: {field.name}")
    return reason.otherwise(NOT_ONE_OBJECT)


def _has_type(field: StructField) -> Column:
    value = F.try_variant_get(F.col(_STRICT), f"$[0].{field.name}", "variant")
    found = F.schema_of_variant(value)
    return F.coalesce(found, F.lit("VOID")) == _VARIANT_TYPES[field.dataType.simpleString()]


def _listed(text: str, names: Column) -> Column:
    return F.concat(F.lit(text), F.array_join(names, ", "))
