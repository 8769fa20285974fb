"""The doors of a broker's listeners, with what it was told of clients: credentials and tokens."""

from __future__ import annotations

from collections.abc import Callable

from broker.lifecycle.config_news import ConfigNews
from protocol.cluster_file.spec import BrokerSpec
from protocol.configs.broker import BrokerConfig
from protocol.configs.parsing import broker_config
from protocol.security.doors import door_of
from protocol.security.listeners import Listener, configs_at
from protocol.security.scram import TokenCredential
from protocol.transport.door import Door


def doors_of(own: BrokerSpec, news: ConfigNews, wall_ms: Callable[[], int]) -> dict[str, Door]:
    """Return a door for each listener, by its name.

    Raises:
        SecurityConfigError: the configuration makes no TLS context.
    """
    find, tokens = news.scram_credentials.find, news.delegation_tokens.tokens

    def token(mechanism: str, token_id: str) -> TokenCredential | None:
        return tokens.credential(mechanism, token_id, wall_ms())

    configs = {each.name: config_at(each, own) for each in own.listeners}
    return {
        each.name: door_of(each.name, each.protocol, configs[each.name], wall_ms, find, token)
        for each in own.listeners
    }


def config_at(listener: Listener, own: BrokerSpec) -> BrokerConfig:
    """Return what a broker is configured to at one of its listeners."""
    return broker_config(configs_at(listener.name, listener.protocol, own.configs))
