"""Heartbeat: who is a member, and what is told while the group is loaded."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import HeartbeatRequest
from tests.broker.fakes import FakeBroker

BEAT = HeartbeatRequest(group_id="readers", generation_id=1, member_id="m")


@pytest.mark.parametrize("version", range(5))
async def test_a_stranger_is_told_so_in_every_version(broker: FakeBroker, version: int):
    assert (await broker.ask(BEAT, version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_while_the_group_is_loaded_all_is_well(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert (await broker.ask(BEAT, 4)).error_code == ErrorCode.NONE
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert (await broker.ask(BEAT, 4)).error_code == ErrorCode.NOT_COORDINATOR


async def test_no_group_is_told_before_anybody_asks_who_coordinates_it(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    beat = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    assert (await broker.ask(beat, 4)).error_code == ErrorCode.INVALID_GROUP_ID
