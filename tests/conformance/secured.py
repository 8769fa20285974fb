"""What makes an Apache Kafka one with logins, an authorizer and tokens, and who judges it.

Brokers, controllers and whoever looks whether they run speak PLAINTEXT, as User:ANONYMOUS.
"""

from __future__ import annotations

from typing import Final

from protocol.security.client import ClientSecurity, security_by

ADMIN: Final = "admin"
PASSWORD: Final = "secret of the administrator"
MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
INNER: Final = "INNER"
"""The listener of brokers and tools."""
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
AUTHORIZERS: Final = {
    "kafka-3.9": "kafka.security.authorizer.AclAuthorizer",
    "kafka-4.3": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


def configs_of(release: str, port: int, inner: int) -> dict[str, str]:
    """Return a broker's keys, but those of a controller that it is."""
    clients = "listener.name.sasl_plaintext"
    return {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port},{INNER}://127.0.0.1:{inner}",
        "listener.security.protocol.map": (
            f"SASL_PLAINTEXT:SASL_PLAINTEXT,{INNER}:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": INNER,
        "sasl.enabled.mechanisms": MECHANISMS,
        f"{clients}.plain.sasl.jaas.config": f'{_PLAIN} user_{ADMIN}="{PASSWORD}";',
        f"{clients}.scram-sha-256.sasl.jaas.config": _SCRAM,
        f"{clients}.scram-sha-512.sasl.jaas.config": _SCRAM,
        "authorizer.class.name": AUTHORIZERS[release],
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
        "delegation.token.secret.key": "secret of the tokens",
    }


def properties() -> dict[str, str]:
    """Return what the administrator's client is told."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{_PLAIN} username="{ADMIN}" password="{PASSWORD}";',
    }


def security() -> ClientSecurity:
    """Return how the administrator comes in."""
    return security_by(properties(), 0)
