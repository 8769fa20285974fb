"""kazoo without a ZooKeeper; with one it is met by the mixed cluster."""

from __future__ import annotations

import pytest
from kazoo.exceptions import (  # pyright: ignore[reportMissingTypeStubs] - it has none
    BadVersionError,
    NoAuthError,
    RolledBackError,
)

from protocol.zookeeper_client.kazoo_client import KazooZookeeper, check_committed
from protocol.zookeeper_client.port import NotCommittedError, NotPermittedError


async def test_nothing_is_asked_while_there_is_no_connection() -> None:
    zookeeper = KazooZookeeper("127.0.0.1:1/kafka", session_timeout_ms=1000)
    assert zookeeper.session is None
    with pytest.raises(ConnectionError, match="no connection to ZooKeeper"):
        await zookeeper.get("/controller")
    zookeeper.close()


def test_the_operation_that_was_refused_says_how_a_transaction_ended() -> None:
    places = ["/kafka/controller_epoch", "/kafka/config/brokers/1"]
    check_committed(places, [True, True])
    with pytest.raises(NotPermittedError, match="ZooKeeper refuses /kafka/config/brokers/1"):
        check_committed(places, [RolledBackError(), NoAuthError()])
    with pytest.raises(NotCommittedError, match="BadVersionError at /kafka/config/brokers/1"):
        check_committed(places, [RolledBackError(), BadVersionError()])
