"""Runs simulated plans for the command line: one with its files, many with their tally.

Prints nothing; who calls is told of lines and results as they come.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from jbodlab.worlds.node_logs import node_logs
from jbodlab.worlds.recording import Recorded, recording
from jbodlab.worlds.scenario_files import load_plan
from jbodlab.worlds.scenario_runs import run_simulated
from jbodlab.worlds.seed_records import SeedTask
from protocol.metrics.rows import NO_BROKER, RowOrigin
from simulation import rule_watch
from simulation.core.client_view import history_rows
from simulation.core.history import History
from simulation.core.history_text import edn_lines, json_lines
from simulation.core.plan import Plan
from simulation.core.plan_document import plan_text
from simulation.core.reproduction import reproduction
from simulation.core.rule_tally import RuleTally
from simulation.core.samples import Samples
from simulation.core.smaller_plan import reduced
from simulation.core.verdict import StoryLine
from simulation.loop_time import loop_now_us
from simulation.simulated_run import (
    Options,
    SimulatedRun,
    simulate,
    simulate_seed,
    simulated_spec,
)
from simulation.sweep import AHEAD_PER_JOB, processes, sweep
from simulation.tally import Tally
from simulation.world.clock import EPOCH_MS
from simulation.world.rows import RowKeeper

ATTEMPTS_MAX = 300
"""Runs that a reduction may take."""
_COMMIT_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asked for."""

    seed: int | None = None
    scenario: str | None = None
    experiment: str | None = None
    seeds: range | None = None
    jobs: int = 1
    keep_going: bool = False
    seconds: int | None = None
    rules: bool = False
    plan_file: Path | None = None
    history_file: Path | None = None
    dump_dir: Path | None = None
    log_file: Path | None = None
    reduce_dir: Path | None = None
    record_file: Path | None = None

    @property
    def world_seed(self) -> int:
        """The seed of everything that the plan leaves to chance."""
        return self.seed or 0

    @property
    def task(self) -> SeedTask:
        """What is run of each seed, where none is of a scenario."""
        return SeedTask(experiment=self.experiment, seconds=self.seconds)

    def plan(self) -> Plan:
        """Return the plan to run.

        Raises:
            LabError: BAD_CONFIG, as ``load_plan`` and ``load_experiment``.
        """
        if self.scenario is not None:
            return load_plan(self.scenario)
        return self.task.plan(self.world_seed)

    def replay(self, seed: int) -> str:
        """Return the command that runs a seed of this request again."""
        if self.scenario is None:
            return self.task.replay(seed)
        words = f"jbodlab simulate --scenario {self.scenario} --seed {seed}"
        return words if self.seconds is None else f"{words} --seconds {self.seconds}"


def run_one(request: Request, plan: Plan, show: Callable[[StoryLine], None]) -> SimulatedRun:
    """Run a plan, and write the files that were asked for.

    Raises:
        LabError: USAGE when it cannot run in this world, FAILED when the cluster does not start.
    """
    if request.plan_file is not None:
        request.plan_file.write_text(plan_text(plan), encoding="utf-8")
    rows = RowKeeper()

    def keep(history: History) -> None:
        if request.history_file is not None:
            _write_history(request.history_file, history)
        if request.dump_dir is not None:
            rows.keep(NO_BROKER, history_rows(history, EPOCH_MS))

    story: list[tuple[int, StoryLine]] = []
    taken: list[Samples] = []

    def show_and_record(line: StoryLine) -> None:
        story.append((loop_now_us(), line))
        show(line)

    options = Options(show=show_and_record, keep_history=keep, keep_samples=taken.append)
    if request.dump_dir is not None:
        options = replace(options, new_row_writer=rows.new_writer)
    run = run_simulated(plan, request.world_seed, options, request.log_file)
    if request.record_file is not None and taken:
        recorded = Recorded(taken[0], simulated_spec(plan.cluster), story)
        content = recording(
            recorded,
            name=plan.name,
            seed=request.world_seed,
            replay=request.replay(request.world_seed),
            is_ok=run.verdict.is_ok,
        )
        request.record_file.write_bytes(msgspec.json.encode(content))
    if request.dump_dir is not None:
        asyncio.run(rows.write(str(request.dump_dir), _origin(plan, run)))
    return run


def _origin(plan: Plan, run: SimulatedRun) -> RowOrigin:
    """Name a run after its seed and what happened, so that the same one written twice is one."""
    return RowOrigin(
        cluster_id=simulated_spec(plan.cluster).cluster_id,
        run_id=f"seed-{run.seed}-{run.trace_hash[:12]}",
        seed=run.seed,
    )


def new_tally(request: Request) -> Tally:
    """Return the empty tally of what ``run_many`` runs."""
    return Tally(rules=RuleTally(rule_watch.all_outcomes()) if request.rules else None)


def run_many(
    request: Request, seeds: Iterable[int], tally: Tally, on_run: Callable[[SimulatedRun], None]
) -> list[SimulatedRun]:
    """Run seeds to the first violation, or all where the request keeps going.

    Add each to ``tally``, which is good at any time; return the runs that have violations.

    Raises:
        LabError: as ``run_one``.
    """
    with processes(request.jobs, rule_watch.watch if request.rules else None) as executor:
        run_seed = partial(run_watched if request.rules else run_quietly, request.seconds)
        swept = sweep(seeds, run_seed, executor, request.jobs * AHEAD_PER_JOB)
        runs = (run for _, run in swept)
        return add_all(tally, runs, on_run, keep_going=request.keep_going)


def add_all(
    tally: Tally,
    runs: Iterable[SimulatedRun],
    on_run: Callable[[SimulatedRun], None],
    *,
    keep_going: bool,
) -> list[SimulatedRun]:
    """Add runs to a tally, to the first violation or all; return those that have violations."""
    failed: list[SimulatedRun] = []
    for run in runs:
        tally.add(run)
        on_run(run)
        if not run.verdict.is_ok:
            failed.append(run)
            if not keep_going:
                break
    return failed


def run_quietly(seconds: int | None, seed: int) -> SimulatedRun:
    """Run what a seed draws, without a word, and measure what it takes."""
    began_s = time.process_time()
    with node_logs(None):
        run = simulate_seed(seed, seconds)
    return replace(run, cpu_s=time.process_time() - began_s)


def run_watched(seconds: int | None, seed: int) -> SimulatedRun:
    """Do as ``run_quietly``, in a process in which ``rule_watch.watch`` was called."""
    rule_watch.outcomes_seen()
    run = run_quietly(seconds, seed)
    return replace(run, rules=rule_watch.outcomes_seen())


def reduce_run(
    plan: Plan, failed: SimulatedRun, folder: Path, on_attempt: Callable[[Plan], None]
) -> list[Path]:
    """Reduce a plan that failed, and write it into a folder with a test; return both files."""
    checkers = {violation.checker: None for violation in failed.verdict.violations}
    last = failed.verdict.violations

    def still_fails(candidate: Plan) -> bool:
        nonlocal last
        on_attempt(candidate)
        with node_logs(None):
            found = simulate(candidate, failed.seed).verdict.violations
        fails = any(violation.checker in checkers for violation in found)
        if fails:
            last = found
        return fails

    small = reduced(plan, still_fails, ATTEMPTS_MAX)
    files = reproduction(small, failed.seed, last)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / files.plan_name, folder / files.test_name]
    for path, text in zip(written, (files.plan, files.test), strict=True):
        path.write_text(text, encoding="utf-8")
    return written


def commit(module: Path = Path(__file__)) -> str | None:
    """Return the commit of this code, if it runs from a repository.

    Installed, it may lie below a repository that does not hold it: ``module`` is looked up.
    """
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD", f"HEAD:./{module.name}"],
            cwd=module.parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return found.stdout[:_COMMIT_DIGITS] if found.returncode == 0 else None


def _write_history(path: Path, history: History) -> None:
    lines = edn_lines(history) if path.suffix == ".edn" else json_lines(history)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
