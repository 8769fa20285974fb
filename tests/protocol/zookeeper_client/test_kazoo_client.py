"""kazoo without a ZooKeeper; with one it is met by the mixed cluster."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

import pytest
from kazoo.exceptions import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    BadVersionError,
    InvalidACLError,
    NoAuthError,
    RolledBackError,
)

from protocol.zookeeper_client.kazoo_client import KazooZookeeper, check_committed
from protocol.zookeeper_client.port import NotCommittedError, NotPermittedError
from tests.deadlines import DEADLINE_S


async def test_nothing_is_asked_while_there_is_no_connection() -> None:
    zookeeper = KazooZookeeper("127.0.0.1:1/kafka", session_timeout_ms=1000)
    assert zookeeper.session is None
    with pytest.raises(ConnectionError, match="no connection to ZooKeeper"):
        await zookeeper.get("/controller")
    zookeeper.close()


class Warned(logging.Handler):
    """Says when something is logged that is no mere information."""

    def __init__(self, tell: Callable[[], object]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line."""
        self._tell()


async def test_why_there_is_no_connection_is_remembered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    zookeeper = KazooZookeeper(f"127.0.0.1:{port}", session_timeout_ms=1000)
    assert zookeeper.trouble == ""
    loop, warned = asyncio.get_running_loop(), asyncio.Event()
    handler = Warned(lambda: loop.call_soon_threadsafe(warned.set))
    logging.getLogger("kazoo.client").addHandler(handler)
    try:
        zookeeper.start()
        async with asyncio.timeout(DEADLINE_S):
            await warned.wait()
        told = zookeeper.trouble
    finally:
        logging.getLogger("kazoo.client").removeHandler(handler)
        zookeeper.close()
    assert told == "Connection dropped: socket connection error: Connection refused"


def test_the_operation_that_was_refused_says_how_a_transaction_ended() -> None:
    places = ["/kafka/controller_epoch", "/kafka/config/brokers/1"]
    check_committed(places, [True, True])
    with pytest.raises(NotPermittedError, match="ZooKeeper refuses /kafka/config/brokers/1"):
        check_committed(places, [RolledBackError(), NoAuthError()])
    with pytest.raises(NotPermittedError, match="a certificate that it asks for"):
        check_committed(places, [RolledBackError(), InvalidACLError()])
    with pytest.raises(NotCommittedError, match="BadVersionError at /kafka/config/brokers/1"):
        check_committed(places, [RolledBackError(), BadVersionError()])
