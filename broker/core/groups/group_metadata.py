"""Classic groups as the log has them: GroupMetadata records, and groups from them.

Source: GroupMetadataManager.replay, GroupCoordinatorRecordHelpers.newGroupMetadataRecord.
"""

from __future__ import annotations

from typing import Final

from broker.core.coordination import Record
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from protocol.stored_records import encode_key, encode_versioned

_VERSION: Final = 3
"""What Kafka writes since 2.3; version 4 has the same fields."""
_UNKNOWN_MS: Final = -1


def group_record(group: ClassicGroup, *, is_led: bool = True) -> Record:
    """Return the record of a group, which holds the members and what they are assigned.

    One of members whose leader assigned nothing, as they were a group of the consumer protocol, has
    no leader: whoever loads it has them join again.
    """
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader_id if is_led else None,
        current_state_timestamp=_UNKNOWN_MS
        if group.state_since_ms is None
        else group.state_since_ms,
        members=[_member_row(member, group.protocol_name) for member in group.members.values()],
    )
    return encode_key(GroupMetadataKey(group=group.group_id)), encode_versioned(value, _VERSION)


def group_tombstone(group_id: str) -> Record:
    """Return the record that ends a group."""
    return encode_key(GroupMetadataKey(group=group_id)), None


def stored_group(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group that a record tells of; nobody of it waits."""
    state = GroupState.STABLE if value.members else GroupState.EMPTY
    since_ms = value.current_state_timestamp
    group = ClassicGroup(
        group_id, state=state, state_since_ms=None if since_ms == _UNKNOWN_MS else since_ms
    )
    for row in value.members:
        group.add(_member(row, value.protocol or ""), value.protocol_type)
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.generation = value.generation
    group.leader_id = value.leader
    group.subscribed_topics = group.read_subscribed_topics()
    group.is_stored = True
    return group


def _member_row(member: Member, protocol_name: str | None) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(protocol_name),
        assignment=member.assignment,
    )


def _member(row: MemberMetadata, protocol_name: str) -> Member:
    has_rebalance_timeout = row.rebalance_timeout != _UNKNOWN_MS
    return Member(
        member_id=row.member_id,
        instance_id=row.group_instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        session_timeout_ms=row.session_timeout,
        rebalance_timeout_ms=row.rebalance_timeout
        if has_rebalance_timeout
        else row.session_timeout,
        protocols=[(protocol_name, bytes(row.subscription))],
        assignment=bytes(row.assignment),
    )
