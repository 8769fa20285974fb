"""Which principals are nodes, where no ACL says who may act for the cluster.

Source: none of Kafka's, which asks its authorizer or nobody.
"""

from __future__ import annotations

from protocol.configs.broker import BrokerConfig
from protocol.principal import ANONYMOUS, Principal
from protocol.principal_mapping import PrincipalMapping
from protocol.security.listeners import SecurityProtocol
from protocol.security.tls import own_name
from protocol.security.users import node_user


def node_principals(protocol: SecurityProtocol, config: BrokerConfig) -> frozenset[str] | None:
    """Return the principals that nodes have to each other, such as ``User:broker``.

    That is the user of SASL that they log in as, or whom their own certificate names, and the super
    users. None at PLAINTEXT, where nobody is told from anybody.

    Raises:
        SecurityConfigError: the key store cannot be read.
    """
    if protocol is SecurityProtocol.PLAINTEXT:
        return None
    if protocol.is_sasl:
        name: str | None = node_user(config)
    else:
        subject = own_name(config)
        mapping = PrincipalMapping(config.ssl_principal_mapping_rules)
        name = None if subject is None else mapping.name_of(subject)
    own = () if name is None else (str(Principal(name)),)
    return frozenset((*own, *config.super_user_names)) - {str(ANONYMOUS)}
