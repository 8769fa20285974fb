"""ConsumerGroupHeartbeat: a member joins, and what is wrong with a request is said."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from tests.broker.fakes import FakeBroker


def joining(member_id: str = "m") -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="readers",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_a_member_joins_from_where_it_connected(broker: FakeBroker, version: int):
    told = await broker.ask(joining(), version)
    assert (told.error_code, told.member_id, told.member_epoch) == (ErrorCode.NONE, "m", 2)
    group = broker.groups.shard.members.consumer.get("readers")
    assert group is not None
    member = group.members["m"]
    assert member.client_host.startswith("/")
    assert member.topics == {"orders"}


async def test_version_0_gets_an_id_and_version_1_has_to_bring_one(broker: FakeBroker):
    assert (await broker.ask(joining(""), 0)).member_id
    told = await broker.ask(joining(""), 1)
    assert (told.error_code, told.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "MemberId can't be empty.",
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_a_group_without_a_name_is_refused_before_its_coordinator_is_asked(
    broker: FakeBroker, version: int
):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    request = joining()
    request.group_id = ""
    told = await broker.ask(request, version)
    assert (told.error_code, told.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "GroupId can't be empty.",
    )


async def test_what_the_coordinator_says_stands_at_the_top(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    told = await broker.ask(joining(), 1)
    assert (told.error_code, told.error_message) == (ErrorCode.NOT_COORDINATOR, None)


@pytest.mark.parametrize(("release", "code"), [("3.9", 35), ("4.0", 0), (None, 0)])
async def test_a_release_with_zookeeper_has_no_such_groups(
    broker: FakeBroker, release: str | None, code: int
):
    broker.context.cluster_release = release
    assert (await broker.ask(joining(), 0)).error_code == code


async def test_members_are_told_the_interval_that_their_group_is_configured_to_now(
    broker: FakeBroker,
):
    assert (await broker.ask(joining(), 1)).heartbeat_interval_ms == 5_000
    broker.group_configs.known["readers"] = {"consumer.heartbeat.interval.ms": "6000"}
    assert (await broker.ask(joining(), 1)).heartbeat_interval_ms == 6_000


async def test_a_broker_that_speaks_the_classic_protocol_alone_has_no_such_groups():
    broker = FakeBroker(group_coordinator_rebalance_protocols="classic")
    assert (await broker.ask(joining(), 1)).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert broker.groups.shard.members.consumer.get("readers") is None
