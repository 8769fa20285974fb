"""``python -m tests.restarts``: brokers restarted under idempotent producers of three clients.

No producer may be ended for good, no acknowledged record lost, none written twice. The exit code is
12 when one was, 8 without Java.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.peer.kafka import PeerMissingError
from jbodlab.errors import ExitCode, LabError
from tests.restarts.loads import Client
from tests.restarts.rounds import Outcome, Rounds, Way, rounds

COUNT_MAX = 1000


@click.command()
@click.option(
    "--clean",
    type=click.IntRange(0, COUNT_MAX),
    default=100,
    show_default=True,
    help="Restarts as `jbodlab brokers restart` does them.",
)
@click.option(
    "--kill",
    type=click.IntRange(0, COUNT_MAX),
    default=100,
    show_default=True,
    help="Restarts after kill -9.",
)
@click.option(
    "--client",
    "clients",
    type=click.Choice([each.value for each in Client]),
    multiple=True,
    help="Only these; all by default.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 20_000),
    default=200,
    show_default=True,
    help="Records a second of each client.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Run in this folder and keep the cluster's data and logs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(
    *,
    clean: int,
    kill: int,
    clients: tuple[str, ...],
    rate: int,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Restart brokers under idempotent producers, with replication factor 1 and 3 at once."""
    chosen = [Client(name) for name in clients] or list(Client)
    ways = _mixed(clean, kill)
    try:
        with (
            _folder(keep) as root,
            rounds(root, chosen, rate) as under_way,
        ):
            _play(under_way, ways)
            outcome = under_way.judge()
    except PeerMissingError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.MISSING_JAVA)
    except (LabError, TimeoutError) as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.TIMED_OUT)
    click.echo(json.dumps(_as_json(outcome), indent=1)) if as_json else _print(outcome)
    if not outcome.is_clean:
        for client, lines in outcome.said.items():
            for line in lines:
                click.echo(f"{client}: {line}", err=True)
    sys.exit(ExitCode.OK if outcome.is_clean else ExitCode.VIOLATION)


@contextmanager
def _folder(keep: Path | None) -> Generator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="jbodlab-restarts-") as root:
        yield Path(root)


def _mixed(clean: int, kill: int) -> list[Way]:
    """Return the rounds in turn, as far as there are both."""
    both = min(clean, kill)
    return [Way.CLEAN, Way.KILL] * both + [Way.CLEAN] * (clean - both) + [Way.KILL] * (kill - both)


def _play(under_way: Rounds, ways: list[Way]) -> None:
    """Play all rounds; a line per ten of them where nobody sees a bar."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("restarts", total=len(ways))
        for number, way in enumerate(ways, start=1):
            under_way.play(way)
            progress.advance(task)
            if not console.is_terminal and number % 10 == 0:
                ended = sum(map(sum, (f.values() for f in under_way.outcome.fatal_in.values())))
                click.echo(f"{number} of {len(ways)} restarts, {ended} fatal errors", err=True)


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "restarts": outcome.restarts,
        "leaders_moved": outcome.leaders_moved,
        "fatal_in": outcome.fatal_in,
        "topics": [
            {"client": client, "topic": topic, **dataclasses.asdict(verdict)}
            for client, topics in outcome.verdicts.items()
            for topic, verdict in topics.items()
        ],
        "is_clean": outcome.is_clean,
    }


def _print(outcome: Outcome) -> None:
    counts = ", ".join(f"{count} {way}" for way, count in outcome.restarts.items())
    table = Table(
        "topic",
        title=f"{counts}: {outcome.leaders_moved} leaderships moved",
    )
    words = ("acknowledged", "failed", "fatal", "lost", "twice", "out of order")
    for word in words:
        table.add_column(word, justify="right")
    for topics in outcome.verdicts.values():
        for topic, verdict in topics.items():
            table.add_row(topic, *map(str, dataclasses.astuple(verdict)))
    console = Console()
    Console(width=None if console.is_terminal else 100).print(table)


if __name__ == "__main__":
    main()
