"""Principals as Kafka writes and reads them."""

from __future__ import annotations

import pytest

from protocol.principal import ANONYMOUS, Principal, parse_principal


def test_a_principal_is_written_as_it_is_read() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
    assert parse_principal("User:CN=a:b,O=c") == Principal("CN=a:b,O=c")
    assert parse_principal("Group:writers") == Principal("writers", "Group")
    assert parse_principal("User:*") != parse_principal("Group:*")


@pytest.mark.parametrize("text", ["alice", ":alice", ""])
def test_what_names_no_type_is_no_principal(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a principal such as User:alice"):
        parse_principal(text)
