"""What an ACL is: a resource pattern, who, from where, what, and whether it is allowed.

Values are those of Kafka's protocol. Source: AclBinding.java, ResourcePattern.java,
AclOperation.java, AclEntry.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

WILDCARD: Final = "*"
"""As the name of a LITERAL pattern: every resource; as a host: every host."""
WILDCARD_PRINCIPAL: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


class AclResourceType(IntEnum):
    """What an ACL is about. Source: ResourceType.java."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a name is meant; the first three stand in filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What is to be done with a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class PermissionType(IntEnum):
    """Whether it may be."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(NamedTuple):
    """Which resources."""

    resource_type: AclResourceType
    name: str
    pattern_type: PatternType


class AclBinding(NamedTuple):
    """One ACL."""

    pattern: ResourcePattern
    principal: str
    """Such as ``User:alice``, or ``WILDCARD_PRINCIPAL``."""
    host: str
    """An address as text, or ``WILDCARD``."""
    operation: AclOperation
    permission: PermissionType


OPERATIONS: Final[dict[AclResourceType, tuple[AclOperation, ...]]] = {
    AclResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    AclResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
    ),
    AclResourceType.TRANSACTIONAL_ID: (AclOperation.DESCRIBE, AclOperation.WRITE),
    AclResourceType.DELEGATION_TOKEN: (AclOperation.DESCRIBE,),
    AclResourceType.USER: (AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS),
}
"""Which operations there are on each resource. Source: AclEntry.supportedOperations."""
SINCE_4_0: Final = {
    AclResourceType.GROUP: (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
}
"""Those of them that releases before 4.0 do not have; they keep ACLs with them all the same."""


def operation_bits(operations: Iterable[AclOperation]) -> int:
    """Return operations as answers tell authorized ones: a bit for each."""
    return sum(1 << operation for operation in operations)
