"""Members that leave, by themselves or because somebody removes them.

Source: GroupMetadataManager.classicGroupLeave, KIP-345 (several at once, by instance id).
"""

from __future__ import annotations

from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.decision import Decision
from broker.core.groups.rebalances import Rebalances
from protocol.errors import ErrorCode
from protocol.messages.groups import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)


def leave(
    rebalances: Rebalances,
    group: ClassicGroup | None,
    request: LeaveGroupRequest,
    decision: Decision,
) -> LeaveGroupResponse:
    """Remove those of ``request.members`` that are there; the others rebalance once."""
    if not request.group_id:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID, members=[])
    errors: list[ErrorCode] = []
    for identity in request.members:
        found = _found(group, identity)
        if group is not None and not isinstance(found, ErrorCode):
            rebalances.remove(group, found, decision)
            errors.append(ErrorCode.NONE)
        else:
            errors.append(found if isinstance(found, ErrorCode) else ErrorCode.UNKNOWN_MEMBER_ID)
    if group is not None and ErrorCode.NONE in errors:
        rebalances.go_on_without(group, decision)
    return LeaveGroupResponse(
        error_code=ErrorCode.NONE,
        members=[
            MemberResponse(
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                error_code=error,
            )
            for identity, error in zip(request.members, errors, strict=True)
        ],
    )


def _found(group: ClassicGroup | None, identity: MemberIdentity) -> str | ErrorCode:
    """Return the member id, or why there is none; an admin names only the instance."""
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not identity.member_id:
        return group.instances.get(identity.group_instance_id or "", ErrorCode.UNKNOWN_MEMBER_ID)
    if identity.member_id in group.pending:
        return identity.member_id
    error = group.member_error(identity.member_id, identity.group_instance_id)
    return identity.member_id if error is ErrorCode.NONE else error
