"""Messages of classic consumer groups.

API keys: JoinGroup (11), SyncGroup (14), Heartbeat (12), LeaveGroup (13), DescribeGroups (15),
ListGroups (16), DeleteGroups (42).
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ports import Buffer
from protocol.wire.table import BYTES, STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT16, INT32


@struct
class JoinGroupRequestProtocol:
    name: str = field(STRING)
    metadata: Buffer = field(BYTES)
    """A ConsumerProtocolSubscription after its version, when consumers meet."""


@message(11, "request", versions="0-9", flexible="6+")
class JoinGroupRequest:
    """Source: JoinGroupRequest.json."""

    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, "1+", default=-1, ignorable=True)
    member_id: str = field(STRING)
    """Empty on the first call."""
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+")
    """Names a static member (KIP-345)."""
    protocol_type: str = field(STRING)
    protocols: Sequence[JoinGroupRequestProtocol] = field(array(JoinGroupRequestProtocol))
    reason: str | None = field(STRING, "8+", default=None, nullable="8+", ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)
    metadata: Buffer = field(BYTES)


@message(11, "response", versions="0-9", flexible="6+")
class JoinGroupResponse:
    """Source: JoinGroupResponse.json."""

    throttle_time_ms: int = field(INT32, "2+", ignorable=True)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(STRING, "7+", default=None, nullable="7+", ignorable=True)
    protocol_name: str | None = field(STRING, nullable="7+")
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOL, "9+")
    """The leader need not assign: a static leader came back."""
    member_id: str = field(STRING)
    members: Sequence[JoinGroupResponseMember] = field(array(JoinGroupResponseMember))
    """Filled for the leader of the group only."""


@struct
class SyncGroupRequestAssignment:
    member_id: str = field(STRING)
    assignment: Buffer = field(BYTES)
    """A ConsumerProtocolAssignment after its version, when consumers meet."""


@message(14, "request", versions="0-5", flexible="4+")
class SyncGroupRequest:
    """Source: SyncGroupRequest.json."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)
    assignments: Sequence[SyncGroupRequestAssignment] = field(array(SyncGroupRequestAssignment))
    """From the leader of the group; empty from the others."""


@message(14, "response", versions="0-5", flexible="4+")
class SyncGroupResponse:
    """Source: SyncGroupResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    protocol_type: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)
    assignment: Buffer = field(BYTES)


@message(12, "request", versions="0-4", flexible="4+")
class HeartbeatRequest:
    """Source: HeartbeatRequest.json."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")


@message(12, "response", versions="0-4", flexible="4+")
class HeartbeatResponse:
    """Source: HeartbeatResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)


@struct
class MemberIdentity:
    member_id: str = field(STRING, "3+")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    reason: str | None = field(STRING, "5+", default=None, nullable="5+", ignorable=True)


@message(13, "request", versions="0-5", flexible="4+")
class LeaveGroupRequest:
    """Source: LeaveGroupRequest.json."""

    group_id: str = field(STRING)
    member_id: str = field(STRING, "0-2")
    members: Sequence[MemberIdentity] = field(array(MemberIdentity), "3+")


@struct
class MemberResponse:
    member_id: str = field(STRING, "3+")
    group_instance_id: str | None = field(STRING, "3+", nullable="3+")
    error_code: int = field(INT16, "3+")


@message(13, "response", versions="0-5", flexible="4+")
class LeaveGroupResponse:
    """Source: LeaveGroupResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    members: Sequence[MemberResponse] = field(array(MemberResponse), "3+")


@message(15, "request", versions="0-6", flexible="5+")
class DescribeGroupsRequest:
    """Source: DescribeGroupsRequest.json."""

    groups: Sequence[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL, "3+")


@struct
class DescribedGroupMember:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, "4+", default=None, nullable="4+", ignorable=True)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: Buffer = field(BYTES)
    member_assignment: Buffer = field(BYTES)


@struct
class DescribedGroup:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, "6+", default=None, nullable="6+")
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: Sequence[DescribedGroupMember] = field(array(DescribedGroupMember))
    authorized_operations: int = field(INT32, "3+", default=-(2**31))


@message(15, "response", versions="0-6", flexible="5+")
class DescribeGroupsResponse:
    """Source: DescribeGroupsResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    groups: Sequence[DescribedGroup] = field(array(DescribedGroup))


@message(16, "request", versions="0-5", flexible="3+")
class ListGroupsRequest:
    """Source: ListGroupsRequest.json."""

    states_filter: Sequence[str] = field(array(STRING), "4+")
    types_filter: Sequence[str] = field(array(STRING), "5+")


@struct
class ListedGroup:
    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, "4+", ignorable=True)
    group_type: str = field(STRING, "5+", ignorable=True)


@message(16, "response", versions="0-5", flexible="3+")
class ListGroupsResponse:
    """Source: ListGroupsResponse.json."""

    throttle_time_ms: int = field(INT32, "1+", ignorable=True)
    error_code: int = field(INT16)
    groups: Sequence[ListedGroup] = field(array(ListedGroup))


@message(42, "request", versions="0-2", flexible="2+")
class DeleteGroupsRequest:
    """Source: DeleteGroupsRequest.json."""

    groups_names: Sequence[str] = field(array(STRING))


@struct
class DeletableGroupResult:
    group_id: str = field(STRING)
    error_code: int = field(INT16)


@message(42, "response", versions="0-2", flexible="2+")
class DeleteGroupsResponse:
    """Source: DeleteGroupsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[DeletableGroupResult] = field(array(DeletableGroupResult))
