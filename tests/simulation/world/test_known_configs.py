"""What brokers know is compared with what was decided: a cluster at rest has nothing to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from broker.app import Broker
from controller.core.state import ClusterState
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from simulation.world.known_configs import configs_known_otherwise
from tests.mutations.trial import TP, Trial

_ACL: Final = AclBinding(
    ResourcePattern(AclResourceType.TOPIC, "orders", PatternType.LITERAL),
    "User:alice",
    "*",
    AclOperation.READ,
    PermissionType.ALLOW,
)


async def _at_rest(configs: str = "{}") -> tuple[Broker, ClusterState]:
    trial = await Trial.begin(1, 2, configs=configs)
    await trial.until_isr(TP, 1, 2)
    running, controller = trial.cluster.brokers[1].broker, trial.cluster.controller.controller
    assert running is not None
    assert controller is not None
    await trial.cluster.until(
        lambda: not list(configs_known_otherwise(1, running, controller.state)), timeout_ms=60_000
    )
    return running, controller.state


def _set_own(state: ClusterState) -> None:
    state.dynamic_configs["1"] = {"log.retention.ms": "5"}


def _set_of_all(state: ClusterState) -> None:
    state.dynamic_configs[""] = {"log.retention.ms": "5"}


def _set_of_a_topic(state: ClusterState) -> None:
    state.topics["orders"].configs["retention.ms"] = "5"


def _set_of_a_group(state: ClusterState) -> None:
    state.group_configs["readers"] = {"consumer.session.timeout.ms": "50000"}


def _limit(state: ClusterState) -> None:
    state.client_quotas[("user", "alice"),] = {"producer_byte_rate": 5.0}


def _allow(state: ClusterState) -> None:
    state.acls[_ACL] = None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_set_own, "configurations of its own than the controller: log.retention.ms"),
        (_set_of_all, "configurations of all brokers than the controller: log.retention.ms"),
        (_set_of_a_topic, "topics' configurations than the controller: orders"),
        (_set_of_a_group, "groups' configurations than the controller: readers"),
        (_limit, "clients' quotas than the controller: producer_byte_rate"),
        (_allow, f"ACLs than the controller: {_ACL}"),
    ],
)
async def test_what_was_decided_and_is_not_known_is_told(
    change: Callable[[ClusterState], None], what: str
) -> None:
    broker, state = await _at_rest(
        f"{{authorizer.class.name: {STANDARD_AUTHORIZER}, allow.everyone.if.no.acl.found: 'true'}}"
    )
    change(state)
    (text,) = configs_known_otherwise(1, broker, state)
    assert text == f"broker 1 has other {what}"[: len(text)]


async def test_who_asks_no_authorizer_needs_no_acls() -> None:
    broker, state = await _at_rest()
    _allow(state)
    assert list(configs_known_otherwise(1, broker, state)) == []
