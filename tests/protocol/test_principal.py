"""Principals as Kafka writes them."""

from __future__ import annotations

from protocol.principal import ANONYMOUS, Principal


def test_a_principal_is_written_with_its_type() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert str(Principal("writers", "Group")) == "Group:writers"
