"""Offsets of groups: stored as Kafka stores them, ended with their transactions, expired."""

from __future__ import annotations

import pytest

from broker.core.groups.group_offsets import (
    Committed,
    GroupOffsets,
    Offsets,
    offset_key,
    offset_value,
    read_offset,
)
from broker.core.groups.membership import ExpiryRule
from protocol.errors import Malformed
from protocol.ids import TopicPartition
from protocol.messages.group_records import LegacyOffsetCommitKey
from protocol.stored_records import GROUP_RECORDS, decode_key

TP, OTHER = TopicPartition("orders", 0), TopicPartition("bills", 1)
DAY_MS = 86_400_000


def at(offset: int, *, commit_ms: int = 1_000, expire_ms: int = -1) -> Committed:
    return Committed(offset, 2, "m", commit_ms, expire_ms)


def kept(offsets: GroupOffsets, group: str = "g") -> dict[TopicPartition, int]:
    return {tp: committed.offset for tp, committed in offsets.committed(group).items()}


def with_offsets(wanted: Offsets) -> GroupOffsets:
    offsets = GroupOffsets()
    offsets.put("g", wanted)
    return offsets


def test_records_have_the_bytes_of_kafka_3_9():
    assert offset_key("g", TP).hex() == "000100016700066f726465727300000000"
    value = offset_value(Committed(5, 7, "hi", 1_000))
    assert value.hex() == "00030000000000000005000000070002686900000000000003e8"
    expiring = offset_value(Committed(5, 7, "hi", 1_000, 2_000))
    assert expiring.hex() == ("000100000000000000050002686900000000000003e800000000000007d0")


@pytest.mark.parametrize("committed", [at(5), Committed(5, -1, "", 9, 70)])
def test_what_was_stored_is_read_back(committed: Committed):
    _, key = decode_key(GROUP_RECORDS, offset_key("g", TP))
    assert read_offset(key, offset_value(committed)) == ("g", TP, committed)
    assert read_offset(key, None) == ("g", TP, None)
    with pytest.raises(Malformed):
        read_offset(key, b"\0\x63")


def test_offsets_of_kafka_0_8_are_read():
    legacy = LegacyOffsetCommitKey(group="g", topic="orders", partition=0)
    value = bytes.fromhex("000000000000000000050002686900000000000003e8")
    assert read_offset(legacy, value) == ("g", TP, Committed(5, -1, "hi", 1_000))


def test_a_tombstone_forgets_and_the_last_one_ends_the_group():
    offsets = with_offsets({TP: at(1), OTHER: at(2)})
    assert offsets.delete("g", [TP, TopicPartition("never", 0)]) == [(offset_key("g", TP), None)]
    assert kept(offsets) == {OTHER: 2}
    offsets.replay("g", OTHER, None, -1)
    assert list(offsets.group_ids()) == []


def test_a_transaction_s_offsets_count_when_it_is_committed():
    offsets = with_offsets({TP: at(1)})
    offsets.put("g", {TP: at(5)}, producer_id=9)
    assert (kept(offsets), offsets.is_unstable("g", TP)) == ({TP: 1}, True)
    assert not offsets.is_unstable("g", OTHER)
    assert list(offsets.end_transaction(9, is_commit=True)) == ["g"]
    assert (kept(offsets), offsets.is_unstable("g", TP)) == ({TP: 5}, False)


def test_a_transaction_s_offsets_go_when_it_is_aborted():
    offsets = GroupOffsets()
    offsets.put("g", {TP: at(5)}, producer_id=9)
    assert (list(offsets.group_ids()), offsets.has_offsets("g")) == (["g"], True)
    offsets.end_transaction(9, is_commit=False)
    assert not offsets.has_offsets("g")


def test_a_group_of_which_an_abort_left_nothing_is_here_until_it_is_looked_at():
    offsets = GroupOffsets()
    offsets.put("g", {TP: at(5)}, producer_id=9)
    offsets.end_transaction(9, is_commit=False)
    assert (list(offsets.group_ids()), offsets.is_here("g")) == (["g"], True)
    offsets.forget_empty("g")
    assert (list(offsets.group_ids()), offsets.is_here("g")) == ([], False)


def test_a_group_that_has_offsets_is_noted_as_nothing_else():
    offsets = with_offsets({TP: at(5)})
    offsets.note_empty("g")
    assert list(offsets.group_ids()) == ["g"]


def test_a_group_that_commits_after_an_abort_is_listed_once():
    offsets = GroupOffsets()
    offsets.put("g", {TP: at(5)}, producer_id=9)
    offsets.end_transaction(9, is_commit=False)
    offsets.put("g", {TP: at(6)})
    assert list(offsets.group_ids()) == ["g"]


def test_an_offset_committed_after_a_pending_one_stays():
    offsets = GroupOffsets()
    offsets.put("g", {TP: at(5)}, producer_id=9)
    offsets.put("g", {TP: at(3)})
    offsets.end_transaction(9, is_commit=True)
    assert kept(offsets) == {TP: 3}


def test_deleting_all_takes_what_is_pending_too():
    offsets = with_offsets({TP: at(1)})
    offsets.put("g", {OTHER: at(5)}, producer_id=9)
    offsets.put("g", {OTHER: at(6)}, producer_id=8)
    gone = [offset_key("g", TP), offset_key("g", OTHER)]
    assert [key for key, _ in offsets.delete_all("g")] == gone
    assert not offsets.has_offsets("g")
    assert list(offsets.end_transaction(9, is_commit=True)) == []


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (ExpiryRule(), {OTHER: 2}),
        (ExpiryRule(may_expire=False), {TP: 1, OTHER: 2}),
        (ExpiryRule(kept_topics=("orders",)), {TP: 1, OTHER: 2}),
        (ExpiryRule(unused_since_ms=DAY_MS), {TP: 1, OTHER: 2}),
        (ExpiryRule(unused_since_ms=0), {}),
    ],
)
def test_offsets_expire_by_their_groups_rule(rule: ExpiryRule, left: dict[TopicPartition, int]):
    offsets = with_offsets({TP: at(1, commit_ms=0), OTHER: at(2, commit_ms=5)})
    gone = list(offsets.expire("g", rule, wall_ms=DAY_MS, retention_ms=DAY_MS))
    assert kept(offsets) == left
    assert [key for key, value in gone if value is None] == [
        offset_key("g", tp) for tp in (TP, OTHER) if tp not in left
    ]


def test_a_client_s_own_expiry_counts_before_the_broker_s():
    offsets = with_offsets({TP: at(1, commit_ms=0, expire_ms=50), OTHER: at(2, expire_ms=51)})
    assert len(list(offsets.expire("g", ExpiryRule(), wall_ms=50, retention_ms=1))) == 1
    assert kept(offsets) == {OTHER: 2}


def test_an_offset_that_a_transaction_is_about_to_change_does_not_expire():
    offsets = with_offsets({TP: at(1)})
    offsets.put("g", {TP: at(2)}, producer_id=9)
    assert list(offsets.expire("g", ExpiryRule(), wall_ms=9 * DAY_MS, retention_ms=1)) == []
