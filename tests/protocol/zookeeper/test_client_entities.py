"""Where ZooKeeper keeps what is set for clients."""

from __future__ import annotations

import pytest

from protocol.client_quotas.entities import QuotaEntity
from protocol.zookeeper.client_entities import (
    client_entity,
    client_entity_path,
    limits_of,
    limits_text,
)


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ((("user", "a@b/c d*"),), "users/a%40b%2Fc%20d%2A"),
        ((("user", None),), "users/<default>"),
        ((("client-id", "app-1.x_~"),), "clients/app-1.x_~"),
        ((("client-id", None), ("user", "a")), "users/a/clients/<default>"),
        ((("ip", "10.0.0.1"),), "ips/10.0.0.1"),
    ],
)
def test_each_entity_has_its_path(entity: QuotaEntity, path: str) -> None:
    assert client_entity_path(entity) == path
    assert client_entity(path) == entity


@pytest.mark.parametrize("path", ["topics/t", "users", "users/a/others/b", "users/a/clients"])
def test_other_paths_are_about_no_client(path: str) -> None:
    assert client_entity(path) is None


def test_whole_limits_are_written_without_a_point_and_read_as_numbers() -> None:
    limits = {"producer_byte_rate": 1000.0, "request_percentage": 12.5}
    text = limits_text(limits)
    assert text == {"producer_byte_rate": "1000", "request_percentage": "12.5"}
    keys = (*limits, "consumer_byte_rate")
    assert limits_of({**text, "consumer_byte_rate": "fast"}, keys) == limits
