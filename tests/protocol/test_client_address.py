"""Addresses are written as Java writes them: what ACLs of Kafka name as hosts."""

from __future__ import annotations

import pytest

from protocol.client_address import java_address


@pytest.mark.parametrize(
    ("address", "by_java"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::00ff", "2001:db8:0:0:0:0:0:ff"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:1"),
        ("", ""),
        ("/a:socket", "/a:socket"),
    ],
)
def test_an_address_is_written_as_java_writes_it(address: str, by_java: str) -> None:
    assert java_address(address) == by_java
