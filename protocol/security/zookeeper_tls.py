"""TLS with ZooKeeper from Kafka's ``zookeeper.ssl.*`` keys. Connects to nothing.

Stores are read as those of listeners. Source: ZkConfigs.java; ZooKeeper's X509Util,
KeyStoreFileType.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from protocol.configs.broker import BrokerConfig
from protocol.configs.parsing import broker_config
from protocol.configs.zookeeper import TLS_VERSIONS
from protocol.security.tls import PEM, PKCS12, SecurityConfigError, client_context

_PREFIX: Final = "zookeeper."
_KINDS: Final[Mapping[str, str]] = {".pem": PEM, ".p12": PKCS12, ".jks": "JKS"}
_VERSIONS: Final = dict(
    zip(TLS_VERSIONS, (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3), strict=True)
)


def zookeeper_tls(configs: Mapping[str, str]) -> Callable[[], ssl.SSLContext] | None:
    """Return what makes the context of one connection; None: no TLS is spoken with ZooKeeper.

    Stores are read at each connection, so that certificates can be exchanged.

    Args:
        configs: a broker's, by Kafka's names.

    Raises:
        SecurityConfigError: the keys make none now; what is returned raises it, too.
    """
    config = broker_config(configs)
    if not config.zookeeper_ssl_client_enable:
        return None
    make = partial(_context, config)
    make()
    return make


def _context(config: BrokerConfig) -> ssl.SSLContext:
    try:
        context = client_context(_as_of_a_listener(config))
    except SecurityConfigError as error:
        raise SecurityConfigError(f"{_PREFIX}{error.key}", error.text) from None
    enabled = config.zookeeper_ssl_enabled_protocols or (config.zookeeper_ssl_protocol,)
    versions = [version for name, version in _VERSIONS.items() if name in enabled]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    return context


def _as_of_a_listener(config: BrokerConfig) -> BrokerConfig:
    """Return the same keys under the names that they have where no ZooKeeper is."""
    keystore, truststore = (
        config.zookeeper_ssl_keystore_location,
        config.zookeeper_ssl_truststore_location,
    )
    algorithm = config.zookeeper_ssl_endpoint_identification_algorithm
    return BrokerConfig(
        ssl_keystore_location=keystore,
        ssl_keystore_type=_kind("ssl.keystore", config.zookeeper_ssl_keystore_type, keystore),
        ssl_keystore_password=config.zookeeper_ssl_keystore_password,
        # ZooKeeper knows one password for a store and the key in it.
        ssl_key_password=config.zookeeper_ssl_keystore_password,
        ssl_truststore_location=truststore,
        ssl_truststore_type=_kind(
            "ssl.truststore", config.zookeeper_ssl_truststore_type, truststore
        ),
        ssl_truststore_password=config.zookeeper_ssl_truststore_password,
        ssl_endpoint_identification_algorithm=algorithm,
    )


def _kind(store: str, kind: str | None, location: str | None) -> str:
    """Return the format of a store: as it is set, or as its name ends."""
    if kind or not location:
        return kind or PEM
    for ending, named in _KINDS.items():
        if location.lower().endswith(ending):
            return named
    raise SecurityConfigError(
        f"{store}.type", f"must be {PEM} or {PKCS12}: the name of {location} does not tell"
    )
