"""Resources of a type that brokers alone ask for."""

from __future__ import annotations

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.told_resources import told_resources
from protocol.configs.messages import DELEGATION_TOKENS, SCRAM_CREDENTIALS
from protocol.messages.configs import DescribeConfigsRequest
from tests.broker.fake_controller import FakeController


async def test_each_is_told_with_its_configs_and_where_there_is_none_none_is_asked_for(
    controller: FakeController, link: ControllerLink
):
    controller.scram = {"alice": {"SCRAM-SHA-256": "a"}, "bob": {"SCRAM-SHA-512": "b"}}
    assert await told_resources(link, SCRAM_CREDENTIALS) == controller.scram
    controller.requests.clear()
    assert await told_resources(link, DELEGATION_TOKENS) == {}
    assert controller.of(DescribeConfigsRequest) == []
