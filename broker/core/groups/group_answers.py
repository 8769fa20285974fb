"""What is told of groups: DescribeGroups, ListGroups.

Source: GroupMetadataManager.describeGroups, listGroups; KIP-518, KIP-848, KIP-1043.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from broker.core.groups.classic_group import CONSUMER, ClassicGroup, GroupState, Member
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from protocol.acls.model import OPERATIONS, SINCE_4_0, AclResourceType, operation_bits
from protocol.errors import ErrorCode
from protocol.messages.groups import DescribedGroup, DescribedGroupMember, ListedGroup
from protocol.releases import is_since

CLASSIC_TYPE: Final = "classic"
CONSUMER_TYPE: Final = "consumer"
_OPERATIONS: Final = operation_bits(OPERATIONS[AclResourceType.GROUP])
_NEW_OPERATIONS: Final = operation_bits(SINCE_4_0[AclResourceType.GROUP])
_NOT_FOUND_SINCE: Final = 6
"""From this version on a group that is not there is an error; before, it is dead."""


def group_operations(release: str | None) -> int:
    """Return what may be done to a group where all is allowed, by the release that is shown."""
    return _OPERATIONS if is_since(release, "4.0") else _OPERATIONS & ~_NEW_OPERATIONS


def described(group: ClassicGroup) -> DescribedGroup:
    """Describe a group; what its protocol is, and its members say under it, when it is stable."""
    is_stable = group.is_in(GroupState.STABLE)
    protocol_name = group.protocol_name if is_stable else None
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[_described_member(member, protocol_name) for member in group.members.values()],
    )


def not_described(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Tell why a group is not described."""
    return DescribedGroup(
        error_code=error,
        error_message=message,
        group_id=group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        members=[],
    )


def not_there(group_id: str, version: int, message: str) -> DescribedGroup:
    """Describe a group that is not there, or is of another protocol."""
    dead = not_described(group_id, ErrorCode.NONE)
    dead.group_state = GroupState.DEAD.value
    if version >= _NOT_FOUND_SINCE:
        dead.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        dead.error_message = message
    return dead


def listed_group(group: ClassicGroup | ConsumerGroup) -> ListedGroup:
    """Return what a list has of a group."""
    is_classic = isinstance(group, ClassicGroup)
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=(group.protocol_type or "") if is_classic else CONSUMER,
        group_state=group.state.value,
        group_type=CLASSIC_TYPE if is_classic else CONSUMER_TYPE,
    )


def listed(
    groups: Iterable[ListedGroup], states: Sequence[str], types: Sequence[str]
) -> list[ListedGroup]:
    """Return the groups in one of ``states`` and of one of ``types``; none given are all.

    Letters' case does not matter; words that are no state or type find nothing.
    """
    wanted_states = {state.lower() for state in states}
    wanted_types = {name.lower() for name in types}
    return [
        group
        for group in groups
        if (not states or group.group_state.lower() in wanted_states)
        and (not types or group.group_type.lower() in wanted_types)
    ]


def _described_member(member: Member, protocol_name: str | None) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(protocol_name),
        member_assignment=member.assignment,
    )
