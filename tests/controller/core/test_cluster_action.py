"""With an authorizer nobody but brokers, by ACL or as super users, may ask the controller."""

from __future__ import annotations

from controller.core.cluster_action import may_ask
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


def test_without_an_authorizer_everybody_may() -> None:
    assert may_ask(ClusterState(), broker_config({}), "User:ANONYMOUS", HOST)


def test_super_users_may_and_others_may_not() -> None:
    assert may_ask(ClusterState(), SECURED, "User:broker", HOST)
    assert not may_ask(ClusterState(), SECURED, "User:ANONYMOUS", HOST)


def test_an_acl_lets_a_principal_in() -> None:
    state = ClusterState()
    cluster = ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
    operation, allow = AclOperation.CLUSTER_ACTION, PermissionType.ALLOW
    state.acls[AclBinding(cluster, "User:second", "*", operation, allow)] = None
    assert may_ask(state, SECURED, "User:second", HOST)
    assert not may_ask(state, SECURED, "User:third", HOST)
