"""What the contracts of log dirs say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.log_dirs import LogDirStates
from protocol.ids import TopicPartition
from tests.broker.core.test_log_dirs import T0, log_dirs
from tests.simulation.contracts.wrong_rules import answers, told_of


def filled(*cordoned: str, wished: str | None = None) -> LogDirStates:
    """The first log dir has a log, the last one is offline."""
    dirs = log_dirs("/d3")
    dirs.count_log("/d1")
    dirs.cordon(cordoned)
    if wished is not None:
        dirs.prefer(T0, wished)
    return dirs


def counts_in(path: str) -> Callable[..., object]:
    def rule(dirs: LogDirStates, _: TopicPartition) -> str:
        dirs.count_log(path)
        return path

    return rule


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], Any]]]] = [
    ("place", counts_in("/d1"), lambda: filled().place(T0)),
    ("place", counts_in("/d3"), lambda: filled().place(T0)),
    ("place", counts_in("/d2"), lambda: filled("/d2").place(T0)),
    ("place", counts_in("/d2"), lambda: filled(wished="/d1").place(T0)),
    ("place", answers("/d2"), lambda: filled().place(T0)),
    ("fail", answers(True), lambda: filled().fail("/d1")),
    ("fail", answers(True), lambda: filled().fail("/d3")),
    ("revive", answers(None), lambda: filled().revive("/d3")),
    ("cordon", answers(None), lambda: log_dirs().cordon(["/d1"])),
    ("cordon", answers(None), lambda: log_dirs().cordon(["*"])),
    ("forget_preference", answers(True), lambda: filled(wished="/d1").forget_preference(T0)),
    ("forget_preference", answers(True), lambda: filled().forget_preference(T0)),
]


@pytest.mark.parametrize(("rule", "wrong", "act"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], act: Callable[[], object]
) -> None:
    assert told_of(None, f"LogDirStates.{rule}", act) == []
    assert told_of(wrong, f"LogDirStates.{rule}", act)
