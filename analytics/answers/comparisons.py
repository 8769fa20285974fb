"""Two runs: what is different, and whether that may be chance.

Source: Welch's test (Biometrika 34, 1947): means of two samples whose variances differ.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.chosen import Chosen, chosen_run

CONFIDENCE: Final = 0.95
_Z: Final = 1.959964
"""The quantile of the normal distribution for ``CONFIDENCE``, both sides."""
_BETA: Final = "org.apache.commons.math3.special.Beta"
"""A library that Spark brings."""


def run_samples(latency_facts: DataFrame, failovers: DataFrame) -> DataFrame:
    """Output: run, measure, value: what two runs are compared by.

    The p99 of each bucket and place (API and broker, log dir, client), and each failover's time.
    Buckets next to each other are alike, so an interval is narrower than that of new runs.
    """
    measures = {
        "client produce p99 us": (F.col(c.SCOPE) == "client"),
        "Produce request p99 us": (F.col(c.SCOPE) == "api") & (F.col(c.NAME) == "Produce"),
        "log dir append p99 us": (F.col(c.SCOPE) == "log_dir") & (F.col(c.OPERATION) == "append"),
        "log dir sync p99 us": (F.col(c.SCOPE) == "log_dir") & (F.col(c.OPERATION) == "sync"),
    }
    named = reduce(
        lambda case, one: case.when(one[1], one[0]), list(measures.items())[1:], _first(measures)
    )
    took = latency_facts.select(
        *c.RUN, named.alias(c.MEASURE), F.col(c.P99_US).cast("double").alias("value")
    )
    elected = failovers.select(
        *c.RUN,
        F.lit("log dir failure to election ms").alias(c.MEASURE),
        F.col(c.ELECTED_AFTER_MS).cast("double").alias("value"),
    )
    return took.unionByName(elected).where(
        F.col(c.MEASURE).isNotNull() & F.col("value").isNotNull()
    )


def comparisons(
    samples: DataFrame,
    runs: DataFrame,
    chosen: Chosen = Chosen(),  # noqa: B008 - immutable
) -> DataFrame:
    """Input: ``run_samples``, ``runs``. Output: one row per run with one before it, and measure.

    Where a run is chosen to be compared with, there are rows of the run that the report is about.
    ``difference`` is mean - base_mean, with its interval of 95 % (``ci_low``, ``ci_high``) by
    Welch; all three of ``ci_low``, ``ci_high`` and ``p_value`` are null where a run has one value,
    or where all values are alike.
    """
    summed = samples.groupBy(*c.RUN, c.MEASURE).agg(
        F.count(F.lit(1)).alias("n"), F.avg("value").alias("mean"), F.var_samp("value").alias("v")
    )
    pairs = _pairs(runs) if chosen.against is None else _chosen_pair(runs, chosen)
    base = summed.select(*[F.col(name).alias(f"base_{name}") for name in summed.columns])
    is_base = [F.col(f"base_{name}") == F.col(f"of_{name}") for name in c.RUN]
    both = (
        summed.join(F.broadcast(pairs), on=list(c.RUN), how="inner")
        .join(base, on=[*is_base, F.col(c.MEASURE) == F.col(f"base_{c.MEASURE}")], how="inner")
        .withColumn("error2", F.col("v") / F.col("n") + F.col("base_v") / F.col("base_n"))
        .withColumn("freedom", _freedom())
        .withColumn(c.DIFFERENCE, F.col("mean") - F.col("base_mean"))
    )
    error, difference = F.sqrt("error2"), F.col(c.DIFFERENCE)
    half = _t_quantile(F.col("freedom")) * error
    is_told = F.col("error2") > 0
    return both.select(
        *c.RUN,
        F.col(f"base_{c.RUN_ID}").alias(c.BASE_RUN_ID),
        F.col(f"base_{c.SEED}").alias(c.BASE_SEED),
        c.MEASURE,
        F.col("base_n").alias(c.BASE_COUNT),
        F.col("n").alias(c.COUNT),
        F.col("base_mean").alias(c.BASE_MEAN),
        F.col("mean").alias(c.MEAN),
        c.DIFFERENCE,
        F.when(is_told, difference - half).alias(c.CI_LOW),
        F.when(is_told, difference + half).alias(c.CI_HIGH),
        F.when(is_told, _p_value(difference / error, F.col("freedom"))).alias(c.P_VALUE),
    ).orderBy(*c.RUN, c.MEASURE)


def _first(measures: dict[str, Column]) -> Column:
    name, condition = next(iter(measures.items()))
    return F.when(condition, name)


def _pairs(runs: DataFrame) -> DataFrame:
    """Output: run, of_<each column of the run before>, of runs of one cluster."""
    by_time = Window.partitionBy(c.CLUSTER_ID).orderBy(c.FIRST_MS, c.RUN_ID, c.SEED)
    before = [F.lag(name).over(by_time).alias(f"of_{name}") for name in c.RUN]
    return runs.select(*c.RUN, *before).where(F.col(f"of_{c.RUN_ID}").isNotNull())


def _chosen_pair(runs: DataFrame, chosen: Chosen) -> DataFrame:
    """Output: as ``_pairs``, of one run and the one that it is compared with."""
    both = runs.agg(chosen_run(chosen.run).alias("own"), chosen_run(chosen.against).alias("base"))
    base = [F.col("base").getField(name).alias(f"of_{name}") for name in c.RUN]
    return both.select("own.*", *base).where(F.col(f"of_{c.RUN_ID}").isNotNull())


def _freedom() -> Column:
    """Welch-Satterthwaite: the degrees of freedom of the difference."""
    own = (F.col("v") / F.col("n")) ** 2 / (F.col("n") - 1)
    base = (F.col("base_v") / F.col("base_n")) ** 2 / (F.col("base_n") - 1)
    return F.when(F.col("error2") > 0, F.col("error2") ** 2 / (own + base))


def _t_quantile(freedom: Column) -> Column:
    """Student's quantile for ``CONFIDENCE``, to within a hundredth from 2 degrees on.

    Source: Abramowitz and Stegun, 26.7.5.
    """
    z = _Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    quantile = F.lit(z)
    for power, term in enumerate(terms, start=1):
        quantile = quantile + F.lit(term) / freedom**power
    return quantile


def _p_value(t: Column, freedom: Column) -> Column:
    """Return how likely chance alone makes a difference this large: the incomplete beta."""
    x = freedom / (freedom + t * t)
    beta = F.reflect(
        F.lit(_BETA), F.lit("regularizedBeta"), x, freedom / 2, F.lit(0.5).cast("double")
    )
    return beta.cast("double")
