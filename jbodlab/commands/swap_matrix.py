"""``swap-matrix``: nodes of a simulated cluster crashed at every disk operation, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jbodlab.errors import ExitCode
from jbodlab.worlds.node_logs import node_logs
from simulation.matrix.outcome import Crash, CrashPoint, Outcome, Row

if TYPE_CHECKING:
    from simulation.matrix.stories import Story

WIDTH: Final = 110
COMPLAINTS_MAX: Final = 5
"""So many of a row are shown."""


class _Act(NamedTuple):
    """One story with one node that crashes."""

    story: Story
    node: str


@click.command("swap-matrix", short_help="Crash nodes at every disk operation.")
@click.option(
    "--story",
    "stories",
    multiple=True,
    help="Only this story, such as move or delete; may be repeated.",
)
@click.option(
    "--node",
    "nodes",
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
    stories: tuple[str, ...],
    nodes: tuple[str, ...],
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

    With --json a list with an object per row: story, node, crash (kill, power_cut, torn, error,
    return), the counts recovered, offline, refused, lost, and complaints, a sentence for each
    crash that is not recovered.
    """
    told = _acts(stories, nodes)
    kinds = [crash for crash in Crash if not crashes or crash.name.lower() in crashes]
    with node_logs(None):
        rows = _run(told, kinds, jobs)
    if is_json:
        click.echo(json.dumps(_content(rows), indent=2))
    else:
        _print(rows)
    if any(row.is_bad for row in rows):
        context.exit(ExitCode.VIOLATION)


def _acts(stories: Sequence[str], nodes: Sequence[str]) -> list[_Act]:
    """Return the stories of these names with these nodes, all when there is none.

    Raises:
        click.BadParameter: there is no such story or node, or none of the nodes is in a story.
    """
    # No other command should wait for a whole cluster to load.
    from simulation.matrix.stories import CASTS, STORIES  # noqa: PLC0415

    _check(stories, [story.__name__ for story in STORIES])
    _check(nodes, list(CASTS))
    acts = [
        _Act(story, node)
        for node, cast in CASTS.items()
        for story in cast
        if (not nodes or node in nodes) and (not stories or story.__name__ in stories)
    ]
    if not acts:
        raise click.BadParameter(f"{', '.join(nodes)}: crashes in none of {', '.join(stories)}")
    return acts


def _check(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}")


def _run(acts: Sequence[_Act], crashes: Sequence[Crash], jobs: int) -> list[Row]:
    from simulation.matrix.matrix import run_story  # noqa: PLC0415 -- as above

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

        for story, node in acts:
            progress.update(bar, description=f"{story.__name__}, {node}", refresh=True)
            rows += run_story(story, crashes, node=node, jobs=jobs, on_judged=on_judged)
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
