"""The doors of a broker's listeners: what it was told of clients, and the stores that it is set to.

A door stays one as long as the broker runs; its certificates are exchanged.
Source: DynamicBrokerConfig.scala, SslChannelBuilder.java.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial

from broker.lifecycle.config_news import ConfigNews
from broker.node_connections import NodeConnections
from protocol.cluster_file.spec import BrokerSpec
from protocol.configs.broker import BrokerConfig
from protocol.configs.listener_keys import STORES
from protocol.configs.parsing import BrokerOverrides, broker_config
from protocol.configs.types import field_name, set_texts
from protocol.errors import KafkaError
from protocol.security.doors import door_of
from protocol.security.listeners import Listener, configs_at
from protocol.security.reconfiguration import OwnCertificate, check_stores, own_certificate
from protocol.security.renewal import renew
from protocol.security.scram import TokenCredential
from protocol.security.tls import SecurityConfigError, server_context
from protocol.transport.door import Door

logger = logging.getLogger(__name__)


class Doors:
    """The doors of one broker."""

    def __init__(
        self,
        own: BrokerSpec,
        news: ConfigNews,
        wall_ms: Callable[[], int],
        connections: NodeConnections,
    ) -> None:
        """Make a door for each listener, by what the cluster file sets.

        Raises:
            SecurityConfigError: the configuration makes no TLS context.
        """
        self._own, self._connections = own, connections
        self.configs = {each.name: config_at(each, own.configs) for each in own.listeners}
        """What holds at each listener, that of the nodes first."""
        find, tokens = news.scram_credentials.find, news.delegation_tokens.tokens

        def token(mechanism: str, token_id: str) -> TokenCredential | None:
            return tokens.credential(mechanism, token_id, wall_ms())

        self.by_listener: dict[str, Door] = {
            each.name: door_of(
                each.name, each.protocol, self.configs[each.name], wall_ms, find, token
            )
            for each in own.listeners
        }
        self._certificates: dict[str, OwnCertificate | None] = {
            each.name: own_certificate(self.configs[each.name])
            for each in own.listeners
            if each.protocol.is_tls
        }

    def check(self, overrides: BrokerOverrides) -> None:
        """Check what the stores of the listeners would be.

        Raises:
            KafkaError: INVALID_REQUEST, with Kafka's words.
        """
        for listener in self._own.listeners:
            before, after = self.configs[listener.name], self._configured(listener, overrides)
            if listener.protocol.is_tls and _stores(before) != _stores(after):
                held = self._certificates[listener.name]
                is_between_nodes = listener.name == self._own.listeners[0].name
                check_stores(held, before, after, is_between_nodes=is_between_nodes)

    def follow(self, overrides: BrokerOverrides) -> None:
        """Go by what the broker is set to; what cannot be used leaves a listener as it is."""
        for listener in self._own.listeners:
            try:
                self._follow(listener, self._configured(listener, overrides))
            except (SecurityConfigError, KafkaError) as error:
                logger.error("listener %s stays as it is: %s", listener.name, error)  # noqa: TRY400 - a file's or a peer's fault

    def _configured(self, listener: Listener, overrides: BrokerOverrides) -> BrokerConfig:
        return config_at(
            listener, {**self._own.configs, **overrides.dynamic_default, **overrides.dynamic}
        )

    def _follow(self, listener: Listener, config: BrokerConfig) -> None:
        before = self.configs[listener.name]
        if listener.protocol.is_tls and _stores(before) != _stores(config):
            certificate = own_certificate(config)
            renew(self.by_listener[listener.name].tls, partial(server_context, config), config)
            self._connections.follow(listener, config)
            self._certificates[listener.name] = certificate
            logger.info("listener %s has other certificates now", listener.name)
        self.configs[listener.name] = config


def config_at(listener: Listener, configs: Mapping[str, str | None]) -> BrokerConfig:
    """Return what a broker is configured to at one of its listeners.

    Raises:
        KafkaError: INVALID_CONFIG.
    """
    return broker_config(configs_at(listener.name, listener.protocol, set_texts(configs)))


def _stores(config: BrokerConfig) -> tuple[object, ...]:
    return tuple(getattr(config, field_name(name)) for name in STORES)
