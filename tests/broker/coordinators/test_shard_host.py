"""One shard at run time: what is answered when, and what of it the log has."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.coordinators.coordinator_log import CoordinatorLog
from broker.coordinators.shard_host import HostPorts, ShardHost
from broker.core.coordination import Answer, Decided, Shard
from broker.core.groups.group_shard import GroupShard
from broker.engine.serve.produce import BegunProduce
from protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinators.asking import GROUP, commit, fetch, ports_of, until, until_loaded
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.engine.lab import Lab

NONE = ErrorCode.NONE
AWAY = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_many_commits_at_once_share_batches_and_are_all_answered(lab: Lab) -> None:
    await until_loaded(lab[1])
    begun = [lab.begin(commit(lab[1], n, group=f"g{n}")) for n in range(200)]
    assert {await each for each in begun} == {NONE}
    (host,) = lab[1].groups.hosts()
    assert len(list(host.shard.offsets.group_ids())) == 200
    assert lab[1].metrics.counters.messages_in.value == 200


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


class UnreadableOnce(CoordinatorLog):
    """A log whose first load fails."""

    loads = 0

    async def load(self, shard: Shard) -> BegunProduce:
        self.loads += 1
        if self.loads == 1:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "damaged")
        return await super().load(shard)


async def test_a_log_that_cannot_be_read_has_no_coordinator_until_somebody_leads_anew(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = lab[1]
    state = node.engine.state
    host = ShardHost(
        OFFSETS,
        UnreadableOnce(OFFSETS, ports_of(node)),
        lambda: GroupShard(node.config, lambda: 1_000, state.metadata),
        HostPorts(now_ms=state.now_ms, wall_ms=state.wall_ms, timeout_ms=1_000),
    )
    host.begin(lab.group, leader_epoch=3)
    await until(lambda: any("cannot be loaded: CORRUPT" in line for line in caplog.messages))
    host.begin(lab.group, leader_epoch=3)
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        await host.ask(lambda _shard, _waiter, _now_ms, _wall_ms: Decided())
    host.begin(lab.group, leader_epoch=4)
    await until(lambda: host.is_loaded)
    host.end()


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


async def test_what_is_due_is_done_in_time_although_the_request_behind_it_was_refused(
    lab: Lab,
) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    shard, due_ms = host.shard, lab[1].engine.state.now_ms() + 50
    rung: list[int] = []

    class Due(GroupShard):
        def next_due_ms(self) -> int | None:
            return None if rung else due_ms

        def expire(self, now_ms: int, wall_ms: int) -> Decided:
            del wall_ms
            rung.append(now_ms)
            return Decided()

    def refused() -> Decided:
        shard.__class__ = Due
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        await host.ask(lambda _shard, _waiter, _now_ms, _wall_ms: refused())
    await asyncio.sleep(0.1)
    assert rung == [due_ms]


async def test_what_is_put_off_wakes_nobody_before_its_time(lab: Lab) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    now_ms = lab[1].engine.state.now_ms()
    due_ms = [now_ms + 50, now_ms + 100]
    rung: list[int] = []

    class Due(GroupShard):
        def next_due_ms(self) -> int | None:
            return due_ms[0]

        def expire(self, now_ms: int, wall_ms: int) -> Decided:
            del wall_ms
            rung.append(now_ms)
            due_ms[0] = now_ms + 1_000_000
            return Decided()

    host.shard.__class__ = Due
    for _ in range(2):
        await host.ask(lambda _shard, waiter, _now, _wall: Decided((), [Answer(waiter, NONE)]))
        due_ms[0] = now_ms + 100
    await asyncio.sleep(0.2)
    assert rung == [now_ms + 100]


async def test_who_waits_when_the_broker_ends_is_told_to_look_elsewhere(lab: Lab) -> None:
    await until_loaded(lab[1])
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(commit(lab[1], 6))
    await asyncio.sleep(0.1)
    lab[1].groups.stop()
    assert await waiting is AWAY
    assert await commit(lab[1], 7) is ErrorCode.NOT_COORDINATOR
