"""``scenario``: lists, checks and runs scenario files, in a simulated world or in real processes.

What they can say is in docs/scenario-language.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from jbodlab.commands.scenario_names import complete_scenarios
from jbodlab.commands.widths import PIPE_WIDTH
from jbodlab.errors import ExitCode, LabError
from simulation.core.plan import WORLDS, Plan, World

if TYPE_CHECKING:
    from simulation.core.verdict import StoryLine, Verdict

BOTH: Final = "both"


@click.group(short_help="Run written situations and judge them.")
def scenario() -> None:
    """Run written scenarios: clusters, faults and what must come of them."""


@scenario.command("list")
@click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
def list_scenarios(is_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Name the scenarios that come with jbodlab."""
    # What reads and runs scenarios takes a moment to load: no help waits for it, here and below.
    from jbodlab.worlds.scenario_files import load_plan, shipped_files  # noqa: PLC0415

    plans = [load_plan(str(file)) for file in shipped_files()]
    if is_json:
        rows = [
            {
                "name": plan.name,
                "shows": plan.shows,
                "scenarios": list(plan.scenarios),
                "worlds": _worlds(plan),
                "because": _because(plan),
            }
            for plan in plans
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "shows", "numbers", "worlds")
    for plan in plans:
        numbers = ", ".join(map(str, plan.scenarios))
        worlds = ", ".join(_worlds(plan))
        because = _because(plan)
        table.add_row(
            plan.name, plan.shows, numbers, worlds if because is None else f"{worlds}: {because}"
        )
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(highlight=False, width=width).print(table)


@scenario.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "is_json", is_flag=True, help="Write one line of JSON per file.")
def check(files: tuple[str, ...], is_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Read scenario FILEs and tell every mistake in them."""
    from jbodlab.worlds.scenario_files import load_plan  # noqa: PLC0415

    for file in files:
        plan = load_plan(file)
        steps = len(plan.actions)
        content = {"file": file, "name": plan.name, "steps": steps}
        click.echo(
            json.dumps(content) if is_json else f"{file}: {plan.name}, {steps} steps, is well"
        )


@scenario.command(short_help="Run a scenario, tell its story and judge it.")
@click.argument("name", metavar="NAME|FILE", required=False, shell_complete=complete_scenarios)
@click.option("--all", "is_all", is_flag=True, help="Run all that come with jbodlab.")
@click.option("--world", type=click.Choice((*WORLDS, BOTH)), default="simulated", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of all that chance decides.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where real processes keep logs and data; without it they are removed.",
)
@click.option(
    "--keep-log",
    "log_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what the nodes of a simulated world log here, with virtual times.",
)
@click.option("--json", "is_json", is_flag=True, help="Write the verdict as JSON.")
# Any: click passes the rest of the options by name.
def run(name: str | None, *, is_all: bool, is_json: bool, **options: Any) -> None:
    """Run the scenario NAME, or one in a FILE, and tell its story and what came of it.

    With --all, or in both worlds, a table tells what came. The exit code is 12 when a checker
    found anything, or a step did not go as written.
    """
    world: World | Literal["both"] = options["world"]
    if options["log_file"] is not None and world != "simulated":
        raise click.UsageError("--keep-log is for the simulated world; real processes: --folder")
    if (name is None) != is_all:
        raise click.UsageError("give NAME or FILE, or --all")
    if name is not None and world != BOTH:
        _run_one(_Request(name, **options), is_json=is_json)
        return
    if (options["folder"], options["log_file"]) != (None, None):
        raise click.UsageError("--folder and --keep-log are for one run in one world")
    from jbodlab.worlds.scenario_files import shipped_files  # noqa: PLC0415

    names = [str(file) for file in shipped_files()] if name is None else [name]
    worlds = WORLDS if world == BOTH else (world,)
    _run_many(names, worlds, options["seed"], is_json=is_json)


class _Request(NamedTuple):
    """One run in one world."""

    name: str
    world: World
    seed: int
    folder: Path | None
    log_file: Path | None


def _run_one(request: _Request, *, is_json: bool) -> None:
    from jbodlab.commands.run_summary import (  # noqa: PLC0415
        checks_lines,
        outcome_line,
        verdict_content,
    )
    from jbodlab.worlds.scenario_files import load_plan  # noqa: PLC0415
    from jbodlab.worlds.scenario_runs import run_scenario  # noqa: PLC0415

    name, world, seed, folder, log_file = request
    plan = load_plan(name)
    show = partial(_show, is_json=is_json)
    verdict = run_scenario(plan, world, seed, folder=folder, log_file=log_file, show=show).verdict
    if is_json:
        click.echo(json.dumps(verdict_content(verdict), indent=2))
    else:
        click.echo("\n".join([outcome_line(verdict), *checks_lines(verdict)]))
    if not verdict.is_ok:
        found = "\n".join(f"  {violation}" for violation in verdict.violations)
        again = f"jbodlab scenario run {name} --world {world} --seed {seed}"
        raise LabError(
            ExitCode.VIOLATION,
            f"{plan.name}: {len(verdict.violations)} violation(s)\n{found}\nagain: {again}",
        )


def _run_many(names: Sequence[str], worlds: Sequence[World], seed: int, *, is_json: bool) -> None:
    from jbodlab.commands.run_summary import coverage_lines  # noqa: PLC0415
    from jbodlab.commands.scenario_table import run_table, show_rows  # noqa: PLC0415
    from jbodlab.worlds.scenario_files import load_plan  # noqa: PLC0415
    from jbodlab.worlds.scenario_runs import run_scenario  # noqa: PLC0415
    from simulation.core.coverage import Coverage  # noqa: PLC0415

    plans = [load_plan(name) for name in names]
    coverage = Coverage()

    def run(plan: Plan, world: World) -> Verdict:
        found = run_scenario(plan, world, seed)
        coverage.add(found.transitions)
        return found.verdict

    rows = run_table(plans, worlds, run)
    show_rows(rows, is_json=is_json)
    if len(plans) > 1 and "simulated" in worlds and not is_json:
        click.echo("\n".join(coverage_lines(coverage)))
    wrong = [f"{row.name} ({row.world})" for row in rows if not row.is_ok]
    if wrong:
        raise LabError(ExitCode.VIOLATION, f"not as they must be: {', '.join(wrong)}")


def _show(line: StoryLine, *, is_json: bool) -> None:
    click.echo(str(line), err=is_json)


def _worlds(plan: Plan) -> list[World]:
    """Return where it can run: real processes can do less than a simulation."""
    from simulation.core.capability import why_not  # noqa: PLC0415

    return [world for world in WORLDS if why_not(plan, world) is None]


def _because(plan: Plan) -> str | None:
    """Return why it does not run in every world; None: it does."""
    from simulation.core.capability import why_not  # noqa: PLC0415

    reasons = [reason for world in WORLDS if (reason := why_not(plan, world)) is not None]
    return " ".join(reasons) or None
