"""JoinGroup: what a client says, and what it is told in each version."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import JoinGroupRequest, JoinGroupRequestProtocol
from tests.broker.fakes import FakeBroker


def joining(**fields: object) -> JoinGroupRequest:
    said: dict[str, object] = {
        "group_id": "readers",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": -1,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"")],
    }
    return JoinGroupRequest(**(said | fields))  # pyright: ignore[reportArgumentType]


async def test_a_member_is_named_after_its_client_and_known_by_its_address(broker: FakeBroker):
    response = await broker.ask(joining(), 9)
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id.endswith("-uuid1")
    group = broker.groups.shard.members.classic.get("readers")
    assert group is not None
    assert list(group.pending) == [response.member_id]


@pytest.mark.parametrize(("version", "name"), [(4, ""), (6, ""), (7, None), (9, None)])
async def test_without_a_protocol_its_name_is_absent_or_empty_before_version_7(
    broker: FakeBroker, version: int, name: str | None
):
    response = await broker.ask(joining(), version)
    assert response.protocol_name == name


@pytest.mark.parametrize("version", range(10))
async def test_a_refusal_is_told_in_every_version(broker: FakeBroker, version: int):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(joining(member_id="m"), version)
    assert (response.error_code, response.member_id) == (ErrorCode.NOT_COORDINATOR, "m")
    assert list(response.members) == []


async def test_no_group_is_told_before_anybody_asks_who_coordinates_it(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(joining(group_id=""), 9)
    assert response.error_code == ErrorCode.INVALID_GROUP_ID
