"""Reads rows of older table versions as today's: what a version added gets the value it then had.

To change a table: raise ``TABLE_VERSION`` and tell here what the new columns are in older rows.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from analytics import columns as c
from protocol.metrics.rows import NO_RUN, NO_SEED, TABLES

Default: TypeAlias = str | int | bool

_ORIGIN: Final[dict[str, Default]] = {c.CLUSTER_ID: "", c.RUN_ID: NO_RUN, c.SEED: NO_SEED}
_ADDED: Final[dict[int, dict[str, dict[str, Default]]]] = {
    2: {
        **dict.fromkeys(TABLES, _ORIGIN),
        "log_dir": {**_ORIGIN, c.INTERVAL_MS: -1},
        "replica": {**_ORIGIN, c.INTERVAL_MS: -1, c.IS_UNDER_MIN_ISR: False},
        "move_progress": {**_ORIGIN, c.THROTTLE_BYTES_PER_S: -1},
    }
}
"""Version -> table -> its new columns, with what they are in rows of the versions before."""


def added_later(table: str, version: int) -> dict[str, Default]:
    """Return the columns that rows of ``version`` do not have yet, with their values."""
    added: dict[str, Default] = {}
    for later, tables in _ADDED.items():
        if later > version:
            added |= tables.get(table, {})
    return added


def older_versions() -> list[int]:
    """Return every version before today's."""
    return list(range(1, max(_ADDED)))


def columns_of(table: str, rows: StructType, version: int) -> list[StructField]:
    """Return the columns that lines of ``version`` have to have; newer ones have today's."""
    later = added_later(table, version)
    return [field for field in rows.fields if field.name not in later]


def upcast(value: Column, table: str, name: str) -> Column:
    """Return a column of today's as it is, or as it was in the version of its row."""
    for version in older_versions():
        default = added_later(table, version).get(name)
        if default is not None:
            value = F.when(F.col(c.VERSION) <= version, F.lit(default)).otherwise(value)
    return value
