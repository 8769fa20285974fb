"""Which mutants make a difference to each seed, scenario and file of tests, and what it costs.

Whatever does not reach a mutant behaves as without it: it need not be run with it. Only places of
mutants that are still to be judged are asked about; what is known for the same code is not again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any, Final

from tests.mirrors import files_about
from tests.mutation_testing.forks import in_forks, limit_cpu
from tests.mutation_testing.notes import Spot
from tests.mutation_testing.places import PACKAGES, places_of
from tests.mutation_testing.planting import ROOT, Mutant
from tests.mutation_testing.probes import Places, Probes

SLOW_S: Final = 6.0
"""A numbered case that takes longer, without a mutant, is left out."""
_CASE_CPU_S_MAX: Final = 900
_CASE_WALL_S_MAX: Final = 3600
BATCH: Final = 6
"""So many cases share a process, which imports everything first."""
Looked = dict[str, Any]
"""A case's processor time, what it found, and what was noted."""
Look = Callable[[str, Sequence[str], Places], list[Looked]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One seed, scenario or file of tests, as it is without any mutant."""

    kind: str
    name: str
    code: str
    """Of what code, by a digest."""
    cpu_s: float
    found: list[str]
    """What it finds without a mutant: then it cannot judge any."""
    noted: Mapping[str, list[Spot]]
    """File -> spots at which mutants make a difference to it, of those that were asked about."""
    asked: Mapping[str, list[Spot]] = field(default_factory=dict[str, list[Spot]])
    """File -> spots that were asked about."""

    def reaches(self, mutant: Mutant) -> bool:
        """Tell whether the mutant would make any difference to it."""
        if self.kind == "own_tests":
            return mutant.path in self.noted
        places = places_of(mutant)
        if places is None:
            return True
        return any(spot in self.noted.get(path, ()) for path, spot in places)

    def knows(self, places: Places) -> bool:
        """Tell whether all of these were asked about."""
        return all(set(spots) <= set(self.asked.get(path, ())) for path, spots in places.items())


def own_tests(paths: Iterable[str], root: Path = ROOT) -> list[Case]:
    """Return the files of tests that mirror source files, without running them."""
    return [
        Case(kind="own_tests", name=test, code="", cpu_s=0, found=[], noted={path: []})
        for path in dict.fromkeys(paths)
        for test in files_about(path, root)
    ]


def code_digest(root: Path = ROOT) -> str:
    """Return what changes with any source file or scenario."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".yaml"):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Reach:
    """The cases of one kind, kept in a file: what is there for this code is not asked again.

    Args:
        kind: of the cases.
        folder: where the file is.
        code: by the name of a case what changes with the code that it depends on.
        look: runs cases of a kind, in a process of their own; ``look_at``.
    """

    def __init__(
        self, kind: str, folder: Path, code: Callable[[str], str], look: Look | None = None
    ) -> None:
        self._kind = kind
        self._run = look or look_at
        self._file = folder / f"{kind}.jsonl"
        self._code = code
        self._known: dict[str, Case] = {}
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                content: dict[str, Any] = json.loads(line)
                if "noted" in content:
                    self._known[content["name"]] = Case(**content)

    def of(
        self,
        names: Iterable[str],
        places: Places,
        *,
        jobs: int,
        tell: Callable[[str], None] = lambda _: None,
    ) -> list[Case]:
        """Return the cases of these names, in their order; run those that know not all places."""
        asked = list(names)
        missing = [name for name in asked if not self._is_known(name, places)]
        batches = [missing[begin : begin + BATCH] for begin in range(0, len(missing), BATCH)]
        alone = self._look(batches, places, jobs, tell)
        self._look([[name] for name in alone], places, jobs, tell)
        return [self._known[name] for name in asked]

    def within(self, cpu_s: float, first: int, places: Places, *, jobs: int) -> Iterator[Case]:
        """Give numbered cases from ``first`` on, until they have taken ``cpu_s`` seconds.

        One that takes many times as long as others is left out: they find more in its time.
        """
        spent_s, taken = 0.0, 0
        number, count = first, BATCH * jobs
        while spent_s < cpu_s:
            for case in self.of(map(str, range(number, number + count)), places, jobs=jobs):
                if spent_s < cpu_s and case.cpu_s <= SLOW_S:
                    yield case
                    spent_s, taken = spent_s + case.cpu_s, taken + 1
            number += count
            if taken:
                count = min(BATCH * jobs, ceil((cpu_s - spent_s) / (spent_s / taken)))

    def _is_known(self, name: str, places: Places) -> bool:
        known = self._known.get(name)
        return known is not None and known.code == self._code(name) and known.knows(places)

    def _look(
        self,
        batches: Sequence[Sequence[str]],
        places: Places,
        jobs: int,
        tell: Callable[[str], None],
    ) -> list[str]:
        """Run cases, each batch in a process; return those of batches whose process died."""
        alone: list[str] = []
        tasks = ((tuple(batch), partial(self._run, self._kind, batch, places)) for batch in batches)
        for batch, ended in in_forks(tasks, jobs=jobs, wall_s_max=_CASE_WALL_S_MAX):
            if ended.value is None and len(batch) > 1:
                alone += batch
                continue
            dead: Looked = {"cpu_s": 0.0, "found": [ended.died], "noted": {}}
            looked: list[Looked] = ended.value or [dead]
            for name, found in zip(batch, looked, strict=True):
                self._keep(name, places, found)
                tell(f"{self._kind}: {name} takes {self._known[name].cpu_s:.1f} s")
        return alone

    def _keep(self, name: str, places: Places, found: Looked) -> None:
        asked = {path: list(spots) for path, spots in places.items()}
        case = Case(kind=self._kind, name=name, code=self._code(name), asked=asked, **found)
        self._known[name] = case
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(case)) + "\n")


def look_at(kind: str, names: Sequence[str], places: Places) -> list[Looked]:
    """Run cases without a mutant, one after the other in this process."""
    probes = Probes(places)
    run: Callable[[str], list[str]] = import_module("tests.mutation_testing.cases").RUN[kind]
    looked: list[Looked] = []
    for name in names:
        limit_cpu(_CASE_CPU_S_MAX)
        probes.take()
        begun_s = time.process_time()
        found = run(name)
        cpu_s = time.process_time() - begun_s
        looked.append({"cpu_s": cpu_s, "found": found, "noted": probes.take()})
    return looked
