"""What records about clients' quotas change, and that a journal brings them back."""

from __future__ import annotations

from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet, stored_quotas
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.journal import Entry, decode_entry, encode_entry

ENTITY = (("client-id", None), ("user", "alice"))
SET = ClientQuotaSet(ENTITY, "request_percentage", 12.5)
REMOVED = ClientQuotaRemoved(ENTITY, "request_percentage")


def test_quotas_come_and_go() -> None:
    state = ClusterState()
    SET.apply(state)
    assert stored_quotas(state) == [SET]
    REMOVED.apply(state)
    assert state.client_quotas == {}


def test_a_journal_gives_them_back_as_they_were() -> None:
    line = encode_entry(Entry(0, 0, [SET, REMOVED]))
    assert decode_entry(line.rstrip(b"\n")).records == [SET, REMOVED]


def test_a_snapshot_has_them() -> None:
    state, again = ClusterState(), ClusterState()
    SET.apply(state)
    for record in snapshot(state):
        record.apply(again)
    assert again.client_quotas == state.client_quotas
