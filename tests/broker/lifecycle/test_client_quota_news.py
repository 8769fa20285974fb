"""Clients' quotas: all fetched anew; a controller that does not tell them changes nothing."""

from __future__ import annotations

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.limits import Asker
from broker.lifecycle.client_quota_news import ClientQuotaNews
from broker.lifecycle.controller_link import ControllerLink
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode
from protocol.messages.quotas import EntityData, EntryData, ValueData
from tests.broker.fake_controller import FakeController

ALICE = Asker("alice", "app")
ENTRY = EntryData(
    entity=[EntityData(entity_type="user", entity_name="alice")],
    values=[ValueData(key="producer_byte_rate", value=1.0)],
)


async def test_what_the_controller_tells_holds_until_it_tells_something_else(
    controller: FakeController, link: ControllerLink
):
    quotas = ClientQuotas(broker_config({}))
    news = ClientQuotaNews(link, quotas)
    controller.client_quotas = [ENTRY]
    await news.refresh()
    assert quotas.record("producer_byte_rate", ALICE, 100.0, 0) > 0
    controller.client_quotas_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    controller.client_quotas = []
    await news.refresh()
    assert quotas.is_limiting
    controller.client_quotas_code = ErrorCode.NONE
    await news.refresh()
    assert not quotas.is_limiting
