"""SyncGroup: who is no member gets no assignment."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import SyncGroupRequest
from tests.broker.fakes import FakeBroker


def syncing(**fields: str) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="readers", generation_id=1, member_id="m", assignments=[], **fields
    )


@pytest.mark.parametrize("version", range(6))
async def test_a_refusal_is_told_in_every_version(broker: FakeBroker, version: int):
    broker.groups.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    named = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    response = await broker.ask(syncing(**named), version)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bytes(response.assignment) == b""


async def test_a_stranger_gets_no_assignment(broker: FakeBroker):
    known = syncing(protocol_type="consumer", protocol_name="range")
    assert (await broker.ask(known, 5)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await broker.ask(syncing(), 5)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await broker.ask(syncing(), 4)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_no_group_is_told_before_anybody_asks_who_coordinates_it(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    request = SyncGroupRequest(group_id="", generation_id=1, member_id="m", assignments=[])
    assert (await broker.ask(request, 4)).error_code == ErrorCode.INVALID_GROUP_ID
    assert (await broker.ask(request, 5)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
