"""What a dump that is being written comes to, again and again: by one Spark action each time.

Tables are not stored: ``jbodlab report`` does so when the story is over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from analytics.answers.reassignments import reassignments
from analytics.clean import native_lines, plain_rows
from analytics.distinct import distinct_rows
from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from analytics.facts.log_dirs import log_dir_facts
from analytics.pictures.page import page_text
from analytics.pictures.vega import DrawingMissing, vega_script
from analytics.read import read_lines
from analytics.schema import TABLE_SCHEMAS
from analytics.session import suited_to
from analytics.shown import latest_of, rows_shown
from analytics.tail import Tail
from analytics.transforms.failovers import failover_steps, failovers
from analytics.transforms.log_dirs import log_dirs
from analytics.transforms.moves import moves
from analytics.transforms.runs import runs

BUCKET: Final = "2 seconds"
RELOAD_S: Final = 2
ROWS_MAX: Final = 30_000
WINDOW_BYTES_MAX: Final = 8 << 20
"""What is looked at: of three idle brokers an hour, under load some minutes."""

Tables: TypeAlias = dict[str, list[dict[str, Any]]]


def live_tables(spark: SparkSession, folder: str) -> Tables:
    """Return what the latest run in ``folder`` comes to now, by table."""
    with suited_to(spark, 0):
        rows = {table: _rows(spark, folder, table) for table in TABLE_SCHEMAS}
        try:
            frames = _frames(rows)
            return rows_shown(frames, partial(latest_of, frames["runs"]), ROWS_MAX).rows
        finally:
            for frame in rows.values():
                frame.unpersist()


def follow(
    spark: SparkSession, tail: Tail, show: Callable[[Tables], None], goes_on: Callable[[], bool]
) -> None:
    """Show what there is whenever something is new, until ``goes_on``, asked after, is false."""
    while True:
        if tail.take():
            show(live_tables(spark, str(tail.window)))
        if not goes_on():
            return


class LivePage:
    """The page of a dump that is followed: browsers read it again by themselves."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.path = out / "live.html"
        try:
            self._script: str | None = vega_script()
        except DrawingMissing:
            self._script = None

    def write(self, tables: Tables) -> None:
        """Write it in the place of the last one."""
        if self._script is None:
            return
        beside = self.path.with_suffix(".new")
        text = page_text(tables, self._script, reload_s=RELOAD_S)
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path)


def _rows(spark: SparkSession, folder: str, table: str) -> DataFrame:
    good = plain_rows(native_lines(read_lines(spark, folder, table), table), table)
    return distinct_rows(good, table).coalesce(1).cache()


def _frames(rows: dict[str, DataFrame]) -> dict[str, DataFrame]:
    steps = failover_steps(rows["failover_event"])
    return {
        "runs": runs(rows["log_dir"]),
        "log_dirs": log_dirs(rows["log_dir"], rows["replica"]),
        "failovers": failovers(steps),
        "failover_steps": steps,
        "moves": moves(rows["move_progress"]),
        "reassignments": reassignments(
            rows["reassignment_progress"], rows["replica"], rows["latency"]
        ),
        "log_dir_facts": log_dir_facts(with_event_time(rows["log_dir"]), BUCKET),
        "latency_facts": latency_facts(with_event_time(rows["latency"]), BUCKET),
    }
