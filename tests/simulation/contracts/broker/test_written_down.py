"""What the contracts of what the next start has to know say of wrong rules, in scenarios."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.checkpoints import Checkpoints
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from jbodlab.worlds.scenario_files import load_plan
from protocol.ids import TopicPartition
from tests.simulation.contracts.broker.test_engine import is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

TP: Final = TopicPartition("orders", 0)
NOTE: Final = LoadedLogDirs.note_missing
KNOWN: Final = Checkpoints.high_watermarks_of
REPLACED: Final = "replaced-log-dir-of-a-lone-replica-concerns-nobody-else"
TAKEN_AWAY: Final = "bug-log-that-is-taken-away-while-its-broker-is-down-is-lost"


def forgets_what_is_lost(checkpoints: Checkpoints, log_dir: LogDir) -> dict[TopicPartition, int]:
    known = KNOWN(checkpoints, log_dir)
    return {tp: known[tp] for tp in known if not checkpoints._state.hosted.is_lost(tp)}


def notes_nothing(loaded_log_dirs: LoadedLogDirs, loaded: Mapping[str, LoadedLogDir]) -> None:
    NOTE(loaded_log_dirs, {})


WRONG_RULES: Final[list[tuple[str, Callable[..., object], str]]] = [
    ("Checkpoints.high_watermarks_of", forgets_what_is_lost, REPLACED),
    ("LoadedLogDirs.note_missing", notes_nothing, TAKEN_AWAY),
]


@pytest.mark.parametrize(("rule", "wrong", "scenario"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], scenario: str
) -> None:
    assert is_well(scenario)
    assert told_by(load_plan(scenario), rule, wrong).startswith(f"{rule} breaks its promise")


@pytest.mark.parametrize("is_online", [True, False])
@pytest.mark.parametrize("operation", ["write checkpoints", "append", None])
def test_a_recovery_point_that_fell_is_written_at_once(
    operation: str | None, *, is_online: bool
) -> None:
    queue = SimpleNamespace(_queue=[], _running=[])
    log_dir: Any = SimpleNamespace(path="/d1", queue=queue, is_online=is_online)

    def writes(*_: object) -> None:
        if operation is not None:
            queue._queue.append(SimpleNamespace(operation=operation))

    def use() -> None:
        object.__new__(Checkpoints).write_at_once(log_dir)

    told = told_of(writes, "Checkpoints.write_at_once", use)
    assert bool(told) is (is_online and operation != "write checkpoints")


@pytest.mark.parametrize(
    ("by", "is_told"), [({}, False), ({TP: object()}, False), ({TP: None}, True)]
)
def test_what_has_left_a_log_dir_is_forgotten_by_the_next_look(
    by: dict[TopicPartition, Any], *, is_told: bool
) -> None:
    checkpoints: Any = object.__new__(Checkpoints)
    log_dirs = {"/d1": SimpleNamespace(is_online=True)}
    checkpoints._state = SimpleNamespace(log_dirs=log_dirs)
    checkpoints._changed, checkpoints._gone = {}, {"/d1": by}

    def told() -> list[str]:
        def use() -> None:
            checkpoints.write_high_watermarks()

        return told_of(answers(None), "Checkpoints.write_high_watermarks", use)

    assert bool(told()) is is_told
    checkpoints._changed = {"/d1": None}
    assert not told()
