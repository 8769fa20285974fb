"""What a secured cluster is told: rights, filters of rights, passwords. In Kafka's JSON form."""

from __future__ import annotations

import base64
from typing import Any, Final

from conformance.core.script import As
from protocol.security.scram import ITERATIONS_MIN, salted_password

TOPIC, GROUP, CLUSTER, TRANSACTION, TOKEN, USER = 2, 3, 4, 5, 6, 7
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
CREATE_TOKENS, DESCRIBE_TOKENS = 13, 14
DENY, ALLOW = 2, 3
CLUSTER_NAME: Final = "kafka-cluster"
OTHER_HOST: Final = "10.9.8.7"
"""Nobody who judges connects from there."""
NO_HMAC: Final = "bm8gdG9rZW4gaGFzIHRoaXM="
"""No token has it."""
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
MECHANISMS: Final = {SHA_256: 1, SHA_512: 2}
"""With their numbers in requests."""


def rule(kind: int, name: str, operation: int, **more: Any) -> dict[str, Any]:
    """Return one ACL without its principal: allowed, literal and from everywhere unless said."""
    return {
        "resourceType": kind,
        "resourceName": name,
        "resourcePatternType": LITERAL,
        "host": "*",
        "operation": operation,
        "permissionType": ALLOW,
        **more,
    }


def matching(**fields: Any) -> dict[str, Any]:
    """Return a filter of these fields; whatever is not named is not looked at."""
    return {
        "resourceTypeFilter": ANY,
        "resourceNameFilter": None,
        "patternTypeFilter": ANY,
        "principalFilter": None,
        "hostFilter": None,
        "operation": ANY,
        "permissionType": ANY,
        **fields,
    }


def password_row(who: As) -> dict[str, Any]:
    """Return what AlterUserScramCredentials is told of a user's password."""
    salt = who.user.encode()
    salted = salted_password(who.mechanism, who.password, salt, ITERATIONS_MIN)
    return {
        "name": who.user,
        "mechanism": MECHANISMS[who.mechanism],
        "iterations": ITERATIONS_MIN,
        "salt": base64.b64encode(salt).decode(),
        "saltedPassword": base64.b64encode(salted).decode(),
    }
