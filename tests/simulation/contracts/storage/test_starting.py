"""What the contracts of a broker's start say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from jbodlab.worlds.scenario_files import load_plan
from tests.simulation.contracts.broker.test_engine import is_well, told_by

CUT: Final = "log-that-went-on-behind-a-cut-swap-stays"


async def leaves_both(_log_dirs: Any, _loaded: Any) -> None:
    """Finish no swap."""


async def takes_the_promoted_one(_log_dirs: Any, loaded: Any) -> None:
    for found in loaded.values():
        promoted = [log.topic_partition for log in found.logs if log.swap_note is not None]
        for other in loaded.values():
            if other is not found:
                other.logs[:] = [log for log in other.logs if log.topic_partition not in promoted]


@pytest.mark.parametrize("wrong", [leaves_both, takes_the_promoted_one])
def test_of_two_logs_of_a_cut_swap_the_later_one_stays(wrong: Callable[..., object]) -> None:
    assert is_well(CUT)
    rule = "startup._finish_swaps"
    assert told_by(load_plan(CUT), rule, wrong).startswith(f"{rule} breaks its promise")
