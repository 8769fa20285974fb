"""What contracts say of wrong rules that let a broker miss a change of configs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import pytest

from controller.core import failures
from controller.core.run_state import RunState
from controller.core.step import Step
from protocol.messages.control import UpdateMetadataRequest
from tests.controller.core.altering import SET, TOPIC, incremental
from tests.simulation.contracts.controller.controlled import Act, Case, led, spoiled, tells
from tests.simulation.contracts.wrong_rules import answers

CHANGE: Final = (TOPIC, "t", [("retention.ms", SET, "1000")])


def a_config_changes() -> Act:
    cluster = led()
    return lambda: cluster.call(incremental(CHANGE), 1)


def a_config_changes_while_one_is_away() -> Act:
    cluster = led()
    cluster.expire(3)
    return lambda: cluster.call(incremental(CHANGE), 1)


def one_that_was_away_comes_back() -> Act:
    cluster = led()
    cluster.expire(3)
    cluster.call(incremental(CHANGE), 1)
    return lambda: cluster.start_broker(3)


def remembers_nobody(step: Step) -> None:
    step.run.unheard_configs.clear()


_right = Step.send_changed_configs


def tells_all_but_who_is_away(
    step: Step, broker_ids: Collection[int], names: Collection[str]
) -> None:
    _right(step, [each for each in broker_ids if each in step.run.channels], names)


def has_heard_all(run: RunState, broker_id: int, _sequence: int) -> None:
    run.unheard_configs.pop(broker_id, None)


def says_no_names(step: Step) -> None:
    for effect in step.effects:
        request = getattr(effect, "request", None)
        if isinstance(request, UpdateMetadataRequest):
            request.topic_states = []


CASES: Final[list[Case]] = [
    ("Step.send_changed_configs", answers(None), a_config_changes),
    ("Step.send_changed_configs", tells_all_but_who_is_away, a_config_changes_while_one_is_away),
    ("Step.send_changed_configs", spoiled(_right, remembers_nobody), a_config_changes),
    ("RunState.note_heard", answers(None), a_config_changes),
    ("RunState.note_heard", has_heard_all, one_that_was_away_comes_back),
    (
        "failures.broker_started",
        spoiled(failures.broker_started, says_no_names),
        one_that_was_away_comes_back,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)
