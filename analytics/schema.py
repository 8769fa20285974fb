"""The metric tables as Spark sees them: types and units, all from ``protocol.metrics.rows``.

It reads no file and starts no Spark.
"""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from protocol.metrics.rows import TABLES, RowOrigin, Unit

UNIT: Final = "unit"
ALLOWED: Final = "allowed"

_TYPES: Final[dict[type, DataType]] = {int: LongType(), str: StringType(), bool: BooleanType()}
_COUNTS: Final = ArrayType(LongType(), containsNull=False)


def struct_type(row_class: type[Any]) -> StructType:
    """Return the Spark schema of a row class, columns in their order, none nullable.

    Column metadata: ``unit`` where the row states one, ``allowed`` (a list) where the column is an
    enum.

    Raises:
        KeyError: a column of a type that metric rows do not use.
    """
    hints = get_type_hints(row_class, include_extras=True)
    return StructType([_field(f.name, hints[f.name]) for f in dataclasses.fields(row_class)])


def _stored_type(row_class: type[Any]) -> StructType:
    """Return the schema of a row's line: where it comes from, then the row."""
    return StructType([*struct_type(RowOrigin).fields, *struct_type(row_class).fields])


def _field(name: str, hint: Any) -> StructField:
    metadata: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        [unit] = [note.name for note in notes if isinstance(note, Unit)]
        metadata[UNIT] = unit
    if hint == tuple[int, ...]:
        return StructField(name, _COUNTS, nullable=False, metadata=metadata)
    if issubclass(hint, StrEnum):
        metadata[ALLOWED] = [member.value for member in hint]
        hint = str
    return StructField(name, _TYPES[hint], nullable=False, metadata=metadata)


TABLE_SCHEMAS: Final[dict[str, StructType]] = {
    name: _stored_type(row) for name, row in TABLES.items()
}
