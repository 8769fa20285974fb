"""What the contracts of elections say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from controller.core import election, partition_moves, preferred
from controller.core.election import Elected
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.ids import TopicPartition
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    isr_wish,
    led,
    mute,
    spoiled,
    tells,
)
from tests.simulation.contracts.wrong_rules import answers


def a_broker_dies() -> Act:
    cluster = led()
    return lambda: cluster.expire(1)


def all_of_the_isr_die() -> Act:
    cluster = led([1, 2])
    cluster.expire(2)
    return lambda: cluster.expire(1)


def a_broker_stops() -> Act:
    cluster = led()
    return lambda: cluster.shut_down(1)


def a_disk_comes_back() -> Act:
    cluster = led()
    cluster.fail_log_dir(2, 1, ["t-0"])
    return lambda: cluster.return_log_dirs(2, [1, 2])


def balanced() -> Act:
    cluster = led()
    cluster.expire(1)
    cluster.start_broker(1)
    cluster.call(isr_wish(cluster, "t-0", *cluster.partition("t-0").isr, 1), 3)
    run = cluster.machine.run
    run.balance_at_ms = cluster.now_ms
    step = Step(cluster.state, run, cluster.config, Random(0), cluster.now_ms)
    return lambda: preferred.balance_when_due(step)


def elects(change: Callable[[Partition], Partition], **fields: Any) -> Callable[..., object]:
    right = election.elect

    def rule(*args: Any, **kwargs: Any) -> Elected | None:
        found = right(*args, **kwargs)
        if found is None:
            return None
        return found._replace(partition=change(found.partition), **fields)

    return rule


def forgets_the_epoch(one: Partition) -> Partition:
    return replace(one, leader_epoch=one.leader_epoch - 1)


def keeps_the_dead(one: Partition) -> Partition:
    return replace(one, isr=one.replicas)


def takes_the_last(one: Partition) -> Partition:
    return replace(one, leader=one.isr[-1])


def writes_the_same_epoch(step: Step, changed: dict[TopicPartition, Partition]) -> None:
    for tp, one in changed.items():
        step.state.topics[tp.topic].partitions[tp.partition] = one


def needs_it_always(_state: ClusterState, _tp: TopicPartition) -> bool:
    return True


ELECT: Final = "election.elect"
RULES: Final[list[Case]] = [
    (ELECT, answers(None), a_broker_dies),
    (ELECT, elects(forgets_the_epoch), a_broker_dies),
    (ELECT, elects(keeps_the_dead), a_broker_dies),
    (ELECT, elects(takes_the_last), a_broker_dies),
    (ELECT, elects(keeps_the_dead), a_broker_stops),
    (ELECT, elects(lambda one: one, recipients=()), a_broker_dies),
    (ELECT, elects(lambda one: one, is_unclean=True), a_broker_dies),
    ("election.needs_unclean", needs_it_always, a_broker_dies),
    ("partition_moves.bring_online", answers({}), a_broker_dies),
    (
        "partition_moves.bring_online",
        spoiled(partition_moves.bring_online, lambda step: step.records.clear()),
        a_broker_dies,
    ),
    ("partition_moves.elect_leaderless", answers({}), a_broker_dies),
    ("partition_moves.write_leaderships", writes_the_same_epoch, a_broker_dies),
    ("partition_moves.raise_leader_epochs", answers(None), a_disk_comes_back),
    (
        "partition_moves.raise_leader_epochs",
        spoiled(partition_moves.raise_leader_epochs, mute),
        a_disk_comes_back,
    ),
    ("preferred.balance_when_due", answers(None), balanced),
]


@pytest.mark.parametrize("case", RULES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


def test_leaders_never_have_lost_records_where_loss_was_not_allowed() -> None:
    tells((ELECT, _elects_anybody, all_of_the_isr_die))


def _elects_anybody(state: ClusterState, tp: TopicPartition, *_: object, **__: object) -> Elected:
    one = state.partition(tp)
    return Elected(replace(one, leader=1, leader_epoch=one.leader_epoch + 1), (1,), is_unclean=True)
