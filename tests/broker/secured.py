"""A broker of fakes with an authorizer, and ACLs in a few words."""

from __future__ import annotations

from broker.core.access import Access, Asker
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.connection import Peer
from protocol.principal import Principal
from tests.broker.fakes import FakeBroker, topic_state, update_metadata

ALICE = Peer("10.0.0.1", 40_000, principal=Principal("alice"))
ADMIN = Peer("10.0.0.1", 40_001, principal=Principal("admin"))
SECRET_ID = bytes(range(16, 32))


def allow(
    operation: AclOperation,
    kind: AclResourceType = AclResourceType.CLUSTER,
    name: str = CLUSTER_NAME,
) -> AclBinding:
    """Allow alice something."""
    pattern = ResourcePattern(kind, name, PatternType.LITERAL)
    return AclBinding(pattern, "User:alice", "*", operation, PermissionType.ALLOW)


def secured(*acls: AclBinding) -> FakeBroker:
    """Return a broker that has the topics ``orders`` and ``secret`` and these ACLs."""
    broker = FakeBroker()
    states = topic_state(), topic_state("secret", topic_id=SECRET_ID)
    broker.engine.metadata.update(update_metadata(*states))
    authorizer = Authorizer(super_users=["User:admin"])
    authorizer.replace(acls)
    broker.context.authorizer = authorizer
    return broker


def access_of(
    broker: FakeBroker, api: str, told: list[str], *, creates_topics: bool = False
) -> Access:
    """Return alice's for one request; ``told`` takes the lines of the authorizer's log."""
    assert broker.context.authorizer is not None
    return Access(
        broker.context.authorizer,
        Asker("User:alice", "10.0.0.1", api),
        metadata=broker.engine.metadata,
        creates_topics=creates_topics,
        told=told.append,
    )
