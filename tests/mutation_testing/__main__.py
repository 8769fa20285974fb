"""``python -m tests.mutation_testing``: plants bugs, one at a time, and tells which nobody finds.

It goes on where it was interrupted. Nothing of the brokers or the controller is imported here.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

import protocol
from tests.mutation_testing.importers import Importers
from tests.mutation_testing.judging import Stage, judge
from tests.mutation_testing.places import spots_by_file
from tests.mutation_testing.planting import ROOT, Mutant, all_mutants, sample
from tests.mutation_testing.reach import Case, Reach, code_digest, own_tests
from tests.mutation_testing.results import (
    STAGES,
    Result,
    Results,
    equivalents,
    rates,
    survivors,
)

WARM: Final = ("aiokafka", "kafka", "msgspec", "yaml", "construct", "pytest", "hypothesis")
"""Libraries that all forks need."""
Tell = Callable[[str], None]


@click.command()
@click.option("--mutants", "count", default=200, show_default=True, help="How many to draw.")
@click.option("--seed", default=1, show_default=True, help="What draws them.")
@click.option("--cpu-s", default=60.0, show_default=True, help="Processor time of seeds for each.")
@click.option("--first-seed", default=1, show_default=True, help="Of those that mutants meet.")
@click.option("--stages", default=",".join(STAGES), show_default=True, help="What mutants meet.")
@click.option("--only", multiple=True, help="Only mutants whose id has this in it, all of them.")
@click.option("--within", multiple=True, help="Draw only from files whose path has this in it.")
@click.option("--without", multiple=True, help="Draw from no file whose path has this in it.")
@click.option("--again", is_flag=True, help="Have what survived meet everything again.")
@click.option("--jobs", default=1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / "build/mutants")
@click.option("--json", "is_json", is_flag=True, help="Write the rates and survivors as JSON.")
def main(
    count: int,
    seed: int,
    cpu_s: float,
    first_seed: int,
    stages: str,
    only: Sequence[str],
    within: Sequence[str],
    without: Sequence[str],
    again: bool,
    jobs: int,
    folder: Path,
    is_json: bool,
) -> None:
    """Plant bugs mechanically; tell how many fall to seeds, scenarios and tests, and which do not.

    The exit code is 1 when one survives that is not proven to be equivalent.
    """
    rooms = all_mutants(within=within, without=without)
    drawn = _named(only) if only else sample(rooms, count, seed)
    results = Results(folder / "results.jsonl")
    if again:
        for mutant in drawn:
            if not results.of(mutant).fell_to:
                results.keep(Result(id=mutant.id, digest=mutant.digest))
    warm_up()
    asked = [stage for stage in STAGES if stage in stages.split(",")]
    reaches = Reaches(folder, jobs, first_seed, cpu_s)
    for name in asked:
        _meet_all(name, drawn, results, reaches, jobs)
    _show(drawn, results, is_json=is_json)


def warm_up() -> None:
    """Import what every fork needs, and nothing in which mutants are planted."""
    for name in WARM:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(protocol.__path__, "protocol."):
        importlib.import_module(module.name)


class Reaches:
    """The stages of a run, each with the cases that mutants meet there."""

    def __init__(self, folder: Path, jobs: int, first_seed: int, cpu_s: float) -> None:
        self._folder = folder
        self._jobs = jobs
        self._first_seed = first_seed
        self._cpu_s = cpu_s
        self._code = code_digest()

    def stage(self, name: str, mutants: Sequence[Mutant]) -> Stage:
        """Return a stage for mutants.

        Its cases are run without a mutant first, where it is not known yet which of these mutants
        they reach; but for files of tests that mirror one.
        """
        if name == "own_tests":
            return Stage(name=name, cases=own_tests(mutant.path for mutant in mutants), cpu_s=None)
        cases = list(self._cases(name, mutants))
        for case in cases:
            if case.found:
                _tell(f"{name}: {case.name} judges nobody: without any mutant, {case.found[0]}")
        return Stage(name=name, cases=cases, cpu_s=self._cpu_s if name == "seeds" else None)

    def _cases(self, name: str, mutants: Sequence[Mutant]) -> Iterable[Case]:
        places = spots_by_file(mutants)
        if name == "tests":
            importers = Importers()
            reach = Reach(name, self._folder, importers.digest)
            files = importers.of(mutant.path for mutant in mutants)
            return reach.of(files, places, jobs=self._jobs, tell=_tell)
        reach = Reach(name, self._folder, lambda _: self._code)
        if name == "seeds":
            return reach.within(self._cpu_s, self._first_seed, places, jobs=self._jobs)
        return reach.of(_scenarios(), places, jobs=self._jobs, tell=_tell)


def _named(parts: Sequence[str]) -> list[Mutant]:
    return [mutant for mutant in all_mutants() if any(part in mutant.id for part in parts)]


def _meet_all(
    name: str, drawn: Sequence[Mutant], results: Results, reaches: Reaches, jobs: int
) -> None:
    proofs = equivalents()
    open_ones = [
        (mutant, result)
        for mutant in drawn
        if not (result := results.of(mutant)).fell_to
        and name not in result.met
        and mutant.id not in proofs
    ]
    if not open_ones:
        return
    stage = reaches.stage(name, [mutant for mutant, _ in open_ones])

    def ordered() -> Iterator[tuple[Mutant, Result]]:
        yield from open_ones

    for number, (mutant, result) in enumerate(judge(stage, ordered(), jobs=jobs), start=1):
        results.keep(result)
        fate = f"falls to {result.by}: {result.found[0]}" if result.fell_to else "survives"
        _tell(f"{name} {number} of {len(open_ones)}: {mutant.id} {fate}"[:200])


def _show(drawn: Sequence[Mutant], results: Results, *, is_json: bool) -> None:
    proofs = equivalents()
    pairs = [(mutant, results.of(mutant)) for mutant in drawn]
    total = rates((result for _, result in pairs), proofs)
    by_rule = survivors(pairs, proofs)
    if is_json:
        click.echo(json.dumps({**total.content(), "not_to_seeds": by_rule}, indent=2))
    else:
        for rule, lines in by_rule.items():
            click.echo(rule)
            for line in lines:
                click.echo(f"  {line}")
        click.echo(total.text())
    if any(r.met and not r.fell_to and r.id not in proofs for _, r in pairs):
        raise SystemExit(1)


def _scenarios() -> list[str]:
    return sorted(file.stem for file in (ROOT / "simulation/scenarios").glob("*.yaml"))


def _tell(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
