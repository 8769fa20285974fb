"""Every table of a report by its name, with what makes it from which others. It writes none.

Good rows of a metric table are called ``rows/<table>`` here, facts ``facts/<name>``.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from pyspark.sql import DataFrame

from analytics.answers.comparisons import comparisons, run_samples
from analytics.answers.imbalance import imbalance
from analytics.answers.outages import Seen, outages
from analytics.answers.plan_scores import plan_scores
from analytics.answers.reassignment_facts import reassignment_facts
from analytics.answers.reassignments import reassignments
from analytics.answers.slow_log_dirs import slow_log_dirs, slowness
from analytics.answers.throttle_costs import throttle_costs
from analytics.chosen import Chosen
from analytics.facts.all_facts import FACTS, FactsOf
from analytics.facts.buckets import with_event_time
from analytics.steps import Step
from analytics.transforms.failovers import failover_durations, failover_steps, failovers
from analytics.transforms.latencies import latencies
from analytics.transforms.log_dirs import log_dirs
from analytics.transforms.moves import moves
from analytics.transforms.partitions import partitions
from analytics.transforms.recoveries import client_recoveries
from analytics.transforms.requests import requests
from analytics.transforms.runs import runs

RESULTS: Final = (
    "runs",
    "log_dirs",
    "failovers",
    "failover_steps",
    "failover_durations",
    "moves",
    "partitions",
    "requests",
    "latencies",
    "imbalance",
    "slow_log_dirs",
    "throttle_costs",
    "reassignments",
    "outages",
    "plan_scores",
    "comparisons",
    "checks",
)
"""What a report shows."""
SLOWNESS: Final = "slowness"
"""A fact that comes from ``latency_facts``."""
SHOWN_FACTS: Final = ("log_dir_facts", "latency_facts", SLOWNESS)
"""Facts that answers and pictures need; the others are written for a bucket that is named."""
REASSIGNMENT_FACTS: Final = "reassignment_facts"
"""Facts that come from an answer, of several metric tables: a stream makes none."""
ALL_FACTS: Final = (*FACTS, REASSIGNMENT_FACTS, SLOWNESS)
"""What is written for a bucket that is named."""
BUCKET: Final = "bucket"
"""The step whose outcome is the length of the facts' buckets, such as "10 seconds"."""


def _failover_steps(events: DataFrame, replicas: DataFrame, clients: DataFrame) -> DataFrame:
    return failover_steps(events.unionByName(client_recoveries(events, replicas, clients)))


def _outages(
    log_dirs: DataFrame,
    replicas: DataFrame,
    events: DataFrame,
    clients: DataFrame,
    failovers: DataFrame,
) -> DataFrame:
    return outages(Seen(log_dirs, replicas, events, clients), failovers)


def _comparisons(
    chosen: Chosen, latency_facts: DataFrame, failovers: DataFrame, runs: DataFrame
) -> DataFrame:
    return comparisons(run_samples(latency_facts, failovers), runs, chosen)


def _facts(of: FactsOf, rows: DataFrame, bucket: str) -> DataFrame:
    return of(with_event_time(rows), bucket)


_COMPARED: Final = ("facts/latency_facts", "failovers", "runs")
_REASSIGNED: Final = ("rows/reassignment_progress", "rows/replica", "rows/latency")
_REASSIGNED_IN_BUCKETS: Final = (
    *("reassignments", "rows/reassignment_progress", "rows/replica", "facts/latency_facts"),
    BUCKET,
)
_SEEN: Final = ("rows/log_dir", "rows/replica", "rows/failover_event", "rows/client")
PLAIN: Final[dict[str, Step]] = {
    "runs": Step(runs, ("rows/log_dir",)),
    "log_dirs": Step(log_dirs, ("rows/log_dir", "rows/replica")),
    "failover_steps": Step(_failover_steps, ("rows/failover_event", "rows/replica", "rows/client")),
    "failovers": Step(failovers, ("failover_steps",)),
    "failover_durations": Step(failover_durations, ("failovers",)),
    "moves": Step(moves, ("rows/move_progress",)),
    "partitions": Step(partitions, ("rows/replica",)),
    "requests": Step(requests, ("rows/request",)),
    "latencies": Step(latencies, ("rows/latency",)),
}
"""Results from rows, and from each other; ``checks`` come from what was read, too."""
ANSWERS: Final[dict[str, Step]] = {
    "imbalance": Step(imbalance, ("facts/log_dir_facts",)),
    "slow_log_dirs": Step(slow_log_dirs, (f"facts/{SLOWNESS}", "failovers")),
    "throttle_costs": Step(throttle_costs, ("moves", "rows/latency")),
    "reassignments": Step(reassignments, _REASSIGNED),
    "outages": Step(_outages, (*_SEEN, "failovers")),
    "comparisons": Step(partial(_comparisons, Chosen()), _COMPARED),
}
"""Results that facts are needed for, and other answers."""


def facts_steps(names: tuple[str, ...]) -> dict[str, Step]:
    """Return what makes facts, of ``ALL_FACTS``, by their name alone."""
    steps = {
        name: Step(partial(_facts, fact.of), (f"rows/{fact.source}", BUCKET))
        for name, fact in FACTS.items()
    }
    steps[REASSIGNMENT_FACTS] = Step(reassignment_facts, _REASSIGNED_IN_BUCKETS)
    steps[SLOWNESS] = Step(slowness, ("facts/latency_facts",))
    return {name: steps[name] for name in names}


def comparisons_step(chosen: Chosen) -> Step:
    """Return what compares the runs that are chosen."""
    return Step(partial(_comparisons, chosen), _COMPARED)


def plan_step(plan: DataFrame) -> Step:
    """Return what scores a plan, given as ``plan_scores.PLAN``."""
    return Step(partial(plan_scores, plan), ("log_dirs", "rows/replica", "partitions"))
