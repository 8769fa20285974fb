"""Tells good lines of a dump from malformed ones, strictly. It reads and writes no file.

Spark's own JSON reader takes missing columns for nulls, numbers for strings, and ignores what it
does not know, even in FAILFAST mode; so each line is parsed as a variant, and the types that it
really has are compared with the schema.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from analytics import columns, schema

NOT_ONE_OBJECT: Final = "not one JSON object (a cut line?)"

_PARSED: Final = "parsed"
_VARIANT_TYPES: Final = {"bigint": "BIGINT", "string": "STRING", "boolean": "BOOLEAN"}


def good_rows(lines: DataFrame, rows: StructType) -> DataFrame:
    """Input: ``line``. Output: the columns of ``rows`` of every line that fits it exactly."""
    return _parsed(lines).where(_fits(rows)).select(*map(_typed, rows.fields))


def malformed_lines(lines: DataFrame, rows: StructType, table: str) -> DataFrame:
    """Input: ``line``, ``file``. Output: table, file, line, reason of every other line."""
    return (
        _parsed(lines)
        .where(~_fits(rows))
        .select(
            F.lit(table).alias(columns.TABLE),
            columns.FILE,
            columns.LINE,
            _reason(rows).alias(columns.REASON),
        )
    )


def _parsed(lines: DataFrame) -> DataFrame:
    # The line is put in brackets, so that anything behind its object makes it invalid.
    bracketed = F.concat(F.lit("["), F.col(columns.LINE), F.lit("]"))
    # Exploding an array of one keeps Spark from putting the parser into every later expression.
    return lines.select("*", F.explode(F.array(F.try_parse_json(bracketed))).alias(_PARSED))


def _fits(rows: StructType) -> Column:
    has_types = F.schema_of_variant(_PARSED) == F.lit(_variant_schema(rows))
    is_single = F.try_variant_get(F.col(_PARSED), "$[1]", "variant").isNull()
    fits = has_types & is_single
    for field in rows.fields:
        if schema.ALLOWED in field.metadata:
            fits = fits & _is_allowed(field)
    return F.coalesce(fits, F.lit(False))  # noqa: FBT003 - lit takes no keyword


def _variant_schema(rows: StructType) -> str:
    types = [
        f"{field.name}: {_VARIANT_TYPES[field.dataType.simpleString()]}"
        for field in sorted(rows.fields, key=lambda field: field.name)
    ]
    return f"ARRAY<OBJECT<{', '.join(types)}>>"


def _typed(field: StructField) -> Column:
    return _value(field).alias(field.name, metadata=field.metadata)


def _value(field: StructField) -> Column:
    return F.try_variant_get(F.col(_PARSED), f"$[0].{field.name}", field.dataType.simpleString())


def _is_allowed(field: StructField) -> Column:
    return _value(field).isin(field.metadata[schema.ALLOWED])


def _reason(rows: StructType) -> Column:
    names = F.array(*[F.lit(field.name) for field in rows.fields])
    keys = F.json_object_keys(columns.LINE)
    missing, unknown = F.array_except(names, keys), F.array_except(keys, names)
    reason = F.when(F.col(_PARSED).isNull() | keys.isNull(), NOT_ONE_OBJECT)
    reason = reason.when(F.size(missing) > 0, _listed("missing column: ", missing))
    reason = reason.when(F.size(unknown) > 0, _listed("unknown column: ", unknown))
    for field in rows.fields:
        reason = reason.when(~_has_type(field), f"wrong type: {field.name}")
        if schema.ALLOWED in field.metadata:
            reason = reason.when(~_is_allowed(field), f"unknown value: {field.name}")
    return reason.otherwise(NOT_ONE_OBJECT)


def _has_type(field: StructField) -> Column:
    value = F.try_variant_get(F.col(_PARSED), f"$[0].{field.name}", "variant")
    found = F.schema_of_variant(value)
    return F.coalesce(found, F.lit("VOID")) == _VARIANT_TYPES[field.dataType.simpleString()]


def _listed(text: str, names: Column) -> Column:
    return F.concat(F.lit(text), F.array_join(names, ", "))
