"""Snapshot files: their bytes, and damage to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.producer_entry import ProducerEntry
from broker.storage.producer_snapshot import (
    CorruptSnapshot,
    pack_snapshot,
    unpack_snapshot,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
ENTRIES = st.lists(
    st.builds(
        ProducerEntry,
        INT64,
        st.integers(-(2**15), 2**15 - 1),
        INT32,
        INT64,
        INT32,
        INT64,
        INT32,
        INT64,
    )
)


@given(ENTRIES)
def test_a_snapshot_is_read_back(entries: list[ProducerEntry]) -> None:
    data = pack_snapshot(entries)
    assert len(data) == 10 + 46 * len(entries)
    assert unpack_snapshot(data) == entries


def test_an_empty_snapshot_is_kafkas() -> None:
    assert pack_snapshot([]).hex() == "000148674bc700000000"


def test_any_damage_to_a_snapshot_is_noticed() -> None:
    good = pack_snapshot([ProducerEntry(1, 0, 5, 5, 0, 9, -1, -1)])
    damaged = [good[:-1], good[:9], b"", b"\0\2" + good[2:]]
    damaged += [good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :] for at in range(2, len(good))]
    for data in damaged:
        with pytest.raises(CorruptSnapshot):
            unpack_snapshot(data)
