"""KIP-113, whole: what happens around moves between log dirs."""

from __future__ import annotations

import asyncio

import pytest

from broker.storage.checkpoints import parse_offsets
from broker.storage.layout import parse_partition_metadata
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveState
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, leader_and_isr, offsets_of, topic_id_of
from tests.broker.engine.moved import begin, copied, filled, move_rows, names, stopped, until_moved
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE
UNLIMITED = 2**63 - 1


@pytest.mark.scenario(122)
async def test_a_role_alone_starts_no_copy(alone: Lab) -> None:
    node = await filled(alone)
    await alone.elect(ORDERS, 1, [1])
    assert node.moves.active_count == 0
    assert move_rows(node) == []


@pytest.mark.kafka_bug("PR 8460")
async def test_a_stale_leader_and_isr_starts_no_copy(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    node.moves.suspend(node.replica())
    assert await alone.tell(ORDERS) == {1: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert node.moves.active_count == 0
    await alone.elect(ORDERS, 1, [1])
    assert node.moves.active_count == 1


@pytest.mark.scenario(132)
async def test_who_waits_for_records_is_not_forgotten_by_a_swap(alone: Lab) -> None:
    node = await filled(alone)
    waiting = alone.begin(node.fetch(20, max_wait_ms=60_000))
    await asyncio.sleep(0.1)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    assert not waiting.done()
    await node.produce("after")
    assert offsets_of(await waiting) == [20]


@pytest.mark.kafka_bug("KAFKA-9263")
@pytest.mark.parametrize("broker_id", [1, 2])
async def test_the_high_watermark_goes_over_to_the_promoted_log(lab: Lab, broker_id: int) -> None:
    await filled(lab)
    node = lab[broker_id]
    source, target = node.paths
    await begin(node, target)
    await until_moved(node, target)
    await lab[1].produce("after")
    await asyncio.sleep(6)
    assert node.replica().partition.high_watermark == 21
    written = [
        parse_offsets(node.memory[path].read_file("replication-offset-checkpoint"))
        for path in (source, target)
    ]
    assert written == [{}, {ORDERS: 21}]


@pytest.mark.kafka_bug("KAFKA-9087")
async def test_what_was_read_for_one_destination_is_not_written_to_the_next(alone: Lab) -> None:
    node = await filled(alone)
    before = node.disk_bytes()
    node.workers[node.paths[0]].delay_s = 1
    await begin(node, node.paths[1])
    await asyncio.sleep(0.5)
    await begin(node, node.paths[2])
    node.workers[node.paths[0]].delay_s = 0
    await until_moved(node, node.paths[2])
    assert node.disk_bytes() == before
    partition = node.replica().partition
    assert (partition.high_watermark, partition.log_end_offset) == (20, 20)


@pytest.mark.kafka_bug("KAFKA-9594", "KAFKA-9750")
@pytest.mark.scenario(133)
async def test_appends_roles_and_swaps_beside_each_other_lose_nothing(lab: Lab) -> None:
    node = await filled(lab)
    acknowledged: list[int] = []
    stop = asyncio.Event()

    async def produce() -> None:
        while not stop.is_set():
            result = await node.produce(f"record {len(acknowledged)}")
            if result.error_code == NONE:
                acknowledged.append(result.base_offset)

    async def give_roles() -> None:
        while not stop.is_set():
            await lab.elect(ORDERS, 1, [1, 2, 3])
            await asyncio.sleep(0.003)

    tasks = [lab.begin(produce()), lab.begin(give_roles())]
    for number in range(6):
        target = node.paths[(number + 1) % 2]
        assert await begin(node, target) == NONE
        await until_moved(node, target)
    stop.set()
    await asyncio.gather(*tasks)
    assert acknowledged == list(range(20, 20 + len(acknowledged)))
    assert len(acknowledged) > 20
    found = offsets_of(await node.fetch(0, max_bytes=1 << 24))
    assert found == list(range(20 + len(acknowledged)))
    await asyncio.sleep(1)
    assert node.disk_bytes() == lab[2].disk_bytes() == lab[3].disk_bytes()


@pytest.mark.kafka_bug("KAFKA-16709")
@pytest.mark.scenario(134)
async def test_a_move_pauses_the_cleaner_once_however_often_it_is_told(alone: Lab) -> None:
    node = stopped(await filled(alone))
    pauses = node.state.cleaning_pauses
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    assert copied(future).log_end_offset == future.move.fallback_offset == 0
    for _ in range(3):
        await alone.elect(ORDERS, 1, [1])
        assert pauses.count(ORDERS) == 1
    node = stopped(await alone.restart(1))
    for _ in range(2):
        await alone.elect(ORDERS, 1, [1])
        assert node.state.cleaning_pauses.count(ORDERS) == 1
    node.set_move_limit(UNLIMITED)
    await until_moved(node, node.paths[1])
    assert node.state.cleaning_pauses.count(ORDERS) == 0


@pytest.mark.scenario(135)
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_topic_id_that_comes_during_a_move_is_beside_the_promoted_log(
    alone: Lab, is_restarted: bool
) -> None:
    node = alone[1]
    await without_topic_id(alone)
    stopped(node)
    await begin(node, node.paths[1])
    if is_restarted:
        node = stopped(await alone.restart(1))
    await alone.elect(ORDERS, 1, [1])
    node.set_move_limit(UNLIMITED)
    await until_moved(node, node.paths[1])
    content = node.memory[node.paths[1]].read_file("orders-0/partition.metadata")
    assert parse_partition_metadata(content) == topic_id_of("orders")
    assert offsets_of(await node.fetch(0)) == [0]


@pytest.mark.scenario(135)
async def test_a_replica_without_topic_id_moves_and_gets_its_id_afterwards(alone: Lab) -> None:
    node = alone[1]
    await without_topic_id(alone)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    assert not node.memory[node.paths[1]].exists("orders-0/partition.metadata")
    await alone.elect(ORDERS, 1, [1])
    await asyncio.sleep(0)
    assert node.replica().topic_id == topic_id_of("orders")
    assert node.memory[node.paths[1]].exists("orders-0/partition.metadata")


async def without_topic_id(lab: Lab) -> None:
    """``orders-0`` with one record, led by broker 1 for a controller that knows no topic ids."""
    lab.led[ORDERS] = Led([1], 1, [1])
    request = leader_and_isr(lab.led, is_new=True)
    request.topic_states[0].topic_id = bytes(16)
    await lab[1].engine.leadership.leader_and_isr(request)
    await lab[1].produce("a")


@pytest.mark.kafka_bug("KAFKA-14544")
@pytest.mark.scenario(136)
async def test_rows_of_current_and_future_log_become_one_at_the_swap(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    rows = node.engine.describe.replica_rows(1, 1)
    assert [(row.log_dir, row.is_future) for row in rows] == [
        (node.paths[0], False),
        (node.paths[1], True),
    ]
    node.set_move_limit(UNLIMITED)
    await until_moved(node, node.paths[1])
    for wait_s in (0, 61):
        await asyncio.sleep(wait_s)
        rows = node.engine.describe.replica_rows(1, 1)
        assert [(row.log_dir, row.is_future) for row in rows] == [(node.paths[1], False)]
        assert [row.future_count for row in node.engine.describe.log_dir_rows(1, 1)] == [0, 0, 0]


@pytest.mark.scenario(154)
@pytest.mark.parametrize(("threads", "at_once"), [("1", 1), ("3", 3)])
async def test_as_many_moves_at_once_as_there_are_movers(threads: str, at_once: int) -> None:
    overrides = {"num_replica_alter_log_dirs_threads": threads, "replica_fetch_max_bytes": "1024"}
    async with Lab.running(broker_count=1, dir_count=3, **overrides) as lab:
        node = lab[1]
        tps = [TopicPartition("orders", number) for number in range(9)]
        for tp in tps:
            await lab.create(tp, replicas=[1])
            for number in range(20):
                await node.produce("x" * 200 + str(number), tp=tp)
        node.set_move_limit(4_000)
        wishes = [(tp, other_dir(node, tp)) for tp in tps]
        await node.engine.moves.alter(wishes)
        most = 0
        async with asyncio.timeout(60):
            while node.engine.gauges().move_count:
                await asyncio.sleep(0.01)
                most = max(most, sum(is_half_way(node, tp) for tp in tps))
        assert most == at_once
        assert [await node.dir_of(tp) for tp in tps] == [path for _, path in wishes]


def other_dir(node: Node, tp: TopicPartition) -> str:
    paths = node.paths
    return paths[(paths.index(node.replica(tp).log_dir) + 1) % len(paths)]


def is_half_way(node: Node, tp: TopicPartition) -> bool:
    future = node.replica(tp).future
    return future is not None and 0 < future.copied_bytes < node.replica(tp).log.files.size_bytes


async def test_many_moves_share_one_limit() -> None:
    async with Lab.running(broker_count=1, dir_count=3) as lab:
        node = lab[1]
        tps = [TopicPartition("orders", number) for number in range(12)]
        for tp in tps:
            await lab.create(tp, replicas=[1])
            for _ in range(10):
                await node.produce("x" * 2_000, tp=tp)
        size = sum(node.replica(tp).log.files.size_bytes for tp in tps)
        node.set_move_limit(size // 40)
        started_s = asyncio.get_running_loop().time()
        wishes = [(tp, other_dir(node, tp)) for tp in tps]
        assert set((await node.engine.moves.alter(wishes)).values()) == {NONE}
        for tp, path in wishes:
            await until_moved(node, path, tp)
        took_s = asyncio.get_running_loop().time() - started_s
        assert took_s == pytest.approx(40, rel=0.1)


@pytest.mark.kafka_bug("KAFKA-6949", "KAFKA-9750")
async def test_a_wish_and_a_role_that_meet_a_swap_wait_for_its_end(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    node.workers[node.paths[1]].delay_s = 1
    node.set_move_limit(UNLIMITED)
    while node.replica().log.swapping.ended is None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.01)
    told = alone.begin(alone.elect(ORDERS, 1, [1]))
    wished = alone.begin(begin(node, node.paths[2]))
    assert await wished == NONE
    assert await told == {1: NONE}
    node.workers[node.paths[1]].delay_s = 0
    await until_moved(node, node.paths[2])
    states = [row.state for row in move_rows(node) if row.state is not MoveState.COPYING]
    assert states.count(MoveState.DONE) == 2
    assert offsets_of(await node.fetch(0)) == list(range(20))
    assert node.state.cleaning_pauses.count(ORDERS) == 0


@pytest.mark.kafka_bug("KAFKA-16082")
async def test_a_future_log_beside_a_replica_that_was_made_anew_goes(lab: Lab) -> None:
    await filled(lab)
    node = stopped(lab[2])
    await begin(node, node.paths[1])
    lost, kept = node.memory.values()
    node = await lab.restart(2, disks=[MemoryDisk(lost.root), kept])
    node.state.log_dir_states.prefer(ORDERS, node.paths[1])
    await lab.elect(ORDERS, 1, [1, 2, 3])
    await asyncio.sleep(2)
    assert await node.dir_of() == node.paths[1]
    assert node.disk_bytes() == lab[1].disk_bytes()
    assert node.state.cleaning_pauses.count(ORDERS) == 0
    await asyncio.sleep(61)
    assert names(node, node.paths[1]) == ["orders-0"]
    assert node.events.failed == []
