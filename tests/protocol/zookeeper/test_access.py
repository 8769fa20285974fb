"""Which znodes are whose; what Apache Kafka sets is compared in tests/mixed."""

from __future__ import annotations

import pytest

from protocol.zookeeper.access import Access, access_to


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/brokers/ids/1", Access.READABLE),
        ("/config", Access.READABLE),
        ("/config/topics/t", Access.READABLE),
        ("/config/users", Access.SECRET),
        ("/config/users/ann", Access.SECRET),
        ("/config/brokers/<default>", Access.SECRET),
        ("/delegation_token/tokens/id", Access.SECRET),
        ("/delegation_token/token_changes", Access.READABLE),
        ("/consumers", Access.OPEN),
        ("/consumers/group", Access.READABLE),
    ],
)
def test_secrets_can_be_read_by_nobody_else(path: str, expected: Access) -> None:
    assert access_to(path, sets_acl=True) is expected
    assert access_to(path, sets_acl=False) is Access.OPEN
