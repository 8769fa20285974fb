"""Which lines each seed, scenario and file of tests reaches, and what it costs: asked once.

Whatever does not reach a mutant behaves as without it: it need not be run with it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.mirrors import files_about
from tests.mutation_testing.forks import Ended, in_forks, limit_cpu
from tests.mutation_testing.planting import PLACES, ROOT, Mutant

PACKAGES: Final = ("broker", "controller", "protocol", "simulation", "jbodlab")
"""What a case depends on."""
SLOW_S: Final = 6.0
"""A numbered case that takes longer, without a mutant, is left out."""
_CASE_CPU_S_MAX: Final = 900
_CASE_WALL_S_MAX: Final = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One seed, scenario or file of tests, as it is without any mutant."""

    kind: str
    name: str
    code: str
    """Of what code, by ``code_digest``."""
    cpu_s: float
    found: list[str]
    """What it finds without a mutant: then it cannot judge any."""
    lines: Mapping[str, list[int]]
    """File -> lines that ran, of those in which mutants are planted."""

    def reaches(self, mutant: Mutant) -> bool:
        """Tell whether the mutant would make any difference to it."""
        if self.kind == "own_tests":
            return mutant.path in self.lines
        if mutant.is_at_import:
            return True
        return any(line in mutant.lines for line in self.lines.get(mutant.path, ()))


def own_tests(paths: Iterable[str], root: Path = ROOT) -> list[Case]:
    """Return the files of tests that mirror source files, without running them."""
    return [
        Case(kind="own_tests", name=test, code="", cpu_s=0, found=[], lines={path: []})
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
    """The cases of one kind, kept in a file: what is there for this code is not asked again."""

    def __init__(self, kind: str, folder: Path, code: str) -> None:
        self._kind = kind
        self._file = folder / f"{kind}.jsonl"
        self._code = code
        self._known: dict[str, Case] = {}
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                case = Case(**json.loads(line))
                if case.code == code:
                    self._known[case.name] = case

    def of(
        self, names: Iterable[str], *, jobs: int, tell: Callable[[str], None] = lambda _: None
    ) -> list[Case]:
        """Return the cases of these names, in their order; run those that are not known."""
        asked = list(names)
        missing = [name for name in asked if name not in self._known]
        tasks = ((name, partial(_look, self._kind, name)) for name in missing)
        for name, ended in in_forks(tasks, jobs=jobs, wall_s_max=_CASE_WALL_S_MAX):
            self._known[name] = self._keep(name, ended)
            tell(f"{self._kind}: {name} takes {self._known[name].cpu_s:.1f} s")
        return [self._known[name] for name in asked]

    def within(self, cpu_s: float, first: int, *, jobs: int) -> Iterator[Case]:
        """Give numbered cases from ``first`` on, until they have taken ``cpu_s`` seconds.

        One that takes many times as long as others is left out: they find more in its time.
        """
        spent_s = 0.0
        number = first
        while spent_s < cpu_s:
            for case in self.of(map(str, range(number, number + jobs)), jobs=jobs):
                if spent_s < cpu_s and case.cpu_s <= SLOW_S:
                    yield case
                    spent_s += case.cpu_s
            number += jobs

    def _keep(self, name: str, ended: Ended) -> Case:
        value: dict[str, Any] = ended.value or {"cpu_s": 0.0, "found": [ended.died], "lines": {}}
        case = Case(kind=self._kind, name=name, code=self._code, **value)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(case)) + "\n")
        return case


def _look(kind: str, name: str) -> dict[str, object]:
    """Run a case without a mutant; seeds twice, for their time is wanted without the counting.

    Of a seed that is left out since it is slow, nobody asks for lines: counting takes minutes then.
    """
    from coverage import Coverage  # noqa: PLC0415 - only here, in a process of its own

    limit_cpu(_CASE_CPU_S_MAX)
    run = import_module("tests.mutation_testing.cases").RUN[kind]
    begun_s = time.process_time()
    found: list[str] = run(name) if kind == "seeds" else []
    cpu_s = time.process_time() - begun_s
    if cpu_s > SLOW_S:
        return {"cpu_s": cpu_s, "found": found, "lines": {}}
    coverage = Coverage(
        data_file=None, config_file=False, include=[str(ROOT / place) for place in PLACES]
    )
    coverage.start()
    found = found or run(name)
    coverage.stop()
    data = coverage.get_data()
    lines = {
        Path(file).relative_to(ROOT).as_posix(): sorted(data.lines(file) or ())
        for file in sorted(data.measured_files())
    }
    counted_s = time.process_time() - begun_s
    return {"cpu_s": cpu_s or counted_s, "found": found, "lines": lines}
