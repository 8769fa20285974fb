"""The cluster benchmark: ``python -m benchmarks.cluster [--peer kafka]`` prints one table.

Both clusters get the same work in the same session, one after the other, each alone on the
machine; the table then has a column of ratios.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks import runs
from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.peer.kafka import BUILD_DIR, KafkaPeer, PeerMissingError
from benchmarks.runs import Figure
from benchmarks.targets import Target, new_target

_PARTS = ("start", "rates", "latency", "create", "move", "failover")


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure Apache Kafka 3.9.2 too.")
@click.option("--only", type=click.Choice(_PARTS), multiple=True, help="Measure these parts only.")
@click.option(
    "--seconds", default=10.0, show_default=True, help="Length of one produce run, about."
)
@click.option(
    "--records", default=3000, show_default=True, help="Produced one at a time, for latencies."
)
@click.option(
    "--replicas", default="1,100,1000,5000", show_default=True, help="On the failing log dir."
)
@click.option("--create", default="200,2000", show_default=True, help="Partitions to create.")
@click.option("--move-mib", default=512, show_default=True, help="Size of the moved replica.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, peer: str | None, only: tuple[str, ...], as_json: bool, **sizes: object) -> None:
    """Measure a three-broker cluster: start, memory, rates, latency, creation, moves, failover."""
    console = Console(stderr=True)
    makers: list[Callable[[Path], Target]] = [JbodlabTarget]
    if peer is not None:
        makers.append(lambda root: KafkaPeer(root, BUILD_DIR))
    try:
        tables = [_measure(maker, only or _PARTS, sizes, console) for maker in makers]
    except PeerMissingError as error:
        console.print(f"[red]{error}")
        sys.exit(2)
    click.echo(as_json_text(tables)) if as_json else show(as_table(tables))


def show(table: Table) -> None:
    """Print a table, as wide as it must be where nobody looks at it on a terminal."""
    console = Console()
    Console(width=None if console.is_terminal else 110).print(table)


def _measure(
    maker: Callable[[Path], Target],
    parts: Iterable[str],
    sizes: dict[str, object],
    console: Console,
) -> tuple[str, list[Figure]]:
    """Run each part on a cluster of its own, so that one part's topics do not slow the next."""
    figures: list[Figure] = []
    name = ""
    for part, part_sizes in _portions(parts, sizes):
        with new_target(maker, part, console) as target:
            name = target.name
            started_s = runs.first_metadata(target)
            if part == "start":
                figures.append(Figure("start to first metadata", started_s, "s", "lower"))
                figures += runs.memory(target)
            else:
                figures += _run(part, target, part_sizes)
    return name, figures


def _portions(
    parts: Iterable[str], sizes: dict[str, object]
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each part with its sizes; failover in portions, as each count breaks a broker."""
    for part in parts:
        if part != "failover":
            yield part, sizes
            continue
        counts = str(sizes["replicas"]).split(",")
        for first in range(0, len(counts), len(runs.BROKER_IDS)):
            portion = ",".join(counts[first : first + len(runs.BROKER_IDS)])
            yield part, {**sizes, "replicas": portion}


def _run(part: str, target: Target, sizes: dict[str, object]) -> list[Figure]:
    counts = {
        key: tuple(int(n) for n in str(sizes[key]).split(",")) for key in ("replicas", "create")
    }
    match part:
        case "rates":
            return runs.rates(target, seconds_per_run=float(str(sizes["seconds"])))
        case "latency":
            return runs.latency(target, count=int(str(sizes["records"])))
        case "create":
            return runs.creation(target, counts["create"])
        case "move":
            return runs.move(target, size_mib=int(str(sizes["move_mib"])))
        case _:
            return runs.failover(target, counts["replicas"])


def as_json_text(tables: list[tuple[str, list[Figure]]]) -> str:
    """Return every figure of every target as a JSON array of objects."""
    rows = [
        {"target": name, "name": figure.name, "value": figure.value, "unit": figure.unit}
        for name, figures in tables
        for figure in figures
    ]
    return json.dumps(rows, indent=1)


def as_table(tables: list[tuple[str, list[Figure]]], name: str = "cluster") -> Table:
    """Return one row per figure, one column per target, and the ratio to the peer."""
    table = Table("measure", "unit", title=f"{name} benchmark")
    for target, _ in tables:
        table.add_column(target, justify="right")
    if len(tables) > 1:
        table.add_column("ours : peer", justify="right")
    peers = [{(row.name, row.unit): row for row in figures} for _, figures in tables]
    for figure in tables[0][1]:
        found = [rows.get((figure.name, figure.unit)) for rows in peers]
        cells = ["-" if row is None else f"{row.value:.3g}" for row in found]
        if len(found) > 1:
            cells.append(_ratio(figure, found[1]))
        table.add_row(figure.name, figure.unit, *cells)
    return table


def _ratio(ours: Figure, theirs: Figure | None) -> str:
    if theirs is None or not theirs.value:
        return "-"
    better = (ours.value > theirs.value) == (ours.better == "higher")
    colour = "green" if better else "red"
    return f"[{colour}]{ours.value / theirs.value:.2f}[/]"


if __name__ == "__main__":
    main()
