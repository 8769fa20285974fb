"""Notes which mutants a process would notice: notes are in the code, and nothing is traced.

All other code is as fast as without. Nothing is written to a source file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tests.mutation_testing.notes import DIFFERS, RAN, Spot, with_notes
from tests.mutation_testing.planting import ROOT

Places = Mapping[str, Sequence[Spot]]
"""File, from the root of the repository -> spots in it."""


class Probes:
    """Spots in modules that are still to be imported, and which of them made a difference."""

    def __init__(self, places: Places, root: Path = ROOT) -> None:
        self._places = {str(root / path): (path, spots) for path, spots in places.items()}
        self._ran: set[tuple[str, Spot]] = set()
        names = [path.removesuffix(".py").replace("/", ".") for path in places]
        for name in names:
            assert name not in sys.modules, f"{name} is in use"
        sys.meta_path.insert(0, _Finder(names, self))

    def take(self) -> dict[str, list[Spot]]:
        """Return the spots that were noted since this was asked last."""
        found: dict[str, list[Spot]] = {}
        for path, spot in sorted(self._ran):
            found.setdefault(path, []).append(spot)
        self._ran.clear()
        return found

    def code(self, source: bytes, file: str) -> CodeType:
        """Return the code of a file with its notes."""
        _, spots = self._places[file]
        return compile(with_notes(source.decode(), spots), file, "exec")

    def note_in(self, module: ModuleType, file: str) -> None:
        """Give a module what its notes call."""
        path, _ = self._places[file]

        def note(spot: Spot) -> None:
            self._ran.add((path, spot))

        def compare(spot: Spot, value: Any, mutant: Callable[[], Any], is_truth: bool) -> Any:
            if (path, spot) not in self._ran and _differs(value, mutant, is_truth=is_truth):
                note(spot)
            return value

        module.__dict__[RAN] = note
        module.__dict__[DIFFERS] = compare


def _differs(value: Any, mutant: Callable[[], Any], *, is_truth: bool) -> bool:
    try:
        other = mutant()
        if is_truth:
            return bool(value) != bool(other)
        return type(value) is not type(other) or bool(value != other)
    except Exception:  # noqa: BLE001 - a mutant may raise anything, which is another thing to do
        return True


class _Finder(MetaPathFinder):
    def __init__(self, names: Iterable[str], probes: Probes) -> None:
        self._names = frozenset(names)
        self._probes = probes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        assert spec is not None, f"{fullname} is no module"
        assert spec.origin is not None, f"{fullname} has no file"
        spec.loader = _Loader(fullname, spec.origin, self._probes)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, file: str, probes: Probes) -> None:
        super().__init__(name, file)
        self._probes = probes

    def get_code(self, fullname: str) -> CodeType:
        return self._probes.code(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        self._probes.note_in(module, self.path)
        super().exec_module(module)
