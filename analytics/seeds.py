"""Runs seeds as Spark tasks and keeps what came of them. How a seed is run, others know.

Below ``out``: ``seeds``, ``failovers``, ``failover_durations``, ``distributions``, ``outliers``,
and ``report.html``, a page of pictures. No seed stops the others. Tasks take plain Python values,
so neither pandas nor Arrow is needed; every machine of a cluster needs jbodlab itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from analytics import columns as c
from analytics.clean import good_rows, parsed_lines
from analytics.findings import RowDict
from analytics.pictures.seeds_page import seeds_page_text
from analytics.pictures.vega import DrawingMissing, vega_script
from analytics.tables import Tables, collected
from analytics.transforms.failovers import failover_durations, failover_steps, failovers
from analytics.transforms.seeds import SEED, distributions, event_lines, outliers

SEEDS_OF_A_TASK: Final = 25
PAGE: Final = "report.html"
SHOWN: Final = ("distributions", "outliers")
ROWS_SHOWN_MAX: Final = 1_000

SeedTables = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows of the tables in ``SHOWN``, by their name."""


def run_seeds(
    spark: SparkSession, record_text: Callable[[int], str], seeds: range, out: str
) -> SeedTables:
    """Run ``seeds``, replace the tables below ``out``, return those that are shown.

    ``record_text`` runs one seed in a process of Spark and returns a row of ``SEED`` as JSON; it
    and what it needs are sent there.
    """
    tables = Tables(spark, out)
    tables.forget_killed()
    try:
        tables.write_many("seeds", _records(spark, record_text, seeds))
        found = tables.stored("seeds")
        rows = good_rows(parsed_lines(event_lines(found), "failover_event"), "failover_event")
        tables.write("failovers", failovers(failover_steps(rows)))
        tables.write("failover_durations", _over_all_seeds(tables.stored("failovers")))
        tables.write("distributions", distributions(found))
        tables.write("outliers", outliers(found))
        shown = collected({name: tables.stored(name) for name in SHOWN}, ROWS_SHOWN_MAX)
        _write_page(tables, shown)
        tables.publish([PAGE])
    except BaseException:
        tables.discard()
        raise
    return shown


def _write_page(tables: Tables, shown: Mapping[str, Sequence[RowDict]]) -> None:
    try:
        script = vega_script()
    except DrawingMissing:
        return
    tables.write_text(PAGE, seeds_page_text(shown, script))


def _records(spark: SparkSession, record_text: Callable[[int], str], seeds: range) -> DataFrame:
    # Without "nondeterministic" Spark might run a seed once for each column that it reads.
    run = F.udf(record_text, StringType(), useArrow=False).asNondeterministic()
    tasks = -(-len(seeds) // SEEDS_OF_A_TASK)
    text = spark.range(seeds.start, seeds.stop, 1, tasks).select(run("id").alias("text"))
    record = text.select(F.explode(F.array(F.from_json("text", SEED))).alias("record"))
    return record.select("record.*")


def _over_all_seeds(found: DataFrame) -> DataFrame:
    """Return durations by cause and size, over all seeds together."""
    every = {c.CLUSTER_ID: F.lit(""), c.RUN_ID: F.lit(""), c.SEED: F.lit(-1)}
    return failover_durations(found.withColumns(every)).drop(*c.RUN)
