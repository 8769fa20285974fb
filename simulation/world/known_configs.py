"""What brokers know of configurations, rights, quotas and credentials is what was decided.

They fetch all of it when they are told that it changed. Who is not told, or forgets to ask, goes
on by what was. Reads attributes and changes nothing.
"""

# Nothing public has what a broker was told as a whole.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from broker.app import Broker
from broker.core.client_quotas.limits import QuotaLimits
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.config_news import ConfigNews
from broker.lifecycle.group_configs import GroupConfigs
from controller.core.state import ClusterState
from protocol.configs.messages import CHANGED_BROKER_CONFIGS, CHANGED_GROUP_CONFIGS
from protocol.configs.types import ALL_BROKERS

Known: TypeAlias = "Mapping[Any, Any]"
"""Any: what it is known by, and what is known, is its kind's own."""


def configs_known_otherwise(broker_id: int, broker: Broker, decided: ClusterState) -> Iterator[str]:
    """Give what one broker knows otherwise than decided, a sentence each."""
    news = broker._parts.config_news  # noqa: SLF001
    for what, known, wanted in (
        *_of_brokers(broker_id, news, decided),
        ("topics' configurations", *_of_topics(news, decided)),
        ("groups' configurations", _group_configs(news)._overrides, decided.group_configs),  # noqa: SLF001
        ("ACLs", *_acls(news, decided)),
        ("SCRAM credentials", *_scram_credentials(news, decided)),
        ("clients' quotas", *_quotas(news, decided)),
    ):
        if known != wanted:
            keys = [key for key in (*known, *wanted) if known.get(key) != wanted.get(key)]
            told = ", ".join(map(str, dict.fromkeys(keys)))
            yield f"broker {broker_id} has other {what} than the controller: {told[:300]}"


def _of_brokers(
    broker_id: int, news: ConfigNews, decided: ClusterState
) -> Iterator[tuple[str, Known, Known]]:
    configs = news._by_row[CHANGED_BROKER_CONFIGS]  # noqa: SLF001
    assert isinstance(configs, BrokerConfigs)
    has, told = configs.overrides, decided.dynamic_configs
    yield "configurations of its own", has.dynamic, told.get(str(broker_id), {})
    yield "configurations of all brokers", has.dynamic_default, told.get(ALL_BROKERS, {})


def _of_topics(news: ConfigNews, decided: ClusterState) -> tuple[Known, Known]:
    """Return those of topics that the broker asked about and that are there."""
    overrides = news._topic_configs._overrides  # noqa: SLF001
    names = [
        name for name in overrides if name in decided.topics and not decided.is_being_deleted(name)
    ]
    return (
        {name: dict(overrides[name]) for name in names},
        {name: decided.topics[name].configs for name in names},
    )


def _group_configs(news: ConfigNews) -> GroupConfigs:
    configs = news._by_row[CHANGED_GROUP_CONFIGS]  # noqa: SLF001
    assert isinstance(configs, GroupConfigs)
    return configs


def _acls(news: ConfigNews, decided: ClusterState) -> tuple[Known, Known]:
    if news.acls.authorizer is None:
        return {}, {}
    known = {
        binding: None
        for of_type in news.acls.authorizer._types.values()  # noqa: SLF001
        for bindings in of_type.by_principal.values()
        for binding in bindings
    }
    return known, decided.acls


def _scram_credentials(news: ConfigNews, decided: ClusterState) -> tuple[Known, Known]:
    if not news.scram_credentials._is_used:  # noqa: SLF001
        return {}, {}
    wanted = {
        (mechanism, user): credential
        for user, credentials in decided.scram_credentials.items()
        for mechanism, credential in credentials.items()
    }
    return news.scram_credentials._found, wanted  # noqa: SLF001


def _quotas(news: ConfigNews, decided: ClusterState) -> tuple[Known, Known]:
    """Return the limits by key and who they are for."""
    known = news.client_quotas.quotas._limits  # noqa: SLF001
    wanted = {key: QuotaLimits(decided.client_quotas, key) for key in known}
    return (
        {key: limits._limits for key, limits in known.items()},  # noqa: SLF001
        {key: limits._limits for key, limits in wanted.items()},  # noqa: SLF001
    )
