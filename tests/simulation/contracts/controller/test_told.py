"""What an event has answered and decided so far."""

from __future__ import annotations

from random import Random

from controller.core.effects import Answer
from controller.core.partition_moves import write_leaderships
from controller.core.run_state import Waiting
from controller.core.step import Step
from simulation.contracts.controller.told import answer_of, led_changes
from tests.controller.core.cluster import tp
from tests.simulation.contracts.controller.controlled import led


def test_an_answer_is_found_where_it_is_given_and_where_it_waits() -> None:
    cluster = led()
    step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), 0)
    assert answer_of(step, 1) is None
    step.effects.append(Answer(1, "now"))
    step.run.waiting.append(Waiting({}, None, Answer(2, "in time"), Answer(2, "late")))
    assert (answer_of(step, 1), answer_of(step, 2)) == ("now", "in time")


def test_leaderships_that_were_decided_are_found() -> None:
    cluster = led()
    step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), 0)
    write_leaderships(step, {tp("t-0"): cluster.partition("t-0")})
    assert list(led_changes(step.records)) == [tp("t-0")]
