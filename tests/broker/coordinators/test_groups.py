"""The coordinator of groups on real logs: what was answered is there, whoever leads."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from tests.broker.coordinators.asking import (
    GROUP,
    code_of,
    commit,
    fetch,
    join,
    sync,
    until_loaded,
)
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS

NONE = ErrorCode.NONE


async def test_a_commit_is_read_back_from_the_broker_that_leads_its_partition(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5, metadata="here") is NONE
    found = await fetch(lab[1])
    assert (found.offset, found.metadata, found.error_code) == (5, "here", NONE)
    assert (await fetch(lab[1], group="others")).offset == -1


async def test_who_does_not_lead_the_partition_is_no_coordinator(lab: Lab) -> None:
    assert await commit(lab[2], 5) is ErrorCode.NOT_COORDINATOR
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        await fetch(lab[2])


async def test_the_new_leader_knows_all_that_was_answered_and_the_old_one_nothing(lab: Lab) -> None:
    await until_loaded(lab[1])
    for offset in range(1, 30):
        assert await commit(lab[1], offset) is NONE
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    await until_loaded(lab[2])
    assert (await fetch(lab[2])).offset == 29
    assert await commit(lab[1], 99) is ErrorCode.NOT_COORDINATOR


@pytest.mark.scenario(64)
async def test_no_answered_commit_is_lost_when_the_disk_under_an_offsets_partition_fails(
    lab: Lab,
) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 7) is NONE
    late = lab.begin(commit(lab[1], 8))
    lab[1].log_dirs[await lab[1].dir_of(OFFSETS) or ""].fail("append", OSError(5, "broken"))
    assert await late is ErrorCode.NOT_COORDINATOR
    assert await commit(lab[1], 9) is ErrorCode.NOT_COORDINATOR
    await lab.elect(OFFSETS, 2, [2, 3])
    await until_loaded(lab[2])
    assert (await fetch(lab[2])).offset in (7, 8)
    assert await commit(lab[2], 10) is NONE


async def test_a_restarted_broker_finds_what_it_wrote(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 4) is NONE
    await lab.restart(1)
    await lab.tell(ORDERS, OFFSETS, to=[1])
    await until_loaded(lab[1])
    assert (await fetch(lab[1])).offset == 4


async def test_members_find_their_group_and_assignment_at_the_next_coordinator(lab: Lab) -> None:
    await until_loaded(lab[1])
    first, second = await asyncio.gather(join(lab[1]), join(lab[1]))
    given = {first.member_id: b"one", second.member_id: b"two"}
    leader, follower = (first, second) if first.leader == first.member_id else (second, first)
    await asyncio.gather(sync(lab[1], leader, given), sync(lab[1], follower, {}))
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    await until_loaded(lab[2])
    assert (await sync(lab[2], follower, {})).assignment == given[follower.member_id]
    await asyncio.sleep(11)
    assert (await sync(lab[2], follower, {})).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_an_assignment_that_is_not_replicated_is_told_nobody(lab: Lab) -> None:
    await until_loaded(lab[1])
    only = await join(lab[1])
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(code_of(sync(lab[1], only, {only.member_id: b"all"})))
    await asyncio.sleep(1)
    assert not waiting.done()
    lab[1].log_dirs[await lab[1].dir_of(OFFSETS) or ""].fail("append", OSError(5, "broken"))
    assert await waiting is ErrorCode.NOT_COORDINATOR


async def test_who_waits_for_a_group_is_told_when_its_disk_fails(lab: Lab) -> None:
    await until_loaded(lab[1])
    waiting = lab.begin(code_of(join(lab[1])))
    await asyncio.sleep(0.1)
    lab[1].log_dirs[await lab[1].dir_of(OFFSETS) or ""].fail("append", OSError(5, "broken"))
    assert await waiting is ErrorCode.NOT_COORDINATOR


async def test_a_heartbeat_that_the_log_has_no_room_for_is_refused_and_others_wait_on(
    lab: Lab,
) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    shard = host.shard
    waiting = lab.begin(join(lab[1], group="classic"))
    await asyncio.sleep(0.1)
    names = [str(number).rjust(30_000, "t") for number in range(40)]
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=names,
        topic_partitions=[],
    )
    heartbeating = Heartbeating(request, 1, "client", "/h", "unique")
    with pytest.raises(KafkaError, match=r"max\.message\.bytes of __consumer_offsets") as refused:
        await lab[1].groups.ask(
            GROUP,
            lambda shard, waiter, now_ms, wall_ms: shard.members.beat(
                waiter, heartbeating, now_ms, wall_ms
            ),
        )
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert host.holds(shard)
    assert (await waiting).error_code == NONE
    assert shard.members.get(GROUP) is None
