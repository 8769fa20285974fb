"""``scenario``: lists, checks and runs scenario files, in a simulated world or in real processes.

What they can say is in docs/scenario-language.md.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from jbodlab.commands.output import PIPE_WIDTH
from jbodlab.commands.simulation_words import checks_lines
from jbodlab.errors import ExitCode, LabError
from jbodlab.scenario_files import load_plan, shipped_files
from simulation.core.capability import needed_capabilities
from simulation.core.plan import WORLDS, Plan, World
from simulation.core.verdict import StoryLine, Verdict


@click.group()
def scenario() -> None:
    """Run written scenarios: clusters, faults and what must come of them."""


@scenario.command("list")
@click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
def list_scenarios(is_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Name the scenarios that come with jbodlab."""
    plans = [load_plan(str(file)) for file in shipped_files()]
    if is_json:
        rows = [
            {
                "name": plan.name,
                "shows": plan.shows,
                "scenarios": list(plan.scenarios),
                "worlds": _worlds(plan),
            }
            for plan in plans
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "shows", "numbers", "worlds")
    for plan in plans:
        numbers = ", ".join(map(str, plan.scenarios))
        table.add_row(plan.name, plan.shows, numbers, ", ".join(_worlds(plan)))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(highlight=False, width=width).print(table)


@scenario.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "is_json", is_flag=True, help="Write one line of JSON per file.")
def check(files: tuple[str, ...], is_json: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Read scenario FILEs and tell every mistake in them."""
    for file in files:
        plan = load_plan(file)
        steps = len(plan.actions)
        content = {"file": file, "name": plan.name, "steps": steps}
        click.echo(
            json.dumps(content) if is_json else f"{file}: {plan.name}, {steps} steps, is well"
        )


@scenario.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--world", type=click.Choice(WORLDS), default="simulated", show_default=True)
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
def run(
    name: str,
    *,
    world: World,
    seed: int,
    folder: Path | None,
    log_file: Path | None,
    is_json: bool,
) -> None:
    """Run the scenario NAME, or one in a FILE, and tell its story and what came of it."""
    # The brokers that a simulated world runs take a moment to load; no other command waits for it.
    from jbodlab.scenario_runs import run_scenario  # noqa: PLC0415

    if log_file is not None and world == "real":
        raise click.UsageError("--keep-log is for the simulated world; real processes: --folder")
    plan = load_plan(name)
    show = partial(_show, is_json=is_json)
    verdict = run_scenario(plan, world, seed, folder=folder, log_file=log_file, show=show)
    if is_json:
        click.echo(json.dumps(_content(verdict), indent=2))
    else:
        click.echo(_summary(verdict))
    if not verdict.is_ok:
        found = "\n".join(f"  {violation}" for violation in verdict.violations)
        again = f"jbodlab scenario run {name} --world {world} --seed {seed}"
        raise LabError(
            ExitCode.VIOLATION,
            f"{plan.name}: {len(verdict.violations)} violation(s)\n{found}\nagain: {again}",
        )


def _show(line: StoryLine, *, is_json: bool) -> None:
    click.echo(str(line), err=is_json)


def _worlds(plan: Plan) -> list[str]:
    """Return where it can run: real processes can do less than a simulation."""
    return [world for world in plan.worlds if world == "simulated" or not needed_capabilities(plan)]


def _summary(verdict: Verdict) -> str:
    return "\n".join([_outcome(verdict), *checks_lines(verdict)])


def _outcome(verdict: Verdict) -> str:
    healed = (
        "" if verdict.healed_after_ms is None else f", well {verdict.healed_after_ms} ms after them"
    )
    return (
        f"{verdict.plan}: {'as it must be' if verdict.is_ok else 'NOT as it must be'}; "
        f"{verdict.acknowledged} records acknowledged, {verdict.read} read, "
        f"{sum(verdict.fault_hits.values())} operations met by faults{healed}"
    )


# Any: JSON.
def _content(verdict: Verdict) -> dict[str, Any]:
    content = asdict(verdict)
    content["is_ok"] = verdict.is_ok
    content["violations"] = [each._asdict() for each in verdict.violations]
    content["checks"] = [each._asdict() for each in verdict.checks]
    content["story"] = [line._asdict() for line in verdict.story]
    return content
