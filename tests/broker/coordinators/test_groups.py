"""The coordinator of groups on real logs: what was answered is there, whoever leads."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from broker.coordinators.groups import CoordinatorRelay, group_shards
from broker.coordinators.shard_host import HostPorts
from broker.coordinators.shards import Shards
from broker.core.coordination import Answer, Decided
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.group_offsets import Committed, offset_key
from broker.core.groups.group_shard import GroupShard
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.broker.coordinators.asking import (
    GROUP,
    code_of,
    commit,
    fetch,
    join,
    ports_of,
    sync,
    until,
    until_loaded,
)
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.coordinators.paced_host import PacedLog, turns
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE
AWAY = ErrorCode.COORDINATOR_NOT_AVAILABLE


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


async def test_an_offset_that_is_not_replicated_is_told_nobody(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is NONE
    lab[2].is_reachable = lab[3].is_reachable = False
    assert await commit(lab[1], 6) is AWAY
    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        await fetch(lab[1])


async def test_a_late_batch_counts_when_it_is_replicated_after_all(lab: Lab) -> None:
    await until_loaded(lab[1])
    lab[2].is_reachable = lab[3].is_reachable = False
    assert await commit(lab[1], 6) is AWAY
    await asyncio.sleep(60)
    assert (await fetch(lab[1])).offset == 6


async def test_a_new_leader_tells_nothing_before_it_is_replicated(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is NONE
    lab[1].is_reachable = lab[3].is_reachable = False
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    await until_loaded(lab[2])
    reading = lab.begin(fetch(lab[2]))
    await asyncio.sleep(1)
    assert not reading.done()
    lab[1].is_reachable = lab[3].is_reachable = True
    await lab.tell(OFFSETS, to=[1, 3])
    assert (await reading).offset == 5


async def test_while_it_is_loaded_a_group_is_told_so(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is NONE
    path = await lab[2].dir_of(OFFSETS) or ""
    lab[2].workers[path].delay_s = 0.05
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    assert await commit(lab[2], 5) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    lab[2].workers[path].delay_s = 0.0
    await until_loaded(lab[2])
    assert await commit(lab[2], 5) is NONE


@pytest.mark.scenario(65)
async def test_a_load_ends_when_its_disk_fails_and_others_go_on(lab: Lab) -> None:
    other = OFFSETS._replace(partition=1)
    await lab.create(other, replicas=[2, 3, 1], cleanup_policy="compact")
    path = await lab[2].dir_of(OFFSETS) or ""
    assert await lab[2].dir_of(other) != path
    lab[2].workers[path].hangs = True
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    lab[2].log_dirs[path].fail("read", OSError(5, "broken"))
    assert [host.tp for host in lab[2].groups.hosts()] == [other]
    await until_loaded(lab[2])


async def test_offsets_expire_by_themselves() -> None:
    retention = {"offsets_retention_minutes": "1", "offsets_retention_check_interval_ms": "5000"}
    async with Lab.running(broker_count=1, dir_count=1, **retention) as lab:
        await lab.create(OFFSETS, replicas=[1], cleanup_policy="compact")
        await until_loaded(lab[1])
        assert await commit(lab[1], 5, group="once") is NONE
        await asyncio.sleep(30)
        assert await commit(lab[1], 5, group="lately") is NONE
        await asyncio.sleep(36)
        (shard,) = lab[1].groups.shards()
        assert list(shard.offsets.group_ids()) == ["lately"]
        assert lab[1].replica(OFFSETS).partition.high_watermark == 3


async def test_many_commits_at_once_share_batches_and_are_all_answered(lab: Lab) -> None:
    await until_loaded(lab[1])
    begun = [lab.begin(commit(lab[1], n, group=f"g{n}")) for n in range(200)]
    assert {await each for each in begun} == {NONE}
    (host,) = lab[1].groups.hosts()
    assert len(list(host.shard.offsets.group_ids())) == 200
    assert lab[1].metrics.counters.messages_in.value == 200


async def test_with_too_few_replicas_a_commit_is_refused_and_the_shard_stays(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is NONE
    (host,) = lab[1].groups.hosts()
    before = host.shard
    await lab.elect(OFFSETS, 1, [1])
    lab[1].replica(OFFSETS).partition.min_insync_replicas = 2
    assert await commit(lab[1], 6) is AWAY
    assert host.shard is before
    assert (await fetch(lab[1])).offset == 5


async def test_nothing_follows_in_the_log_that_was_decided_on_what_it_refuses(lab: Lab) -> None:
    """Seed 711014: one member gave a partition back in vain, and another one was written to own it.

    The refusal waits behind a batch that is not replicated; meanwhile the Isr grows again.
    """
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    partition = lab[1].replica(OFFSETS).partition
    partition.min_insync_replicas, isr = 2, partition.isr
    lab[2].is_reachable = lab[3].is_reachable = False
    first = lab.begin(commit(lab[1], 5))
    await asyncio.sleep(0.1)
    end = partition.next_offset

    def decide(*_: object) -> Decided:
        partition.isr = replace(isr, isr=isr.isr[:1])
        return Decided([(b"\0\2\0\1g", b"")])

    async def refusal() -> ErrorCode:
        with pytest.raises(KafkaError) as caught:
            await host.ask(decide)
        return caught.value.code

    refused = lab.begin(refusal())
    await asyncio.sleep(0.01)
    partition.isr = isr
    later = lab.begin(commit(lab[1], 6))
    await asyncio.sleep(0.1)
    assert partition.next_offset == end
    lab[2].is_reachable = lab[3].is_reachable = True
    assert await first is NONE
    assert await refused is AWAY
    assert await later is AWAY
    await until(lambda: host.is_loaded)
    assert (await fetch(lab[1])).offset == 5


async def test_what_the_log_refuses_is_not_known_afterwards(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is NONE
    (host,) = lab[1].groups.hosts()
    shard = host.shard

    def too_much(waiter: int) -> Decided:
        del waiter
        shard.offsets.delete_all(GROUP)
        return Decided([(b"\0\2\0\1g", bytes(2_000_000))])

    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        await host.ask(lambda _shard, waiter, _now, _wall: too_much(waiter))
    await until(lambda: host.is_loaded)
    assert host.shard is not shard
    assert (await fetch(lab[1])).offset == 5


async def test_records_that_stand_alone_go_into_as_many_batches_as_it_takes(lab: Lab) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    shard = host.shard
    records = [(b"\0\2\0\1g", bytes(600_000))] * 3

    def decide(_shard: GroupShard, waiter: int, _now_ms: int, _wall_ms: int) -> Decided:
        return Decided(records, [Answer(waiter, NONE)], is_atomic=False)

    assert await host.ask(decide) is NONE
    assert lab[1].metrics.counters.messages_in.value == len(records)
    assert host.shard is shard


# What the engine tells.


def paced(node: Node, topic: str) -> tuple[Shards[Any], list[PacedLog]]:
    state, logs = node.engine.state, [PacedLog(node), PacedLog(node)]
    ports = HostPorts(now_ms=state.now_ms, wall_ms=state.wall_ms, timeout_ms=5_000)
    new_shard = partial(GroupShard, node.config, lambda: 1_000_000, state.metadata)
    return Shards(
        topic, state.metadata, lambda tp: logs[tp.partition], lambda _log: new_shard(), ports
    ), logs


async def test_each_coordinator_hears_of_its_own_topic(lab: Lab) -> None:
    groups, _ = paced(lab[1], CONSUMER_OFFSETS)
    others, _ = paced(lab[1], TRANSACTION_STATE)
    relay = CoordinatorRelay(lambda: groups, lambda: others)
    for each in (groups, others):
        each.run(lab.group)
    relay.leads_internal(OFFSETS, 1)
    assert ([each.tp for each in groups.hosts()], list(others.hosts())) == ([OFFSETS], [])
    relay.leads_internal(TopicPartition(TRANSACTION_STATE, 0), 1)
    relay.leads_internal_no_more(OFFSETS)
    assert list(groups.hosts()) == []
    assert [each.tp.topic for each in others.hosts()] == [TRANSACTION_STATE]
    relay.leads_internal_no_more(TopicPartition(TRANSACTION_STATE, 0))
    assert list(others.hosts()) == []


async def test_offsets_of_deleted_partitions_are_forgotten_where_there_is_a_shard(
    lab: Lab,
) -> None:
    groups, logs = paced(lab[1], CONSUMER_OFFSETS)
    logs[0].unreadable = KafkaError(ErrorCode.CORRUPT_MESSAGE)
    groups.run(lab.group)
    for partition in range(2):
        groups.lead(OFFSETS._replace(partition=partition), 1)
    await turns()
    unreadable, host = groups.hosts()
    assert (unreadable.is_loaded, host.is_loaded) == (False, True)
    host.shard.offsets.put(GROUP, {ORDERS: Committed(5, 0, "", 0)})
    CoordinatorRelay(lambda: groups).partitions_deleted([ORDERS])
    await turns()
    assert not host.shard.offsets.has_offsets(GROUP)
    assert logs[1].batches == [([(offset_key(GROUP, ORDERS), None)], None)]
    groups.stop()


@pytest.mark.parametrize(("release", "stays"), [(None, False), ("4.0", True), ("3.9", False)])
async def test_what_becomes_of_a_group_without_offsets_is_as_in_the_release_that_is_shown(
    lab: Lab, release: str | None, *, stays: bool
) -> None:
    node = lab[1]
    groups = group_shards(node.engine, node.config, ports_of(node), None, cluster_release=release)
    groups.run(lab.group)
    groups.lead(OFFSETS, 1)
    await until(lambda: all(host.is_loaded for host in groups.hosts()))
    (shard,) = groups.shards()
    shard.offsets.put(GROUP, {ORDERS: Committed(5, 0, "", 0)})
    list(shard.partitions_deleted([ORDERS]))
    assert shard.offsets.is_here(GROUP) is stays
    groups.stop()
