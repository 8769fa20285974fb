"""What records about SCRAM credentials change, and that a journal brings them back."""

from __future__ import annotations

from controller.core.scram_records import (
    ScramCredentialDeleted,
    ScramCredentialStored,
    stored_credentials,
)
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.journal import Entry, decode_entry, encode_entry
from protocol.security.scram import ScramCredential

STORED = ScramCredentialStored("alice", "SCRAM-SHA-256", ScramCredential(b"s", b"k", b"v", 4096))


def test_credentials_come_and_go() -> None:
    state = ClusterState()
    STORED.apply(state)
    assert stored_credentials(state) == [STORED]
    ScramCredentialDeleted("alice", "SCRAM-SHA-256").apply(state)
    assert state.scram_credentials == {}


def test_a_journal_gives_them_back_as_they_were() -> None:
    records = [STORED, ScramCredentialDeleted("alice", "SCRAM-SHA-256")]
    line = encode_entry(Entry(0, 0, list(records)))
    assert decode_entry(line.rstrip(b"\n")).records == records


def test_a_snapshot_has_them() -> None:
    state, again = ClusterState(), ClusterState()
    STORED.apply(state)
    for record in snapshot(state):
        record.apply(again)
    assert again.scram_credentials == state.scram_credentials
