"""LeaveGroup: one member before version 3, several since."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import LeaveGroupRequest, MemberIdentity
from tests.broker.fakes import FakeBroker
from tests.broker.handlers.test_join_group import joining


def leaving(member_id: str, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group_id="readers", member_id=member_id, members=[])
    members = [MemberIdentity(member_id=member_id)]
    return LeaveGroupRequest(group_id="readers", member_id="", members=members)


@pytest.mark.parametrize("version", range(6))
async def test_members_leave_and_strangers_are_told_so_in_every_version(
    broker: FakeBroker, version: int
):
    member_id = (await broker.ask(joining(), 4)).member_id
    left = await broker.ask(leaving(member_id, version), version)
    again = await broker.ask(leaving(member_id, version), version)
    if version < 3:
        codes = [left.error_code, again.error_code]
    else:
        assert (left.error_code, again.error_code) == (0, 0)
        codes = [left.members[0].error_code, again.members[0].error_code]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("version", range(6))
async def test_a_refusal_stands_at_the_top(broker: FakeBroker, version: int):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(leaving("m", version), version)
    assert response.error_code == ErrorCode.NOT_COORDINATOR


async def test_no_group_is_told_before_anybody_asks_who_coordinates_it(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    for version in range(6):
        response = await broker.ask(LeaveGroupRequest(group_id=""), version)
        assert response.error_code == ErrorCode.INVALID_GROUP_ID
