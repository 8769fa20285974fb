"""What the engine does on its own, again and again."""

from __future__ import annotations

import asyncio

from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions
from tests.broker.engine.lab import Lab
from tests.broker.engine.log.test_checkpoints import checkpoint
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, hold, let_go
from tests.broker.engine.transactions import write


async def test_a_dead_follower_leaves_the_isr_after_the_lag_time(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("b", timeout_ms=60_000))
    await asyncio.sleep(29)
    assert lab.led[ORDERS].isr == [1, 2, 3]
    assert not waiting.done()
    await asyncio.sleep(17)
    assert lab.led[ORDERS].isr == [1, 2]
    assert (await waiting).base_offset == 1
    assert lab[1].events.isr_changes == [(ORDERS, [1, 2, 3], [1, 2])]


async def test_a_follower_that_may_lag_for_long_leaves_the_isr_not_much_later() -> None:
    """It is looked at every 15 s, and here just when its time is over."""
    loop = asyncio.get_running_loop()
    look_s = loop.time() + 200 * 15
    async with Lab.running(broker_count=2, dir_count=1, replica_lag_time_max_ms="60000") as lab:
        await lab.create(replicas=[1, 2])
        await asyncio.sleep(look_s - 60.6 - loop.time())
        lab[2].is_reachable = False
        await lab[1].produce("a", acks=1)
        await asyncio.sleep(look_s - 0.01 - loop.time())
        assert lab.led[ORDERS].isr == [1, 2]
        await asyncio.sleep(0.03)
        assert lab.led[ORDERS].isr == [1]


async def test_idle_followers_stay_in_the_isr(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(120)
    assert lab.led[ORDERS].isr == [1, 2, 3]
    assert lab.alter_requests == []


async def test_idle_producers_are_forgotten() -> None:
    async with Lab.running(broker_count=1, dir_count=1, producer_id_expiration_ms="60000") as lab:
        await lab.create(replicas=[1])
        options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
        await lab[1].produce("a", options=options)
        node = await lab.restart(1)
        await lab.elect(ORDERS, 1, [1])
        producers = node.replica().partition.producers.states
        assert len(producers) == 1
        lab[1].state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
        await asyncio.sleep(601)
        assert len(producers) == 0


async def test_idle_producers_of_all_partitions_are_forgotten_at_the_same_look() -> None:
    async with Lab.running(broker_count=1, dir_count=1, producer_id_expiration_ms="60000") as lab:
        tps = [TopicPartition("orders", number) for number in range(3)]
        options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
        for tp in tps:
            await lab.create(tp, replicas=[1])
            await lab[1].produce("a", tp=tp, options=options)
        lab[1].state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
        await asyncio.sleep(601)
        producers = [lab[1].replica(tp).partition.producers.states for tp in tps]
        assert [len(states) for states in producers] == [0, 0, 0]


async def test_old_batches_leave_the_memory(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    assert alone[1].state.tails.size_bytes > 0
    await asyncio.sleep(16)
    assert alone[1].state.tails.size_bytes == 0


async def test_batches_stay_in_memory_for_ten_seconds_after_the_last_one(alone: Lab) -> None:
    loop = asyncio.get_running_loop()
    tps = [ORDERS, TopicPartition("other", 0)]
    for tp in tps:
        await alone.create(tp, replicas=[1])
    await asyncio.sleep(1_009.999 - loop.time())
    for tp in tps:
        await alone[1].produce("a", tp=tp, acks=1)
        await asyncio.sleep(0.001)
    await asyncio.sleep(1_020.0005 - loop.time())
    assert [alone[1].replica(tp).tail.size_bytes > 0 for tp in tps] == [False, True]


async def test_every_few_seconds_high_watermarks_are_written_and_logs_looked_for(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    await asyncio.sleep(5.1)
    assert checkpoint(alone[1], "replication-offset-checkpoint") == {ORDERS: 1}
    alone[1].memory[alone[1].replica().log_dir].remove_tree("orders-0")
    await asyncio.sleep(5.1)
    assert alone[1].state.hosted.is_offline(ORDERS)


async def test_idle_producers_are_forgotten_by_the_copy_of_a_move_too() -> None:
    """What it knew would be known again once it is the log."""
    overrides = {"producer_id_expiration_ms": "60000", "replica_fetch_max_bytes": "512"}
    async with Lab.running(broker_count=1, dir_count=2, **overrides) as lab:
        node = lab[1]
        await lab.create(replicas=[1])
        await write(node, 7, 0, transactional=False)
        for _ in range(20):
            await node.produce("x" * 200)
        hold(node)
        await begin(node, node.paths[1])
        future = node.replica().future
        assert future is not None
        assert future.log is not None
        let_go(node)
        while not future.log.files.producer_entries:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
        node.moves.suspend(node.replica())
        hold(node)
        await asyncio.sleep(1)
        assert node.replica().future is future
        node.state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
        await asyncio.sleep(601)
        assert future.log.files.producer_entries == []


async def test_a_broker_that_has_stopped_looks_at_nothing(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].periodic.stop()
    alone[1].memory[alone[1].replica().log_dir].remove_tree("orders-0")
    await asyncio.sleep(11)
    assert alone[1].events.failed == []


async def test_followers_are_looked_at_twice_in_the_time_that_they_may_lag() -> None:
    loop = asyncio.get_running_loop()
    async with Lab.running(broker_count=2, dir_count=1, replica_lag_time_max_ms="10000") as lab:
        await lab.create(replicas=[1, 2])
        await asyncio.sleep(1_002 - loop.time())
        lab[2].is_reachable = False
        await lab[1].produce("a", acks=1)
        await asyncio.sleep(1_014.9 - loop.time())
        assert lab.led[ORDERS].isr == [1, 2]
        await asyncio.sleep(0.2)
        assert lab.led[ORDERS].isr == [1]


async def test_what_is_never_to_be_flushed_is_not_flushed_once_either(alone: Lab) -> None:
    await alone.create(replicas=[1], flush_ms="1000")
    await alone[1].produce("a")
    await asyncio.sleep(45)
    assert alone[1].replica().log.files.recovery_point == 0


async def test_expired_producers_are_left_out_of_the_snapshots_of_their_log() -> None:
    async with Lab.running(broker_count=1, dir_count=1, producer_id_expiration_ms="60000") as lab:
        await lab.create(replicas=[1])
        await write(lab[1], 7, 0, transactional=False)
        files = lab[1].replica().log.files
        assert len(files.producer_entries) == 1
        lab[1].state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
        await asyncio.sleep(601)
        assert files.producer_entries == []
        queue = lab[1].replica().log.queue
        lab[1].periodic.stop()
        await asyncio.sleep(0)
        before = queue.jobs_count
        lab[1].periodic._expire_producers()  # pyright: ignore[reportPrivateUsage]
        assert queue.jobs_count == before, "nobody has expired since"
