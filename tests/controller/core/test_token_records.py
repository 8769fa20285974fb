"""What records about delegation tokens change, and that a journal brings them back."""

from __future__ import annotations

from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.core.token_records import (
    DelegationTokenRemoved,
    DelegationTokenStored,
    stored_tokens,
)
from controller.journal import Entry, decode_entry, encode_entry

STORED = DelegationTokenStored("t", "text")


def test_tokens_come_and_go() -> None:
    state = ClusterState()
    STORED.apply(state)
    assert stored_tokens(state) == [STORED]
    DelegationTokenRemoved("t").apply(state)
    assert state.delegation_tokens == {}


def test_a_journal_gives_them_back_as_they_were() -> None:
    records = [STORED, DelegationTokenRemoved("t")]
    line = encode_entry(Entry(0, 0, list(records)))
    assert decode_entry(line.rstrip(b"\n")).records == records


def test_a_snapshot_has_them() -> None:
    state, again = ClusterState(), ClusterState()
    STORED.apply(state)
    for record in snapshot(state):
        record.apply(again)
    assert again.delegation_tokens == {"t": "text"}
