"""``swap-matrix``: nodes of a simulated cluster crashed at every disk operation, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.node_logs import node_logs
from jbodlab.worlds.scenario_files import load_story, story_files
from simulation.core.plan import Plan
from simulation.matrix.outcome import Crash, CrashPoint, Outcome, Row, nodes_of

WIDTH: Final = 110
COMPLAINTS_MAX: Final = 5
"""So many of a row are shown."""


class _Act(NamedTuple):
    """One story with the nodes that crash."""

    story: Plan
    nodes: tuple[str, ...]

    @property
    def who(self) -> str:
        """The nodes in one word."""
        return "+".join(self.nodes)


@click.command("swap-matrix", short_help="Crash nodes at every disk operation.")
@click.argument("names", nargs=-1, metavar="[STORY|FILE]...")
@click.option(
    "--node",
    "whos",
    multiple=True,
    help="Only crashes of this node, such as controller or broker-1+broker-2; may be repeated.",
)
@click.option(
    "--crash",
    "crashes",
    multiple=True,
    type=click.Choice([crash.name.lower() for crash in Crash]),
    help="Only this kind of crash; may be repeated.",
)
@click.option(
    "--jobs", default=2, show_default=True, type=click.IntRange(1), help="Runs at a time."
)
@click.option("--json", "is_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def swap_matrix(
    context: click.Context,
    names: tuple[str, ...],
    whos: tuple[str, ...],
    crashes: tuple[str, ...],
    jobs: int,
    *,
    is_json: bool,
) -> None:
    """Crash a simulated cluster at every disk operation of a node and judge what comes back.

    A broker or the controller is killed, loses power, or one of its disks fails, while replicas are
    created, moved, swapped, deleted, rebuilt; it starts again, or the log dir alone is restarted,
    and the cluster must heal and keep its promises. With broker-1+controller the second one is
    killed at the same moment. The exit code is 12 when anything is not recovered.

    A STORY comes with jbodlab, such as move or create-again; without any all of them are told. A
    FILE is one of your own: a scenario file, whose key "crashes" says who crashes, and whose step
    with "crashes_begin: true" from where on.

    With --json a list with an object per row: story, node, crash (kill, power_cut, torn, error,
    return), the counts recovered, offline, refused, lost, and complaints, a sentence for each
    crash that is not recovered.
    """
    acts = _acts(_stories(names), whos)
    kinds = [crash for crash in Crash if not crashes or crash.name.lower() in crashes]
    with node_logs(None):
        rows = _run(acts, kinds, jobs)
    if is_json:
        click.echo(json.dumps(_content(rows), indent=2))
    else:
        _print(rows)
    if any(row.is_bad for row in rows):
        context.exit(ExitCode.VIOLATION)


def _stories(names: Sequence[str]) -> list[Plan]:
    """Return the stories of these names and files, all that come with jbodlab when there is none.

    Raises:
        LabError: BAD_CONFIG: there is no such story, or a file holds mistakes or no story.
    """
    names = names or [file.stem for file in story_files()]
    return [_told_here(load_story(name), name) for name in names]


def _told_here(plan: Plan, name: str) -> Plan:
    if "simulated" not in plan.worlds:
        raise LabError(ExitCode.BAD_CONFIG, f"{name}: the matrix is simulated, worlds must be too")
    if not plan.steps:
        raise LabError(ExitCode.BAD_CONFIG, f"{name}: a story needs steps, at least one")
    return plan


def _acts(stories: Sequence[Plan], whos: Sequence[str]) -> list[_Act]:
    """Return the stories with those of their nodes that were asked for, all when none was.

    Raises:
        click.BadParameter: such nodes crash in none of the stories.
    """
    acts = [_Act(story, nodes) for story in stories for nodes in nodes_of(story)]
    for who in whos:
        if all(act.who != who for act in acts):
            known = dict.fromkeys(act.who for act in acts)
            names = ", ".join(story.name for story in stories)
            raise click.BadParameter(f"{who!r} crashes in none of {names}; {', '.join(known)} do")
    return [act for act in acts if not whos or act.who in whos]


def _run(acts: Sequence[_Act], crashes: Sequence[Crash], jobs: int) -> list[Row]:
    # No other command should wait for a whole cluster to load.
    from simulation.matrix.matrix import StoryError, check_story, run_story  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("stories and nodes, {task.fields[crashes]} crashes"),
        TimeElapsedColumn(),
    )
    rows: list[Row] = []
    judged = 0
    # It has no thread that refreshes it: the world is copied by forking this process.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        bar = progress.add_task("", total=len(acts), crashes=0)

        def on_judged(_moment: CrashPoint) -> None:
            nonlocal judged
            judged += 1
            progress.update(bar, crashes=judged, refresh=True)

        checked: list[Plan] = []
        for story, nodes in acts:
            who = "+".join(nodes)
            progress.update(bar, description=f"{story.name}, {who}", refresh=True)
            if story not in checked:
                try:
                    check_story(story)
                except StoryError as error:
                    raise LabError(ExitCode.VIOLATION, str(error)) from error
                checked.append(story)
            rows += run_story(story, nodes, crashes, jobs=jobs, on_judged=on_judged)
            progress.advance(bar)
    return rows


def _print(rows: Sequence[Row]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    console.print(_table(rows))
    for row in rows:
        for complaint in row.findings[:COMPLAINTS_MAX]:
            console.print(complaint, style="red", markup=False)


def _table(rows: Sequence[Row]) -> Table:
    """Return the table, the sums below."""
    table = Table("story", "node", "crash", title="swap matrix", show_footer=True)
    table.columns[0].footer = "all"
    for outcome in Outcome:
        total = sum(row.outcomes[outcome] for row in rows)
        table.add_column(outcome.value, str(total), justify="right")
    for number, row in enumerate(rows):
        counts = [str(row.outcomes[outcome]) for outcome in Outcome]
        is_last = number + 1 == len(rows) or _act(rows[number + 1]) != _act(row)
        table.add_row(row.story, row.node, row.crash.value, *counts, end_section=is_last)
    return table


def _act(row: Row) -> tuple[str, str]:
    return row.story, row.node


def _content(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "story": row.story,
            "node": row.node,
            "crash": row.crash.name.lower(),
            **{outcome.value: row.outcomes[outcome] for outcome in Outcome},
            "complaints": row.findings,
        }
        for row in rows
    ]
