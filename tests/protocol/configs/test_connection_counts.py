"""The text that gives single addresses a number of connections."""

from __future__ import annotations

import pytest

from protocol.configs.connection_counts import counts_by_address, counts_of_addresses


def test_addresses_of_both_kinds_have_a_number() -> None:
    text = "10.0.0.1:5, ::1:0,10.0.0.1:7,"
    assert counts_by_address(text) == {"10.0.0.1": 7, "0:0:0:0:0:0:0:1": 0}
    assert counts_by_address("") == {}
    assert counts_of_addresses(text) is None


@pytest.mark.parametrize("entry", ["10.0.0.1", "10.0.0.1:x", "a b:5", "localhost:5", "10.0.0.1:-1"])
def test_what_is_no_address_with_a_number_is_named(entry: str) -> None:
    words = f"must be address:number, separated by commas, which {entry} is not"
    assert counts_of_addresses(f"10.0.0.2:5,{entry}") == words
