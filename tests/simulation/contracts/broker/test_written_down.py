"""What the contracts of what the next start has to know say of wrong rules, in scenarios."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.checkpoints import Checkpoints
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from jbodlab.worlds.scenario_files import load_plan
from protocol.ids import TopicPartition
from tests.simulation.contracts.broker.test_engine import is_well, told_by

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
