"""Groups as the log has them."""

from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.group_metadata import group_record, group_tombstone, stored_group
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from protocol.stored_records import GROUP_RECORDS, decode_key, decode_versioned
from tests.broker.core.groups.lab import GROUP, REBALANCE_MS, SESSION_MS, Lab


def test_a_stable_group_is_stored_with_its_members_as_kafka_3_9_writes_them() -> None:
    lab = Lab()
    ids = lab.stable(2)
    ((key, value),) = lab.records
    record, about = decode_key(GROUP_RECORDS, key)
    assert (record.name, about.group) == ("GroupMetadata", GROUP)
    assert value is not None
    stored, version = decode_versioned(GroupMetadataValue, value)
    assert version == 3
    assert (stored.protocol_type, stored.protocol, stored.generation) == ("consumer", "range", 1)
    assert stored.leader == ids[0]
    assert [row.member_id for row in stored.members] == ids
    first = stored.members[0]
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.session_timeout, first.rebalance_timeout) == (SESSION_MS, REBALANCE_MS)
    assert (bytes(first.subscription), bytes(first.assignment)) == (b"r", ids[0].encode())


def test_a_stored_group_comes_back_as_it_was() -> None:
    lab = Lab()
    lab.stable(2)
    before, again = lab.group, lab.reloaded().group
    assert again.members == before.members
    assert again.generation == before.generation
    assert again.leader_id == before.leader_id
    assert again.protocol_type == before.protocol_type
    assert again.protocol_name == before.protocol_name
    assert again.is_stored
    assert group_record(again) == lab.records[0]


def test_a_group_without_members_or_protocol_is_stored_as_kafka_does() -> None:
    group = ClassicGroup("g", state=GroupState.EMPTY, state_since_ms=None)
    _, value = group_record(group)
    assert value is not None
    stored = decode_versioned(GroupMetadataValue, value)[0]
    assert stored == GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=-1,
        members=(),
    )
    again = stored_group("g", stored)
    assert (again.protocol_type, again.state_since_ms) == (None, None)
    assert again.is_empty


def test_a_member_of_before_kafka_0_10_1_rebalances_within_its_session_timeout() -> None:
    row = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        session_timeout=7_000,
        subscription=b"",
        assignment=b"",
    )
    value = GroupMetadataValue(
        protocol_type="consumer", generation=3, protocol="range", leader="m", members=[row]
    )
    assert stored_group("g", value).rebalance_timeout_ms == 7_000


def test_a_tombstone_has_the_key_of_the_group() -> None:
    group = ClassicGroup("g", state=GroupState.EMPTY, state_since_ms=None)
    assert group_tombstone("g") == (group_record(group)[0], None)
