"""``swap-matrix``: a simulated cluster crashed at every disk operation, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jbodlab.errors import ExitCode
from jbodlab.node_logs import node_logs
from simulation.matrix.outcome import Crash, Moment, Outcome, Row

if TYPE_CHECKING:
    from simulation.matrix.stories import Story

WIDTH: Final = 100
COMPLAINTS_MAX: Final = 5
"""So many of a row are shown."""


@click.command("swap-matrix")
@click.option(
    "--story",
    "stories",
    multiple=True,
    help="Only this story, such as move or delete; may be repeated.",
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
    crashes: tuple[str, ...],
    jobs: int,
    *,
    is_json: bool,
) -> None:
    """Crash a simulated cluster at every disk operation of one broker and judge what comes back.

    The broker is killed, loses power, or one of its disks fails, while replicas are created, moved,
    swapped, deleted, rebuilt; it starts again, and the cluster must heal and keep its promises.
    The exit code is 12 when any start was refused or anything acknowledged is lost.
    """
    told = _stories(stories)
    kinds = [crash for crash in Crash if not crashes or crash.name.lower() in crashes]
    with node_logs(None):
        rows = _run(told, kinds, jobs)
    if is_json:
        click.echo(json.dumps(_content(rows), indent=2))
    else:
        _print(rows)
    if any(row.is_bad for row in rows):
        context.exit(ExitCode.VIOLATION)


def _stories(names: Sequence[str]) -> list[Story]:
    """Return the stories of these names, all when there is none.

    Raises:
        click.BadParameter: there is no such story.
    """
    # No other command should wait for a whole cluster to load.
    from simulation.matrix.stories import STORIES  # noqa: PLC0415

    known = {story.__name__: story for story in STORIES}
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is none of {', '.join(known)}")
    return [story for name, story in known.items() if not names or name in names]


def _run(stories: Sequence[Story], crashes: Sequence[Crash], jobs: int) -> list[Row]:
    from simulation.matrix.matrix import run_story  # noqa: PLC0415 -- as above

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("stories, {task.fields[crashes]} crashes"),
        TimeElapsedColumn(),
    )
    rows: list[Row] = []
    judged = 0
    # It has no thread that refreshes it: the world is copied by forking this process.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        bar = progress.add_task("", total=len(stories), crashes=0)

        def on_judged(_moment: Moment) -> None:
            nonlocal judged
            judged += 1
            progress.update(bar, crashes=judged, refresh=True)

        for story in stories:
            progress.update(bar, description=story.__name__, refresh=True)
            rows += run_story(story, crashes, jobs=jobs, on_judged=on_judged)
            progress.advance(bar)
    return rows


def _print(rows: Sequence[Row]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDTH)
    console.print(_table(rows))
    for row in rows:
        for complaint in row.complaints[:COMPLAINTS_MAX]:
            console.print(complaint, style="red", markup=False)


def _table(rows: Sequence[Row]) -> Table:
    """Return the table, the sums below."""
    table = Table("story", "crash", title="swap matrix", show_footer=True)
    table.columns[0].footer = "all"
    for outcome in Outcome:
        total = sum(row.outcomes[outcome] for row in rows)
        table.add_column(outcome.value, str(total), justify="right")
    for number, row in enumerate(rows):
        counts = [str(row.outcomes[outcome]) for outcome in Outcome]
        is_last = number + 1 == len(rows) or rows[number + 1].story != row.story
        table.add_row(row.story, row.crash.value, *counts, end_section=is_last)
    return table


def _content(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "story": row.story,
            "crash": row.crash.name.lower(),
            **{outcome.value: row.outcomes[outcome] for outcome in Outcome},
            "complaints": row.complaints,
        }
        for row in rows
    ]
