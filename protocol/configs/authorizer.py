"""Broker keys of the authorizer: which one, who is above it, and what it does without ACLs.

Kafka's authorizer reads the last two by itself. Source: ServerConfigs.java,
StandardAuthorizer.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocol.configs.checks import one_of
from protocol.configs.coordination import CoordinationConfig
from protocol.configs.types import ConfigType, key

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
"""Values of ``authorizer.class.name``, which decide alike; other classes cannot be loaded here."""


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class AuthorizerConfig(CoordinationConfig):
    """What a broker's configuration says of its authorizer."""

    authorizer_class_name: str = key(
        ConfigType.STRING,
        "",
        "The authorizer, which decides by ACLs who may do what; without one everybody may do all.",
        one_of("", STANDARD_AUTHORIZER, ACL_AUTHORIZER),
    )
    super_users: str = key(
        ConfigType.STRING,
        "",
        "Principals who may do everything, as User:admin, separated by semicolons.",
    )
    allow_everyone_if_no_acl_found: bool = key(
        ConfigType.BOOLEAN,
        default=False,
        doc="Whether everybody may do what no ACL is about.",
    )

    @property
    def has_authorizer(self) -> bool:
        """Whether requests are authorized."""
        return bool(self.authorizer_class_name)

    @property
    def super_user_names(self) -> tuple[str, ...]:
        """The super users, one by one."""
        named = (text.strip() for text in self.super_users.split(";"))
        return tuple(text for text in named if text)
