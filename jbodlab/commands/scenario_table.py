"""Many scenarios, each in one world or in both, one after the other, and a table of what came."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from jbodlab.commands.widths import PIPE_WIDTH
from jbodlab.errors import LabError
from simulation.core.capability import why_not
from simulation.core.checkers.reach import Reach

if TYPE_CHECKING:
    from simulation.core.plan import Plan, World
    from simulation.core.verdict import Verdict

AS_IT_MUST_BE: Final = "as it must be"
NOT_THERE: Final = "not there"
WRONG: Final = "WRONG"


class Row(NamedTuple):
    """One scenario in one world."""

    name: str
    world: str
    outcome: str
    why: tuple[str, ...] = ()
    """Why it does not run there, or what was found."""
    seconds: float = 0.0
    not_seen: tuple[str, ...] = ()
    """Checkers that could see nothing, or only a part."""

    @property
    def is_ok(self) -> bool:
        """Whether nothing was found."""
        return self.outcome != WRONG


def run_table(
    plans: Sequence[Plan], worlds: Sequence[World], run: Callable[[Plan, World], Verdict]
) -> list[Row]:
    """Run all of them, and show on the way how far it is; one that fails ends only itself."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    rows: list[Row] = []
    with progress:
        task = progress.add_task("scenarios", total=len(plans) * len(worlds))
        for plan in plans:
            for world in worlds:
                progress.update(task, description=f"{plan.name} ({world})")
                rows.append(_row(plan, world, run))
                progress.advance(task)
    return rows


def _row(plan: Plan, world: World, run: Callable[[Plan, World], Verdict]) -> Row:
    reason = why_not(plan, world)
    if reason is not None:
        return Row(plan.name, world, NOT_THERE, (reason,))
    began_s = time.perf_counter()
    try:
        verdict = run(plan, world)
    except LabError as error:
        return Row(plan.name, world, WRONG, (str(error),), time.perf_counter() - began_s)
    found = tuple(map(str, verdict.violations))
    seconds = time.perf_counter() - began_s
    checks = (*verdict.checks_of(Reach.IN_PART), *verdict.checks_of(Reach.NOT_SEEN))
    outcome = WRONG if found else AS_IT_MUST_BE
    return Row(plan.name, world, outcome, found, seconds, tuple(map(str, checks)))


def show_rows(rows: Sequence[Row], *, is_json: bool) -> None:
    """Print them, as a table or as JSON."""
    if is_json:
        click.echo(json.dumps([_content(row) for row in rows], indent=2))
        return
    table = Table("scenario", "world", "outcome", "s", "why")
    for row in rows:
        table.add_row(row.name, row.world, row.outcome, f"{row.seconds:.1f}", "\n".join(row.why))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(highlight=False, width=width).print(table)
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in _OUTCOMES}
    click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))


# Any: JSON.
def _content(row: Row) -> dict[str, Any]:
    return {**row._asdict(), "is_ok": row.is_ok, "seconds": round(row.seconds, 3)}


_OUTCOMES: Final = (AS_IT_MUST_BE, NOT_THERE, WRONG)
