"""What contracts say of a controller that takes wrong Isrs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from controller.core import partition_moves
from controller.core.alter_partition import alter_partition
from controller.core.events import RequestArrived
from controller.core.step import Step
from protocol.ids import TopicPartition
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    isr_wish,
    led,
    misanswer,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers


def altered(*isr: int) -> Callable[[], Act]:
    def prepare() -> Act:
        cluster = led()
        request = isr_wish(cluster, "t-0", *isr)
        return lambda: cluster.call(request, 3)

    return prepare


def takes_whoever_asks(step: Step) -> None:
    del step.records[-1:]


RULES: Final[list[Case]] = [
    ("alter_partition.alter_partition", answers(None), altered(1, 2)),
    ("alter_partition.alter_partition", spoiled(alter_partition, takes_whoever_asks), altered(1)),
    (
        "alter_partition.alter_partition",
        spoiled(alter_partition, misanswer(topics=[])),
        altered(1, 2),
    ),
]


@pytest.mark.parametrize("case", RULES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


def test_members_that_cannot_be_in_sync_are_refused() -> None:
    right = alter_partition

    def takes_it(step: Step, event: RequestArrived) -> None:
        right(step, event)
        tp = TopicPartition("t", 0)
        one = replace(step.state.partition(tp), isr=(1, 2, 3))
        partition_moves.write_leaderships(step, {tp: one})

    def prepare() -> Act:
        cluster = led()
        cluster.fail_log_dir(2, 1, ["t-0"])
        request = isr_wish(cluster, "t-0", 1, 2, 3)
        return lambda: cluster.call(request, 3)

    tells(("alter_partition.alter_partition", takes_it, prepare))
