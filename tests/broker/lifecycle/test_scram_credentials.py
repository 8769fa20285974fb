"""Stored SCRAM credentials: fetched whole, and only where a listener speaks SASL."""

from __future__ import annotations

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.scram_credentials import ScramCredentials
from protocol.messages.configs import ListConfigResourcesRequest
from protocol.security.listeners import Listener, SecurityProtocol
from protocol.security.scram import ScramCredential, credential_text
from tests.broker.fake_controller import FakeController

CREDENTIAL = ScramCredential(b"s", b"k", b"v", 4096)
SASL = Listener("CLIENTS", SecurityProtocol.SASL_PLAINTEXT, "127.0.0.1", 9094, "127.0.0.1", 9094)


async def test_what_the_controller_tells_is_found_until_it_is_deleted(
    controller: FakeController, link: ControllerLink
):
    credentials = ScramCredentials(link, [SASL])
    controller.scram = {"alice": {"SCRAM-SHA-256": credential_text(CREDENTIAL)}}
    await credentials.refresh()
    assert credentials.find("SCRAM-SHA-256", "alice") == CREDENTIAL
    assert credentials.find("SCRAM-SHA-512", "alice") is None
    controller.scram = {}
    await credentials.refresh()
    assert credentials.find("SCRAM-SHA-256", "alice") is None


async def test_without_a_listener_of_sasl_nothing_is_asked(
    controller: FakeController, link: ControllerLink
):
    await ScramCredentials(link, ()).refresh()
    assert controller.of(ListConfigResourcesRequest) == []
