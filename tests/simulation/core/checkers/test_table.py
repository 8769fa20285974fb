from __future__ import annotations

import importlib
import pkgutil

from simulation.core import checkers
from simulation.core.checkers.evidence import Violation
from simulation.core.checkers.table import CHECKERS, check_all
from tests.simulation.core.checkers.build import Story


def test_every_checker_of_this_room_is_asked_once() -> None:
    modules = [
        importlib.import_module(f"{checkers.__name__}.{found.name}")
        for found in pkgutil.iter_modules(checkers.__path__)
        if found.name != "table"
    ]
    written = [
        vars(module)[name]
        for module in modules
        for name in vars(module)
        if name.startswith("check_") and vars(module)[name].__module__ == module.__name__
    ]
    assert sorted(map(str, CHECKERS)) == sorted(map(str, written))


def test_an_empty_run_violates_nothing() -> None:
    assert check_all(Story().evidence) == []


def test_what_checkers_find_is_told_together_and_reads_as_a_sentence() -> None:
    story = Story().at(2.5)
    story.partition(leader=1, offline=(1,), isr=(1,), replicas=(1,))
    story.begin_send(1)

    found = check_all(story.evidence)

    assert [violation.checker for violation in found] == [
        "offline replicas",
        "offline replicas",
        "answers",
    ]
    assert str(found[2]) == "2.500000 s: answers: send of writer (entry 0) never ended"
    assert isinstance(found[0], Violation)
