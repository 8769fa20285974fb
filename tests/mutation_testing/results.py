"""What became of mutants: a file that a run goes on with, rates, and the survivors by rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.mutation_testing.planting import Mutant

STAGES: Final = ("seeds", "scenarios", "own_tests", "tests")
"""What a mutant meets, one after the other, until it falls.

Its own tests are those of the file that mirrors its own: nobody has to know what they reach.
"""
EQUIVALENTS: Final = Path(__file__).with_name("equivalents.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One mutant, and what it has met so far."""

    id: str
    digest: str
    """``Mutant.digest``: a result of other code counts for nothing."""
    met: Mapping[str, int] = field(default_factory=dict[str, int])
    """Stage -> how many of its cases reach the mutant. A stage that is not here is to come."""
    fell_to: str = ""
    """The stage; empty while it survives."""
    by: str = ""
    """The case: a seed, a scenario, a file of tests."""
    found: Sequence[str] = ()
    cpu_s: Mapping[str, float] = field(default_factory=dict[str, float])
    """Stage -> processor time; of a seed that cannot reach the mutant what it takes without."""


class Results:
    """Results by mutant, in a file of JSON lines of which the last one of a mutant counts."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Result] = {}
        if file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                result = Result(**json.loads(line))
                self._known[result.id] = result

    def of(self, mutant: Mutant) -> Result:
        """Return what is known of a mutant: nothing, where its code was another."""
        known = self._known.get(mutant.id)
        if known is not None and known.digest == mutant.digest:
            return known
        return Result(id=mutant.id, digest=mutant.digest)

    def keep(self, result: Result) -> None:
        """Write a result down."""
        self._known[result.id] = result
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(result)) + "\n")


def equivalents(file: Path = EQUIVALENTS) -> dict[str, str]:
    """Return mutants that change nothing anybody could see, each with its proof."""
    return yaml.safe_load(file.read_text(encoding="utf-8")) or {}


@dataclass(frozen=True, slots=True)
class Rates:
    """How many of a sample fell, and to what."""

    planted: int
    equivalent: int
    fell: Mapping[str, int]
    """Stage -> how many."""
    waiting: int
    """How many still have a stage before them."""

    @property
    def judged(self) -> int:
        """How many could fall."""
        return self.planted - self.equivalent

    def share(self, *stages: str) -> float:
        """Return what part of those that could fall fell to one of these stages, in percent."""
        return 100 * sum(self.fell[stage] for stage in stages) / max(1, self.judged)

    def content(self) -> dict[str, Any]:
        """Return the rates for ``--json``."""
        return {
            "planted": self.planted,
            "equivalent": self.equivalent,
            "waiting": self.waiting,
            "fell_to": dict(self.fell),
            "seeds_percent": round(self.share("seeds"), 1),
            "seeds_or_scenarios_percent": round(self.share("seeds", "scenarios"), 1),
            "any_percent": round(self.share(*STAGES), 1),
        }

    def text(self) -> str:
        """Return the rates in one line."""
        return (
            f"{self.planted} mutants, {self.equivalent} of them equivalent; of the others fell"
            f" {self.share('seeds'):.1f} % to seeds,"
            f" {self.share('seeds', 'scenarios'):.1f} % to seeds or scenarios,"
            f" {self.share(*STAGES):.1f} % to those or tests; {self.waiting} are not through"
        )


def rates(results: Iterable[Result], proofs: Mapping[str, str]) -> Rates:
    """Count what became of a sample."""
    found = list(results)
    counted = [result for result in found if result.id not in proofs]
    return Rates(
        planted=len(found),
        equivalent=len(found) - len(counted),
        fell={stage: sum(r.fell_to == stage for r in counted) for stage in STAGES},
        waiting=sum(not r.fell_to and any(s not in r.met for s in STAGES) for r in counted),
    )


def survivors(
    pairs: Iterable[tuple[Mutant, Result]], proofs: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return by rule what never fell, or not to seeds: a line for each mutant."""
    found: dict[str, list[str]] = {}
    for mutant, result in pairs:
        if not result.met or result.fell_to == "seeds" or mutant.id in proofs:
            continue
        found.setdefault(mutant.rule, []).append(_line(mutant, result))
    return dict(sorted(found.items()))


def _line(mutant: Mutant, result: Result) -> str:
    reached = ", ".join(f"{count} {stage}" for stage, count in result.met.items())
    fate = f"fell to {result.by}" if result.fell_to else "SURVIVES"
    kind = mutant.id.removeprefix(f"{mutant.rule}:")
    return f"{mutant.line}: {kind}: {mutant.code} | reached by {reached} | {fate}"
