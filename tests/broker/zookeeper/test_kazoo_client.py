"""kazoo without a ZooKeeper; with one it is met by the mixed cluster."""

from __future__ import annotations

import pytest

from broker.zookeeper.kazoo_client import KazooZookeeper


async def test_nothing_is_asked_while_there_is_no_connection() -> None:
    zookeeper = KazooZookeeper("127.0.0.1:1/kafka", session_timeout_ms=1000)
    assert zookeeper.session is None
    with pytest.raises(ConnectionError, match="no connection to ZooKeeper"):
        await zookeeper.get("/controller")
    zookeeper.close()
