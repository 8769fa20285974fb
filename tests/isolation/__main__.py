"""``python -m tests.isolation``: transactions of seeds, judged by a checker that is not ours.

First it is asked for anomalies that are planted in the history of each seed. The exit code is 12
when a history has an anomaly or a planted one is overlooked, 9 without cargo.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from jbodlab.commands.simulate import SeedRange
from jbodlab.errors import ExitCode
from simulation.core.checkers.evidence import Evidence
from simulation.core.features import Situation
from simulation.core.history import Kind, Operation
from simulation.core.samples import Samples
from simulation.simulated_run import Options, features_of_seed, plan_of_seed, simulate
from tests.isolation.adya import AdyaMissingError, anomalies_in, built
from tests.isolation.anomalies import ANOMALIES
from tests.isolation.registers import WRITE, Entry, elle_lines, entries_of

BUILD: Final = Path("build/isolation")
LENGTH_S: Final = 5


@click.command()
@click.option(
    "--seeds", type=SeedRange(), default="1..200", show_default=True, help="Both included."
)
def main(*, seeds: range) -> None:
    """Run those of the seeds that draw transactions."""
    try:
        program = built(BUILD / "adya")
    except AdyaMissingError as error:
        click.echo(str(error), err=True)
        sys.exit(ExitCode.MISSING_PACKAGE)
    count: Counter[str] = Counter()
    is_well = True
    chosen = [seed for seed in seeds if Situation.TRANSACTIONS in features_of_seed(seed)]
    for place, seed in enumerate(chosen, start=1):
        is_well &= _judge(program, seed, count)
        if place % 10 == 0:
            click.echo(f"{place} of {len(chosen)} seeds", err=True)
    for name, number in count.items():
        click.echo(f"{number:8d}  {name}")
    sys.exit(ExitCode.OK if is_well else ExitCode.VIOLATION)


def _judge(program: Path, seed: int, count: Counter[str]) -> bool:
    """Judge one seed, as it was and with each anomaly; tell whether all is as it must be."""
    entries = entries_of(_evidence(seed))
    count["seeds with transactions"] += 1
    if not entries:
        count["of them without evidence: logs or memory may be lost"] += 1
        return True
    count["transactions committed"] += sum(_is_committed(entry) for entry in entries)
    count["records of transactions read"] += _read_at_last(entries)
    found, told = _asked(program, seed, "as-it-was", entries)
    if found:
        count["seeds with an anomaly"] += 1
        click.echo(f"seed {seed}: {', '.join(found)}: {told}")
    is_well = not found
    for name, anomaly in ANOMALIES.items():
        planted = anomaly.plant(entries)
        if planted is None:
            continue
        count[f"planted: {name}"] += 1
        found, _ = _asked(program, seed, anomaly.named, planted)
        if not any(each.startswith(anomaly.named) for each in found):
            count[f"overlooked: {name}"] += 1
            click.echo(f"seed {seed}: {name} was planted, and it found {found}")
            is_well = False
    return is_well


def _evidence(seed: int) -> Evidence:
    plan = plan_of_seed(seed, LENGTH_S)
    history: list[Operation] = []
    kept: list[Samples] = []
    options = Options(keep_history=history.extend, keep_samples=kept.append)
    simulate(plan, seed, options)
    return Evidence(
        history=history,
        samples=kept[0],
        configs=plan.cluster.configs,
        broker_configs=plan.cluster.broker_configs,
    )


def _is_committed(entry: Entry) -> bool:
    return entry.kind is Kind.OK and any(access.how == WRITE for access in entry.accesses)


def _read_at_last(entries: Sequence[Entry]) -> int:
    return sum(access.value is not None for access in entries[-1].accesses)


def _asked(program: Path, seed: int, name: str, entries: Sequence[Entry]) -> tuple[list[str], str]:
    history = BUILD / f"seed-{seed}-{name}.json"
    history.write_text("".join(f"{line}\n" for line in elle_lines(entries)), encoding="utf-8")
    return anomalies_in(program, history)


if __name__ == "__main__":
    main()
