"""What contracts say of wrong rules about changed configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from controller.core import alter_configs
from controller.core.config_records import BrokerConfigsChanged, TopicConfigsChanged
from controller.core.step import Step
from protocol.configs.types import ALL_BROKERS
from protocol.errors import ErrorCode
from tests.controller.core.altering import BROKER, DELETE, SET, TOPIC, alter, replace_all
from tests.controller.core.cluster import Cluster
from tests.simulation.contracts.controller.controlled import (
    Act,
    Case,
    led,
    misanswer,
    spoiled,
    tells,
)

SINGLY, WHOLE = "alter_configs.incremental_alter_configs", "alter_configs.alter_configs"
OF_TOPIC, OF_BROKER = "alter_configs.change_topic_configs", "alter_configs.change_broker_configs"
UNCLEAN: Final = "unclean.leader.election.enable"


def one_is_set() -> Act:
    cluster = led()
    return lambda: alter(cluster, TOPIC, "t", ("retention.ms", SET, " 5000 "))


def one_is_deleted() -> Act:
    cluster = led()
    alter(cluster, BROKER, "1", ("log.segment.bytes", SET, "1048576"))
    return lambda: alter(cluster, BROKER, "01", ("log.segment.bytes", DELETE, None))


def one_is_refused() -> Act:
    cluster = led()
    return lambda: alter(cluster, TOPIC, "t", ("retention.ms", SET, "soon"))


def all_are_replaced() -> Act:
    cluster = led()
    alter(cluster, TOPIC, "t", ("retention.ms", SET, "5000"))
    return lambda: replace_all(cluster, TOPIC, "t", retention_bytes="4096")


def nobody_leads() -> Cluster:
    cluster = led([1, 2])
    cluster.expire(2)
    cluster.expire(1)
    cluster.start_broker(2)
    return cluster


def a_topic_allows_loss() -> Act:
    cluster = nobody_leads()
    return lambda: alter(cluster, TOPIC, "t", (UNCLEAN, SET, "true"))


def all_allow_loss() -> Act:
    cluster = nobody_leads()
    return lambda: alter(cluster, BROKER, ALL_BROKERS, (UNCLEAN, SET, "true"))


def sets(value: str | None) -> Callable[[Step], object]:
    return lambda step: step.change(TopicConfigsChanged("t", {"retention.ms": value}))


def sets_it_again(step: Step) -> None:
    step.change(BrokerConfigsChanged("1", {"log.segment.bytes": "1048576"}))


def only_notes(step: Step, name: str, changes: Any) -> None:
    record = BrokerConfigsChanged if name == ALL_BROKERS else TopicConfigsChanged
    step.change(record(name, changes))


CASES: Final[list[Case]] = [
    (SINGLY, spoiled(alter_configs.incremental_alter_configs, sets("7")), one_is_set),
    (SINGLY, spoiled(alter_configs.incremental_alter_configs, sets_it_again), one_is_deleted),
    (SINGLY, spoiled(alter_configs.incremental_alter_configs, sets("7")), one_is_refused),
    (
        SINGLY,
        spoiled(alter_configs.incremental_alter_configs, misanswer(responses=[])),
        one_is_set,
    ),
    (WHOLE, spoiled(alter_configs.alter_configs, sets("5000")), all_are_replaced),
    (OF_TOPIC, only_notes, a_topic_allows_loss),
    (OF_BROKER, only_notes, all_allow_loss),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2].__name__}")
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


def test_the_refused_one_is_refused() -> None:
    assert alter(led(), TOPIC, "t", ("retention.ms", SET, "soon")).error_code == (
        ErrorCode.INVALID_CONFIG
    )
