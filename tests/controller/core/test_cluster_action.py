"""With an authorizer nobody but brokers, by ACL or as super users, may ask the controller."""

from __future__ import annotations

from typing import Any

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.cluster_action import ClusterActions
from controller.core.state import ClusterState
from protocol.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.configs.parsing import broker_config

SECURED = broker_config(
    {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:broker"}
)
HOST = "10.0.0.1"


class CountedState(ClusterState):
    """Counts how often its ACLs are looked at."""

    reads = 0

    def __getattribute__(self, name: str) -> Any:
        """Return what the state has."""
        if name == "acls":
            self.reads += 1
        return super().__getattribute__(name)


def acl_of(principal: str) -> AclBinding:
    cluster = ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
    return AclBinding(cluster, principal, "*", AclOperation.CLUSTER_ACTION, PermissionType.ALLOW)


def test_without_an_authorizer_nodes_may_and_at_plaintext_everybody() -> None:
    config, state = broker_config({}), ClusterState()
    assert ClusterActions(config, None).may_ask(state, "User:ANONYMOUS", HOST)
    actions = ClusterActions(config, frozenset({"User:broker"}))
    assert actions.may_ask(state, "User:broker", HOST)
    assert not actions.may_ask(state, "User:alice", HOST)
    assert not actions.may_ask(state, "User:ANONYMOUS", HOST)


def test_super_users_may_and_others_may_not() -> None:
    actions = ClusterActions(SECURED, frozenset({"User:fourth"}))
    assert actions.may_ask(ClusterState(), "User:broker", HOST)
    assert not actions.may_ask(ClusterState(), "User:ANONYMOUS", HOST)
    assert not actions.may_ask(ClusterState(), "User:fourth", HOST)


def test_an_acl_lets_a_principal_in_as_long_as_there_is_one() -> None:
    state, actions = ClusterState(), ClusterActions(SECURED, frozenset({"User:fourth"}))
    assert not actions.may_ask(state, "User:second", HOST)
    AclsCreated((acl_of("User:second"),)).apply(state)
    assert actions.may_ask(state, "User:second", HOST)
    assert not actions.may_ask(state, "User:third", HOST)
    AclsDeleted((acl_of("User:second"),)).apply(state)
    assert not actions.may_ask(state, "User:second", HOST)


def test_acls_are_read_when_they_changed_and_not_for_each_question() -> None:
    state, actions = CountedState(), ClusterActions(SECURED, frozenset({"User:fourth"}))
    AclsCreated((acl_of("User:second"),)).apply(state)
    state.reads = 0
    for _ in range(3):
        assert actions.may_ask(state, "User:second", HOST)
    assert state.reads == 1
