"""Remembers which files of a dump earlier reports into a folder have read, to read only new ones.

It parses nothing. Their good rows are those that the reports left in ``rows``; the lines that are
not plain are kept beside them. Nodes only append to files: of a file that has grown all lines are
read again, and its rows that are there already count once, as those of a copied file do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.read import DumpFile, count_lines, list_files, read_files
from analytics.schema import TABLE_SCHEMAS
from analytics.source import Source

FOLDED: Final = "folded.json"
"""The files that were read, below the folder of tables; written last."""
ODD: Final = "odd"
"""The table of lines that are not plain, to be looked at again by each report."""
_ODD_COLUMNS: Final = f"{c.TABLE} string, {c.LINE} string, {c.FILE} string, {c.VERSION} int"
_TABLE: Final = re.compile(rf".*/({'|'.join(TABLE_SCHEMAS)})/v[^/]*/")


class FoldedFile(NamedTuple):
    """A file when it was read."""

    size_bytes: int
    modified_ms: int
    line_count: int


class Folding(NamedTuple):
    """What one report reads, and what it takes from those before it."""

    source: Source
    """Files that are new or have grown."""
    rows: Mapping[str, DataFrame]
    """Good rows that are known, by table; tables without any may be missing."""
    odd: DataFrame | None
    """Lines of files that are not read again: table, line, file, version."""
    files: Mapping[str, FoldedFile] | None
    """All files of the new report, by name; None: it remembers none.

    A file that grew since it was listed may say too few lines: the next report reads it again.
    """
    kept_lines: Mapping[str, int]
    """How many lines the files have that are not read again, by table."""


def whole(source: Source) -> Folding:
    """Return the folding of a report that reads everything, and remembers nothing."""
    return Folding(source, {}, None, None, {})


def only_new(spark: SparkSession, source: Source, dump: str, out: str) -> Folding:
    """Return the folding of a report that reads what is new since the last one of its kind.

    Where there was none, or one by another schema of rows, or a file has become smaller, that is
    everything. Files that are gone stay known.
    """
    there = list_files(spark, dump)
    known = _remembered(spark, out)
    if any(there[file].size_bytes < known[file].size_bytes for file in known.keys() & there.keys()):
        known = {}
    kept = {file: known[file] for file in known if not _has_changed(known[file], there.get(file))}
    new = {file: there[file] for file in there if file not in kept and table_of(file)}
    counts = count_lines(spark, [each.path for each in new.values()])
    read = {
        file: FoldedFile(each.size_bytes, each.modified_ms, counts.get(file, 0))
        for file, each in new.items()
    }
    lines_of = partial(_lines_of, spark, new)
    rows = {table: _rows(spark, out, table) for table in TABLE_SCHEMAS} if known else {}
    odd = _odd(spark, out, sorted(known.keys() - kept.keys())) if known else None
    kept_lines: Counter[str] = Counter()
    for file, folded in kept.items():
        kept_lines[table_of(file)] += folded.line_count
    return Folding(source._replace(lines_of=lines_of), rows, odd, kept | read, kept_lines)


def folded_text(files: Mapping[str, FoldedFile]) -> str:
    """Return the text to be written as ``FOLDED``."""
    return json.dumps({"schemas": _schemas(), "files": files})


def table_of(file: str) -> str:
    """Return the metric table of a file of a dump; "" for what is none."""
    match = _TABLE.match(file)
    return match[1] if match else ""


def _has_changed(folded: FoldedFile, now: DumpFile | None) -> bool:
    """Tell whether a file is there and not as it was."""
    return now is not None and folded[:2] != (now.size_bytes, now.modified_ms)


def _remembered(spark: SparkSession, out: str) -> dict[str, FoldedFile]:
    try:
        [row] = spark.read.text(f"{out}/{FOLDED}", wholetext=True).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    known: dict[str, Any] = json.loads(row["value"])
    if known["schemas"] != _schemas():
        return {}
    return {file: FoldedFile(*numbers) for file, numbers in known["files"].items()}


def _schemas() -> dict[str, str]:
    return {table: schema.simpleString() for table, schema in TABLE_SCHEMAS.items()}


def _lines_of(spark: SparkSession, new: Mapping[str, DumpFile], table: str) -> DataFrame:
    paths = [each.path for file, each in new.items() if table_of(file) == table]
    return read_files(spark, paths, table)


def _rows(spark: SparkSession, out: str, table: str) -> DataFrame:
    schema = TABLE_SCHEMAS[table]
    return spark.read.schema(schema).parquet(f"{out}/rows/{table}").select(*schema.names)


def _odd(spark: SparkSession, out: str, read_again: list[str]) -> DataFrame:
    odd = spark.read.schema(_ODD_COLUMNS).parquet(f"{out}/{ODD}")
    return odd.where(~F.col(c.FILE).isin(read_again))
