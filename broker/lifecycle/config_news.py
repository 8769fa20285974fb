"""What tells this broker that configurations changed, and who is to ask for them again.

It asks nothing itself. News can be lost while this broker was fenced or the controller was away:
then everything that is known is asked for anew.
"""

from __future__ import annotations

from broker.lifecycle.acls import Acls
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.fetched_configs import FetchedConfigs
from broker.lifecycle.group_configs import GroupConfigs
from broker.lifecycle.scram_credentials import ScramCredentials
from broker.lifecycle.topic_configs import TopicConfigs
from protocol.configs.messages import (
    CHANGED_ACLS,
    CHANGED_GROUP_CONFIGS,
    CHANGED_SCRAM_CREDENTIALS,
)
from protocol.ids import LEADER_DURING_DELETE
from protocol.messages.control import UpdateMetadataRequest

_OF_BROKERS = ""
"""The name of the row that tells of brokers' own configs; no topic has it."""


class ConfigNews:
    """Passes news on."""

    def __init__(
        self,
        broker_configs: BrokerConfigs,
        topic_configs: TopicConfigs,
        group_configs: GroupConfigs,
        acls: Acls,
        scram_credentials: ScramCredentials,
    ) -> None:
        self.acls, self.scram_credentials = acls, scram_credentials
        self._topic_configs = topic_configs
        self._by_row: dict[str, FetchedConfigs] = {
            _OF_BROKERS: broker_configs,
            CHANGED_GROUP_CONFIGS: group_configs,
            CHANGED_ACLS: acls,
            CHANGED_SCRAM_CREDENTIALS: scram_credentials,
        }
        self._controller_epoch = 0

    async def told(self, request: UpdateMetadataRequest) -> None:
        """Look for news in an accepted UpdateMetadata; ``topic_states`` must be filled.

        Returns when the changed configs that are in use here are in force, or after a bounded time.
        """
        deleted: list[str] = []
        changed: list[str] = []
        for topic in request.topic_states:
            if not topic.partition_states:
                changed.append(topic.topic_name)
            elif all(state.leader == LEADER_DURING_DELETE for state in topic.partition_states):
                deleted.append(topic.topic_name)
        if deleted:
            self._topic_configs.forget(deleted)
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
        """Have this broker's own configs, those of groups, ACLs, SCRAM, before it is unfenced."""
        for cache in self._by_row.values():
            await cache.refresh()

    def everything(self) -> None:
        """Ask for everything again, in the background."""
        for cache in self._by_row.values():
            cache.changed()
        self._topic_configs.changed_all()
