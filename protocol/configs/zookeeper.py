"""Broker keys of TLS with ZooKeeper. Where ZooKeeper is stands in ``zookeeper:`` of a cluster file.

Source: ZkConfigs.java (3.9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocol.configs.checks import each_of, one_of
from protocol.configs.security import SecurityConfig
from protocol.configs.types import ConfigType, key

NETTY: Final = "org.apache.zookeeper.ClientCnxnSocketNetty"
_NIO: Final = "org.apache.zookeeper.ClientCnxnSocketNIO"
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
"""From the oldest on."""


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class ZookeeperConfig(SecurityConfig):
    """What a broker's configuration says of its connection to ZooKeeper."""

    zookeeper_ssl_client_enable: bool = key(
        ConfigType.BOOLEAN, default=False, doc="Whether TLS is spoken with ZooKeeper."
    )
    zookeeper_clientCnxnSocket: str | None = key(  # noqa: N815 - Kafka's name
        ConfigType.STRING,
        None,
        f"{NETTY} for TLS with ZooKeeper, as Kafka wants it; it is not loaded here.",
        one_of(NETTY, _NIO),
        nullable=True,
    )
    zookeeper_ssl_keystore_location: str | None = key(
        ConfigType.STRING,
        None,
        "File with the key and certificates that ZooKeeper is shown.",
        nullable=True,
    )
    zookeeper_ssl_keystore_password: str | None = key(
        ConfigType.PASSWORD, None, "Password of that file, and of a key in PEM.", nullable=True
    )
    zookeeper_ssl_keystore_type: str | None = key(
        ConfigType.STRING,
        None,
        "Its format, PEM or PKCS12; by default what the name ends with says, .pem or .p12.",
        nullable=True,
    )
    zookeeper_ssl_truststore_location: str | None = key(
        ConfigType.STRING,
        None,
        "File with the certificates by which ZooKeeper is trusted.",
        nullable=True,
    )
    zookeeper_ssl_truststore_password: str | None = key(
        ConfigType.PASSWORD, None, "Password of that file, for PKCS12.", nullable=True
    )
    zookeeper_ssl_truststore_type: str | None = key(
        ConfigType.STRING,
        None,
        "Its format, PEM or PKCS12; by default what the name ends with says, .pem or .p12.",
        nullable=True,
    )
    zookeeper_ssl_protocol: str = key(
        ConfigType.STRING,
        "TLSv1.2",
        "The version of TLS that is spoken with ZooKeeper, unless others are enabled.",
        one_of(*TLS_VERSIONS),
    )
    zookeeper_ssl_enabled_protocols: tuple[str, ...] | None = key(
        ConfigType.LIST,
        None,
        "Versions of TLS that may be spoken with ZooKeeper; by default zookeeper.ssl.protocol.",
        each_of(*TLS_VERSIONS),
        nullable=True,
    )
    zookeeper_ssl_endpoint_identification_algorithm: str = key(
        ConfigType.STRING,
        "HTTPS",
        "https: ZooKeeper's certificate must be for the host that is connected to; empty: not.",
    )
