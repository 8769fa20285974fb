"""What a door tells of who came in."""

from __future__ import annotations

import asyncio

from protocol.transport.door import OPEN_DOOR


def transport_of(*address: str | int) -> asyncio.BaseTransport:
    """Make the transport of a connection from an address."""
    return asyncio.BaseTransport({"peername": address})


def test_a_client_that_came_by_ipv6_has_the_host_that_acls_of_kafka_name() -> None:
    peer = OPEN_DOOR.peer_of(transport_of("::1", 50_000, 0, 0), 7)
    assert (peer.host, peer.port, peer.number) == ("0:0:0:0:0:0:0:1", 50_000, 7)


def test_a_client_that_came_by_ipv4_has_its_address_as_it_is() -> None:
    assert OPEN_DOOR.peer_of(transport_of("10.0.0.1", 50_000), 1).host == "10.0.0.1"
