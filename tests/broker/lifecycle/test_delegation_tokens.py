"""Delegation tokens at the controller: put, removed, told again, swept."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.delegation_tokens import DelegationTokens
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.delegation_tokens import TokenNews, settings_of
from protocol.configs.parsing import broker_config
from protocol.messages.configs import ListConfigResourcesRequest
from protocol.principal import Principal
from protocol.security.delegation_tokens import DelegationToken
from tests.broker.fake_controller import FakeController

ALICE = Principal("alice")
KEYS = {"delegation.token.secret.key": "secret", "delegation.token.expiry.time.ms": "1000"}


def news(link: ControllerLink, texts: dict[str, str], now_ms: int = 0) -> TokenNews:
    tokens = DelegationTokens(settings_of(broker_config(texts)), lambda: b"salt")
    return TokenNews(link, tokens, lambda: now_ms, 1)


def token_of(owner: TokenNews) -> DelegationToken:
    return owner.tokens.new("t", ALICE, ALICE, (), -1, 0)


def ids(of: TokenNews) -> list[str]:
    return [each.token_id for each in of.tokens.described(ALICE, None, lambda _token: True)]


async def test_what_one_broker_puts_another_one_is_told_until_it_is_removed(
    controller: FakeController, link: ControllerLink
):
    one, other = news(link, KEYS), news(link, KEYS)
    await one.put(token_of(one))
    await other.refresh()
    assert (ids(one), ids(other)) == (["t"], ["t"])
    await other.remove("t")
    await one.refresh()
    assert (ids(one), ids(other), controller.tokens) == ([], [], {})


@pytest.mark.parametrize("name", ["delegation.token.secret.key", "delegation.token.master.key"])
async def test_either_name_of_the_key_makes_tokens_and_without_one_nothing_is_asked(
    controller: FakeController, link: ControllerLink, name: str
):
    assert news(link, {name: "secret"}).tokens.is_enabled
    await news(link, {}).refresh()
    assert controller.of(ListConfigResourcesRequest) == []


async def test_a_token_that_cannot_be_read_leaves_the_others(
    controller: FakeController, link: ControllerLink
):
    broker = news(link, KEYS)
    await broker.put(token_of(broker))
    controller.tokens["bad"] = {"token": "{}"}
    await broker.refresh()
    assert ids(broker) == ["t"]


async def test_what_is_over_is_removed_by_the_next_sweep(
    controller: FakeController, link: ControllerLink
):
    broker = news(link, KEYS, now_ms=1001)
    await broker.put(token_of(broker))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(broker.run())
        await controller.until(lambda: not controller.tokens)
        running.cancel()
    assert controller.tokens == {}
