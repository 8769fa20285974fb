"""News of changed configurations end in questions to the controller."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.delegation_tokens import DelegationTokens, TokenSettings
from broker.lifecycle.acls import Acls
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.client_quota_news import ClientQuotaNews
from broker.lifecycle.config_news import ConfigNews, OfClients
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.delegation_tokens import TokenNews
from broker.lifecycle.group_configs import GroupConfigs
from broker.lifecycle.scram_credentials import ScramCredentials
from broker.lifecycle.topic_configs import TopicConfigs
from protocol.acls.authorizer import Authorizer
from protocol.configs.messages import CHANGED_ACLS, CHANGED_GROUP_CONFIGS
from protocol.configs.parsing import BrokerConfig, broker_config
from protocol.messages.acls import DescribeAclsRequest
from protocol.messages.configs import DescribeConfigsRequest
from protocol.messages.control import UpdateMetadataRequest, UpdateMetadataTopicState
from tests.broker.fake_controller import FakeController
from tests.broker.fakes import TOPIC_ID, topic_state, update_metadata


class Lab:
    def __init__(self, link: ControllerLink) -> None:
        self.broker_configs = BrokerConfigs(
            link, broker_id=1, static={}, on_changed=self.on_changed
        )
        self.topic_configs = TopicConfigs(
            link, broker_config=broker_config({}), on_changed=lambda _topics: None
        )
        self.group_configs = GroupConfigs(link, broker_config=broker_config({}))
        self.authorizer = Authorizer()
        no_tokens = DelegationTokens(TokenSettings(None, 1, 1), lambda: b"")
        self.news = ConfigNews(
            self.broker_configs,
            self.topic_configs,
            self.group_configs,
            OfClients(
                Acls(link, self.authorizer),
                ScramCredentials(link, ()),
                ClientQuotaNews(link, ClientQuotas(broker_config({}))),
                TokenNews(link, no_tokens, lambda: 0, 1),
            ),
        )

    def on_changed(self, config: BrokerConfig) -> None:
        self.topic_configs.rebase(config)


@pytest.fixture
async def lab(controller: FakeController, link: ControllerLink) -> Lab:
    controller.configs["orders"] = {"segment.bytes": "5000"}
    lab = Lab(link)
    lab.topic_configs.identify({"orders": TOPIC_ID})
    await lab.topic_configs.ensure(["orders"])
    controller.requests.clear()
    return lab


def rows(*names: str, controller_epoch: int = 1) -> UpdateMetadataRequest:
    made = update_metadata(*[UpdateMetadataTopicState(topic_name=name) for name in names])
    made.controller_epoch = controller_epoch
    return made


def asked(controller: FakeController) -> list[str]:
    return [
        one.resource_name
        for request in controller.of(DescribeConfigsRequest)
        for one in request.resources
    ]


async def test_a_row_without_partitions_brings_a_topics_new_settings(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"segment.bytes": "6000"}
    await lab.news.told(rows("orders"))
    assert lab.topic_configs.config_of("orders").segment_bytes == 6_000


async def test_topics_that_are_not_known_here_are_not_asked_for(
    controller: FakeController, lab: Lab
):
    await lab.news.told(rows("other"))
    assert asked(controller) == []


async def test_a_row_without_a_name_brings_the_brokers_new_settings(
    controller: FakeController, lab: Lab
):
    controller.broker_configs[""] = {"min.insync.replicas": "2", "message.max.bytes": "4242"}
    await lab.news.told(rows(""))
    assert lab.broker_configs.config.min_insync_replicas == 2
    assert lab.topic_configs.config_of("orders").min_insync_replicas == 2
    assert lab.topic_configs.config_of("new").max_message_bytes == 4242
    assert lab.topic_configs.config_of("orders").segment_bytes == 5_000


async def test_a_deleted_topic_is_forgotten(controller: FakeController, lab: Lab):
    await lab.news.told(update_metadata(topic_state(leaders=(-2, -2))))
    await lab.topic_configs.ensure(["orders"])
    assert asked(controller) == ["orders"]


async def test_a_topic_that_was_made_anew_while_the_broker_was_away_has_its_own_settings(
    controller: FakeController, lab: Lab
):
    """Seed 986025: the new topic had the cleanup.policy of the one before it."""
    controller.configs["orders"] = {"cleanup.policy": "compact"}
    await lab.news.told(update_metadata(topic_state(topic_id=b"anew".ljust(16))))
    assert lab.topic_configs.config_of("orders").segment_bytes != 5_000
    await lab.topic_configs.ensure(["orders"])
    assert lab.topic_configs.config_of("orders").cleanup_policy == ("compact",)


async def test_ordinary_rows_are_no_news(controller: FakeController, lab: Lab):
    await lab.news.told(update_metadata(topic_state()))
    assert asked(controller) == []


async def test_a_new_controller_is_asked_for_everything(controller: FakeController, lab: Lab):
    await lab.news.told(rows(controller_epoch=1))
    controller.configs["orders"] = {"segment.bytes": "6000"}
    controller.broker_configs["1"] = {"min.insync.replicas": "2"}
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(lab.broker_configs.run()),
            tasks.create_task(lab.topic_configs.run()),
        ]
        await lab.news.told(rows(controller_epoch=2))
        await controller.until(lambda: sorted(asked(controller)) == ["", "1", "orders"])
        await lab.news.registered()
        await lab.topic_configs.refresh(["orders"])
        for task in running:
            task.cancel()
    assert lab.topic_configs.config_of("orders").segment_bytes == 6_000
    assert lab.broker_configs.config.min_insync_replicas == 2


async def test_the_row_of_groups_brings_the_settings_of_all_groups(
    controller: FakeController, lab: Lab
):
    controller.group_configs["g"] = {"consumer.session.timeout.ms": "50000"}
    await lab.news.told(rows(CHANGED_GROUP_CONFIGS))
    assert lab.group_configs.config_of("g").consumer_session_timeout_ms == 50_000
    assert asked(controller) == ["g"]


async def test_a_broker_that_registers_knows_the_settings_of_groups(
    controller: FakeController, lab: Lab
):
    controller.group_configs["g"] = {"consumer.heartbeat.interval.ms": "6000"}
    await lab.news.registered()
    assert lab.group_configs.config_of("g").consumer_heartbeat_interval_ms == 6_000


async def test_the_row_of_acls_and_a_registration_bring_all_acls(
    controller: FakeController, lab: Lab
):
    await lab.news.told(rows(CHANGED_ACLS))
    assert len(controller.of(DescribeAclsRequest)) == 1
    assert asked(controller) == []
    await lab.news.registered()
    assert len(controller.of(DescribeAclsRequest)) == 2
