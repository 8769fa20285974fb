"""Every answer by its name, out of rows, results and facts."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from analytics.answers.comparisons import comparisons, run_samples
from analytics.answers.imbalance import imbalance
from analytics.answers.outages import Seen, outages
from analytics.answers.plan_scores import plan_scores
from analytics.answers.slow_log_dirs import slow_log_dirs
from analytics.answers.throttle_costs import throttle_costs


def answers(
    rows: Mapping[str, DataFrame], found: Mapping[str, DataFrame], plan: DataFrame | None
) -> dict[str, DataFrame]:
    """Return the answers.

    Args:
        rows: good rows, by metric table.
        found: results and facts, by name.
        plan: as ``plan_scores.PLAN``; without one, plans are not scored.
    """
    seen = Seen(rows["log_dir"], rows["replica"], rows["failover_event"], rows["client"])
    samples = run_samples(found["latency_facts"], found["failovers"])
    scored: dict[str, DataFrame] = {}
    if plan is not None:
        measured = found["log_dirs"], rows["replica"], found["partitions"]
        scored["plan_scores"] = plan_scores(plan, *measured)
    return scored | {
        "imbalance": imbalance(found["log_dir_facts"]),
        "slow_log_dirs": slow_log_dirs(found["slowness"], found["failovers"]),
        "throttle_costs": throttle_costs(found["moves"], rows["latency"]),
        "outages": outages(seen, found["failovers"]),
        "comparisons": comparisons(samples, found["runs"]),
    }
