"""Broker keys of security: listeners, TLS, SASL, delegation tokens.

Only keys that something here reads. Source: SocketServerConfigs.java, SslConfigs.java,
BrokerSecurityConfigs.java, DelegationTokenManagerConfigs.java (3.9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from protocol.configs.checks import at_least, each_of, one_of
from protocol.configs.sasl_jaas import NO_GSSAPI, JaasConfig
from protocol.configs.types import ConfigType, Update, key
from protocol.principal_mapping import MappingRulesError, PrincipalMapping

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""Of users with passwords; they are offered unless the configuration says otherwise."""
SERVED_MECHANISMS: Final = (*MECHANISMS, "OAUTHBEARER")
FILE_KEYS: Final = (
    "ssl.keystore.location",
    "ssl.truststore.location",
    "zookeeper.ssl.keystore.location",
    "zookeeper.ssl.truststore.location",
    "jbodlab.sasl.users.location",
)
"""Name files."""
_STORE: Final = one_of("PEM", "PKCS12")


def _mapping(rules: Any) -> str | None:
    try:
        PrincipalMapping(rules)
    except MappingRulesError as error:
        return str(error)
    return None


def _mechanisms(names: Any) -> str | None:
    if "GSSAPI" in names:
        return f"{NO_GSSAPI}; there are {', '.join(SERVED_MECHANISMS)}"
    return each_of(*SERVED_MECHANISMS)(names)


def _mechanism_between_nodes(name: Any) -> str | None:
    if name not in ("GSSAPI", "OAUTHBEARER"):
        return one_of(*MECHANISMS)(name)
    why = NO_GSSAPI if name == "GSSAPI" else "OAUTHBEARER is for clients"
    return f"{why}; brokers and the controller have {', '.join(MECHANISMS)}"


@dataclass(init=False, repr=False, eq=False, frozen=True, slots=True, kw_only=True)
class SecurityConfig(JaasConfig):
    """What a broker's configuration says of its listeners and of who may use them."""

    listeners: str = key(ConfigType.STRING, "PLAINTEXT://:9092", "Addresses this broker binds.")
    advertised_listeners: str | None = key(
        ConfigType.STRING, None, "Addresses given to clients, by listener.", nullable=True
    )
    listener_security_protocol_map: str = key(
        ConfigType.STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "What is spoken at each listener.",
    )
    inter_broker_listener_name: str | None = key(
        ConfigType.STRING,
        None,
        "The listener by which brokers and the controller reach this broker.",
        nullable=True,
    )
    control_plane_listener_name: str | None = key(
        ConfigType.STRING,
        None,
        "The listener by which the controller reaches this broker, if that is another one.",
        nullable=True,
    )
    security_inter_broker_protocol: str = key(
        ConfigType.STRING,
        "PLAINTEXT",
        "What brokers and the controller speak with each other, where no listener is named.",
    )
    ssl_keystore_type: str = key(
        ConfigType.STRING,
        "PEM",
        "Format of the key store: PEM or PKCS12.",
        _STORE,
        update=Update.PER_BROKER,
    )
    ssl_keystore_location: str | None = key(
        ConfigType.STRING,
        None,
        "File with this broker's key and certificates.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_keystore_password: str | None = key(
        ConfigType.PASSWORD,
        None,
        "Password of that file, for PKCS12.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_keystore_certificate_chain: str | None = key(
        ConfigType.PASSWORD,
        None,
        "This broker's certificates as PEM.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_keystore_key: str | None = key(
        ConfigType.PASSWORD,
        None,
        "This broker's private key as PEM.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_key_password: str | None = key(
        ConfigType.PASSWORD,
        None,
        "Password of a private key in PEM.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_truststore_type: str = key(
        ConfigType.STRING,
        "PEM",
        "Format of the trust store: PEM or PKCS12.",
        _STORE,
        update=Update.PER_BROKER,
    )
    ssl_truststore_location: str | None = key(
        ConfigType.STRING,
        None,
        "File with the certificates that are trusted.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_truststore_password: str | None = key(
        ConfigType.PASSWORD,
        None,
        "Password of that file, for PKCS12.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_truststore_certificates: str | None = key(
        ConfigType.PASSWORD,
        None,
        "The certificates that are trusted, as PEM.",
        nullable=True,
        update=Update.PER_BROKER,
    )
    ssl_client_auth: str = key(
        ConfigType.STRING,
        "none",
        "Whether clients of SSL show a certificate: none, requested or required.",
        one_of("none", "requested", "required"),
    )
    ssl_endpoint_identification_algorithm: str = key(
        ConfigType.STRING,
        "https",
        "https: brokers check that a certificate is for the host they connect to; empty: not.",
    )
    ssl_principal_mapping_rules: str = key(
        ConfigType.STRING, "DEFAULT", "From a certificate's name to the principal's.", _mapping
    )
    sasl_enabled_mechanisms: tuple[str, ...] = key(
        ConfigType.LIST,
        MECHANISMS,
        "SASL mechanisms that clients may use.",
        _mechanisms,
    )
    sasl_mechanism_inter_broker_protocol: str = key(
        ConfigType.STRING,
        "SCRAM-SHA-512",
        "By which brokers and the controller authenticate to each other.",
        _mechanism_between_nodes,
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = key(
        ConfigType.STRING,
        None,
        "Keys of who signs OAUTHBEARER's tokens, at file:, http: or https:; without it tokens that "
        "nobody signed are taken at their word.",
        nullable=True,
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = key(
        ConfigType.LONG, 3_600_000, "Age at which those keys are fetched anew."
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = key(
        ConfigType.LIST, (), "Audiences of which a token must name one; none: any will do."
    )
    sasl_oauthbearer_expected_issuer: str | None = key(
        ConfigType.STRING, None, "Who must have issued a token; none: anybody.", nullable=True
    )
    sasl_oauthbearer_scope_claim_name: str = key(
        ConfigType.STRING, "scope", "The claim of a token that has its scopes."
    )
    sasl_oauthbearer_sub_claim_name: str = key(
        ConfigType.STRING, "sub", "The claim of a token that names the principal."
    )
    sasl_oauthbearer_clock_skew_seconds: int = key(
        ConfigType.INT, 30, "By how much the issuer's clock may differ."
    )
    sasl_server_max_receive_size: int = key(
        ConfigType.INT, 524288, "Bytes of a request before its client has authenticated."
    )
    connections_max_reauth_ms: int = key(
        ConfigType.LONG, 0, "Time after which a client of SASL must authenticate anew; 0: never."
    )
    connection_failed_authentication_delay_ms: int = key(
        ConfigType.INT, 100, "Wait before a failed authentication is answered.", at_least(0)
    )
    jbodlab_sasl_users: str | None = key(
        ConfigType.PASSWORD,
        None,
        "Not Kafka's: who may authenticate by SASL, as name:password, separated by commas.",
        nullable=True,
    )
    jbodlab_sasl_users_location: str | None = key(
        ConfigType.STRING,
        None,
        "Not Kafka's: a file with more of them, a line name:password for each.",
        nullable=True,
    )
    jbodlab_sasl_inter_broker_user: str = key(
        ConfigType.STRING,
        "broker",
        "Not Kafka's: as which of them brokers and the controller authenticate to each other.",
    )
    delegation_token_secret_key: str | None = key(
        ConfigType.PASSWORD,
        None,
        "Makes the HMACs of delegation tokens, the same at all brokers; without it there are none.",
        nullable=True,
    )
    delegation_token_master_key: str | None = key(
        ConfigType.PASSWORD, None, "Its older name.", nullable=True
    )
    delegation_token_max_lifetime_ms: int = key(
        ConfigType.LONG, 7 * 86_400_000, "How long a token can live if it is renewed.", at_least(1)
    )
    delegation_token_expiry_time_ms: int = key(
        ConfigType.LONG, 86_400_000, "Time after which a token has to be renewed.", at_least(1)
    )
    delegation_token_expiry_check_interval_ms: int = key(
        ConfigType.LONG, 3_600_000, "How often tokens that are over are removed.", at_least(1)
    )
