"""What tells this broker that configurations changed, and who is to ask for them again.

It asks nothing itself. News can be lost while this broker was fenced or the controller was away:
then everything that is known is asked for anew.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.delegation_tokens import DelegationTokens
from broker.lifecycle.acls import Acls, make_authorizer
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.client_quota_news import ClientQuotaNews
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.delegation_tokens import TokenNews, settings_of
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.group_configs import GroupConfigs
from broker.lifecycle.scram_credentials import ScramCredentials
from broker.lifecycle.topic_configs import TopicConfigs
from broker.world import World
from protocol.cluster_file.spec import BrokerSpec
from protocol.configs.messages import (
    CHANGED_ACLS,
    CHANGED_BROKER_CONFIGS,
    CHANGED_CLIENT_QUOTAS,
    CHANGED_DELEGATION_TOKENS,
    CHANGED_GROUP_CONFIGS,
    CHANGED_SCRAM_CREDENTIALS,
)
from protocol.ids import LEADER_DURING_DELETE
from protocol.messages.control import UpdateMetadataRequest

_SALT_BYTES = 16


class OfClients(NamedTuple):
    """What a broker is told of clients."""

    acls: Acls
    scram_credentials: ScramCredentials
    client_quotas: ClientQuotaNews
    delegation_tokens: TokenNews


class ConfigNews:
    """Passes news on."""

    def __init__(
        self,
        broker_configs: BrokerConfigs,
        topic_configs: TopicConfigs,
        group_configs: GroupConfigs,
        of_clients: OfClients,
    ) -> None:
        self.acls, self.scram_credentials = of_clients.acls, of_clients.scram_credentials
        self.client_quotas = of_clients.client_quotas
        self.delegation_tokens = of_clients.delegation_tokens
        self._topic_configs = topic_configs
        self._by_row: dict[str, FetchedConfigs] = {
            CHANGED_BROKER_CONFIGS: broker_configs,
            CHANGED_GROUP_CONFIGS: group_configs,
            CHANGED_ACLS: self.acls,
            CHANGED_SCRAM_CREDENTIALS: self.scram_credentials,
            CHANGED_CLIENT_QUOTAS: self.client_quotas,
            CHANGED_DELEGATION_TOKENS: self.delegation_tokens,
        }
        self._controller_epoch = 0

    async def told(self, request: UpdateMetadataRequest) -> None:
        """Look for news in an accepted UpdateMetadata; ``topic_states`` must be filled.

        Returns when the changed configs that are in use here are in force, or after a bounded time.
        """
        deleted: list[str] = []
        changed: list[str] = []
        topic_ids: dict[str, bytes] = {}
        for topic in request.topic_states:
            if not topic.partition_states:
                changed.append(topic.topic_name)
            elif all(state.leader == LEADER_DURING_DELETE for state in topic.partition_states):
                deleted.append(topic.topic_name)
            else:
                topic_ids[topic.topic_name] = bytes(topic.topic_id)
        self._topic_configs.forget(deleted)
        self._topic_configs.identify(topic_ids)
        if request.controller_epoch > self._controller_epoch:
            if self._controller_epoch:
                self.everything()
            self._controller_epoch = request.controller_epoch
        for row, cache in self._by_row.items():
            if row in changed:
                changed.remove(row)
                await cache.refresh()
        if changed:
            await self._topic_configs.refresh(changed)

    async def registered(self) -> None:
        """Have all but what topics are configured to, before this broker is unfenced.

        Without the others it goes on, with what its file says; without ACLs it could not.
        """
        for cache in self._by_row.values():
            await cache.refresh()
        await self.acls.until_answered()

    def everything(self) -> None:
        """Ask for everything again, in the background."""
        for cache in self._by_row.values():
            cache.changed()
        self._topic_configs.changed_all()


def make_config_news(
    link: ControllerLink,
    own: BrokerSpec,
    broker_configs: BrokerConfigs,
    topic_configs: TopicConfigs,
    group_configs: GroupConfigs,
    world: World,
) -> ConfigNews:
    """Return who passes news on to these, and to what else this broker asks the controller for."""
    config = broker_configs.config
    tokens = DelegationTokens(settings_of(config), lambda: world.random.randbytes(_SALT_BYTES))
    interval_ms = config.delegation_token_expiry_check_interval_ms
    of_clients = OfClients(
        Acls(link, make_authorizer(config)),
        ScramCredentials(link, own.listeners),
        ClientQuotaNews(link, ClientQuotas(config)),
        TokenNews(link, tokens, world.clock.now_ms, interval_ms),
    )
    return ConfigNews(broker_configs, topic_configs, group_configs, of_clients)
