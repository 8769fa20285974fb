"""Runs one seed anywhere, such as in a Spark task, and tells of it in plain values.

Whatever happens in a run, also an error of our own, is told: no seed stops the others.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from jbodlab.worlds.experiment_files import load_experiment
from jbodlab.worlds.scenario_runs import run_simulated
from protocol.metrics.rows import ClientRow, FailoverEventRow, RowOrigin
from protocol.metrics.topic import record_value
from protocol.metrics.writer import line_begins
from simulation.core.client_view import history_rows
from simulation.core.history import History
from simulation.core.plan import Plan
from simulation.simulated_run import (
    Options,
    SimulatedRun,
    draw_streams,
    features_of_seed,
    plan_of_seed,
    simulated_spec,
)
from simulation.world.clock import EPOCH_MS
from simulation.world.rows import RowKeeper

SILENT_MS_MIN: Final = 1_000
"""A partition that took no record for so long counts as silent."""
_ERROR_LINES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedTask:
    """What is run of each seed. It can be sent between processes."""

    experiment: str | None = None
    """Name or file; None: what the seed draws."""
    seconds: int | None = None
    """How long a drawn story lasts; None: as drawn."""

    def plan(self, seed: int) -> Plan:
        """Return the plan of a seed.

        Raises:
            LabError: BAD_CONFIG, as ``load_experiment``.
        """
        if self.experiment is None:
            return plan_of_seed(seed, self.seconds)
        return load_experiment(self.experiment).plan(seed, draw_streams(seed))

    def cell(self, seed: int) -> dict[str, str]:
        """Return the factors of a seed's run; none of a drawn one."""
        return {} if self.experiment is None else load_experiment(self.experiment).cell(seed)

    def features(self, seed: int) -> list[str]:
        """Return what is on in a drawn plan."""
        return [] if self.experiment is not None else sorted(features_of_seed(seed).names)

    def replay(self, seed: int) -> str:
        """Return the command that runs a seed again."""
        words = ["jbodlab simulate --seed", str(seed)]
        words += [] if self.experiment is None else ["--experiment", self.experiment]
        words += [] if self.seconds is None else ["--seconds", str(self.seconds)]
        return " ".join(words)


def seed_record(task: SeedTask, seed: int) -> dict[str, Any]:
    """Run a seed; return one flat record, its columns as in docs/analytics.md (``seeds``)."""
    record: dict[str, Any] = {
        "seed": seed,
        "replay": task.replay(seed),
        "cell": task.cell(seed),
        "features": task.features(seed),
    }
    try:
        return record | _run(task.plan(seed), seed)
    except Exception:  # noqa: BLE001 - the record says so
        lines = traceback.format_exc().splitlines()[-_ERROR_LINES:]
        return record | {"is_ok": False, "error": "\n".join(lines)}


def _run(plan: Plan, seed: int) -> dict[str, Any]:
    rows, seen = RowKeeper(), list[ClientRow]()

    def keep(history: History) -> None:
        rows_seen = history_rows(history, EPOCH_MS)
        seen.extend(each for each in rows_seen if isinstance(each, ClientRow))

    options = Options(keep_history=keep, new_row_writer=rows.new_writer)
    run = run_simulated(plan, seed, options)
    events = [row for kept in rows.kept for row in kept.rows if isinstance(row, FailoverEventRow)]
    return {
        **_outcome(run),
        **_shape(plan),
        "unavailable_ms": max((each.silence_ms for each in seen), default=0),
        "silent_partition_count": len(
            {(each.topic, each.partition) for each in seen if each.silence_ms >= SILENT_MS_MIN}
        ),
        "event_lines": _lines(plan, run, events),
    }


def _outcome(run: SimulatedRun) -> dict[str, Any]:
    verdict = run.verdict
    return {
        "is_ok": verdict.is_ok,
        "error": "",
        "violations": [str(each) for each in verdict.violations],
        "trace_hash": run.trace_hash,
        "steps": run.steps,
        "virtual_ms": run.virtual_ms,
        "acknowledged_count": verdict.acknowledged,
        "read_count": verdict.read,
        "healed_after_ms": verdict.healed_after_ms,
        "fault_hits": dict(sorted(run.fired.items())),
    }


def _shape(plan: Plan) -> dict[str, Any]:
    cluster = plan.cluster
    return {
        "plan": plan.name,
        "broker_count": cluster.brokers,
        "log_dir_count": cluster.log_dirs,
        "heartbeat_interval_ms": cluster.heartbeat_interval_ms,
        "session_timeout_ms": cluster.session_timeout_ms,
        "configs": dict(cluster.configs),
    }


def _lines(plan: Plan, run: SimulatedRun, events: Iterable[FailoverEventRow]) -> list[str]:
    """Return failover events as a dump has them: each seed is a run of its own."""
    begins = line_begins(
        RowOrigin(
            cluster_id=simulated_spec(plan.cluster).cluster_id,
            run_id=f"seed-{run.seed}-{run.trace_hash[:12]}",
            seed=run.seed,
        )
    )
    return [record_value(begins, each).decode() for each in events]


def record_text(task: SeedTask, seed: int) -> str:
    """Run a seed; return its record as one line of JSON."""
    return json.dumps(seed_record(task, seed))
