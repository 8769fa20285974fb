"""The sets of ACLs under which a client asks."""

from __future__ import annotations

import random
from typing import Final

from protocol.acls.model import (
    CLUSTER_NAME,
    OPERATIONS,
    SINCE_4_0,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from tests.api_decisions.names import GROUP, MISSING, OWNER, TOPIC, TRANSACTION

SEED: Final = 3921
_NAMES: Final = {
    AclResourceType.TOPIC: TOPIC,
    AclResourceType.GROUP: GROUP,
    AclResourceType.CLUSTER: CLUSTER_NAME,
    AclResourceType.TRANSACTIONAL_ID: TRANSACTION,
    AclResourceType.USER: f"User:{OWNER}",
    AclResourceType.DELEGATION_TOKEN: "*",
}


def acl_sets(count: int = 60) -> list[list[AclBinding]]:
    """Return none, each operation alone, and so many that are drawn."""
    alone = [
        [_acl(kind, _NAMES[kind], operation)] for kind in _NAMES for operation in _operations(kind)
    ]
    rng = random.Random(SEED)
    return [[], *alone, *(_drawn(rng) for _ in range(count))]


def _operations(kind: AclResourceType) -> list[AclOperation]:
    """Return those that Apache Kafka 3.9 has: it was asked with them."""
    later = SINCE_4_0.get(kind, ())
    return [*(each for each in OPERATIONS[kind] if each not in later), AclOperation.ALL]


def _drawn(rng: random.Random) -> list[AclBinding]:
    """Draw a few, which often are about the same, by names, prefixes and wildcards."""
    found: dict[AclBinding, None] = {}
    for _ in range(rng.randint(2, 6)):
        kind = rng.choice(list(_NAMES))
        name = _NAMES[kind]
        pattern = PatternType.LITERAL
        if kind is not AclResourceType.CLUSTER:
            name = rng.choice((name, name, "*", name[:3], MISSING))
            if name[0] != "*":
                pattern = rng.choice((PatternType.LITERAL, PatternType.PREFIXED))
        operation = rng.choice(_operations(kind))
        permission = rng.choice((*(PermissionType.ALLOW,) * 3, PermissionType.DENY))
        who = rng.choice(("User:alice", "User:alice", "User:*", "User:bob"))
        host = rng.choice(("*", "*", "127.0.0.1", "10.0.0.1"))
        resource = ResourcePattern(kind, name, pattern)
        found[AclBinding(resource, who, host, operation, permission)] = None
    return list(found)


def _acl(kind: AclResourceType, name: str, operation: AclOperation) -> AclBinding:
    resource = ResourcePattern(kind, name, PatternType.LITERAL)
    return AclBinding(resource, "User:alice", "*", operation, PermissionType.ALLOW)
