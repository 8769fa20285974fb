"""Groups and transactions: ``python -m benchmarks.coordinators [--peer kafka]`` prints one table.

Both clusters get the same work in the same session, each part on a cluster of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from benchmarks import coordinator_runs as runs
from benchmarks.cluster import as_json_text, as_table, show
from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.peer.kafka import BUILD_DIR, KafkaPeer, PeerMissingError
from benchmarks.runs import Figure, first_metadata
from benchmarks.targets import Target, new_target

PARTS: Final = (
    *("transactions", "commits", "consumption"),
    *("rebalance", "offsets_disk", "many_groups"),
)
CONFIGS: Final = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
}
"""Of both: each coordinator's log has three replicas, and a new group waits for nobody."""


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure Apache Kafka 3.9.2 too.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Measure these parts only.")
@click.option("--transactions", default=300, show_default=True, help="To commit.")
@click.option("--commits", default=2000, show_default=True, help="Of offsets, one after the other.")
@click.option("--records", default=300_000, show_default=True, help="For a group to consume.")
@click.option("--members", default="3,30", show_default=True, help="Sizes of groups to rebalance.")
@click.option("--groups", default=1000, show_default=True, help="With ten offsets each.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, peer: str | None, only: tuple[str, ...], as_json: bool, **sizes: object) -> None:
    """Measure transactions, offset commits, rebalances, and what a broken disk costs groups."""
    console = Console(stderr=True)
    makers: list[Callable[[Path], Target]] = [lambda root: JbodlabTarget(root, CONFIGS)]
    if peer is not None:
        makers.append(lambda root: KafkaPeer(root, BUILD_DIR, CONFIGS))
    try:
        tables = [_measure(maker, only or PARTS, sizes, console) for maker in makers]
    except PeerMissingError as error:
        console.print(f"[red]{error}")
        sys.exit(2)
    click.echo(as_json_text(tables)) if as_json else show(as_table(tables, "coordinators"))


def _measure(
    maker: Callable[[Path], Target],
    parts: Iterable[str],
    sizes: Mapping[str, object],
    console: Console,
) -> tuple[str, list[Figure]]:
    """Run each part on a cluster of its own."""
    figures: list[Figure] = []
    name = ""
    for part in parts:
        with new_target(maker, part, console) as target:
            name = target.name
            first_metadata(target)
            began_s = target.processor_s()
            figures += _run(part, target, sizes)
            taken_s = target.processor_s() - began_s
        figures.append(Figure(f"processor time of the cluster for {part}", taken_s, "s", "lower"))
    return name, figures


def _run(part: str, target: Target, sizes: Mapping[str, object]) -> list[Figure]:
    def size(name: str) -> int:
        return int(str(sizes[name]))

    match part:
        case "transactions":
            return runs.transactions(target, count=size("transactions"))
        case "commits":
            return runs.commits(target, count=size("commits"))
        case "consumption":
            return runs.consumption(target, count=size("records"))
        case "rebalance":
            members = [int(each) for each in str(sizes["members"]).split(",")]
            return runs.rebalance(target, members=members)
        case "offsets_disk":
            return runs.offsets_disk(target)
        case _:
            return runs.many_groups(target, count=size("groups"))


if __name__ == "__main__":
    main()
