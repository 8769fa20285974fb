"""Logs that are made, found, promoted and kept: whose they are, and who waits for which disk."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.leader_epochs import EpochEntry, LeaderEpochs
from broker.engine.hosted_log import Place
from broker.engine.types import DeletedRecords
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition, uuid_text
from tests.broker.engine.fetched import now_s
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, topic_id_of
from tests.broker.engine.moved import SMALL, begin, copied, filled, held, hold, let_go
from tests.broker.engine.node import Node

OTHER = TopicPartition("other", 0)
TOPIC_ID = bytes(range(16))


async def half_copied(lab: Lab) -> Node:
    """Return a broker that has copied the first of 20 records, and is held there."""
    node = await held(lab)
    future = node.replica().future
    assert future is not None
    let_go(node)
    while copied(future).log_end_offset < 5:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    hold(node)
    await asyncio.sleep(1)
    assert copied(future).log_end_offset < 20
    return node


def copy_end(node: Node) -> int:
    future = node.replica().future
    assert future is not None
    return copied(future).log_end_offset


@pytest.mark.parametrize("topic_id", [ZERO_UUID, TOPIC_ID])
async def test_a_new_log_knows_whose_it_is_if_its_topic_has_an_id(
    alone: Lab, topic_id: bytes
) -> None:
    node = alone[1]
    path = node.paths[0]
    await node.logs.create(OTHER, topic_id, node.log_dirs[path])
    has_metadata = node.memory[path].exists("other-0/partition.metadata")
    assert has_metadata is (topic_id != ZERO_UUID)
    if has_metadata:
        text = node.memory[path].read_file("other-0/partition.metadata").decode()
        assert f"topic_id: {uuid_text(topic_id)}" in text


async def test_a_new_log_is_made_behind_the_checkpoints_that_forget_an_older_one(
    alone: Lab,
) -> None:
    node = alone[1]
    log_dir = node.log_dirs[node.paths[0]]
    for is_again in (False, True):
        if is_again:
            node.checkpoints.log_gone(log_dir.path, OTHER)
        before = log_dir.queue.jobs_count
        made = node.logs.create(TopicPartition("other", int(not is_again)), TOPIC_ID, log_dir)
        assert log_dir.queue.jobs_count - before == 1 + is_again
        await made


@pytest.mark.parametrize("is_again", [False, True])
async def test_a_future_log_is_made_beside_unless_checkpoints_have_to_forget_an_older_one(
    alone: Lab, *, is_again: bool
) -> None:
    await alone.create(replicas=[1])
    node, replica = alone[1], alone[1].replica()
    target = node.log_dirs[node.paths[1]]
    if is_again:
        node.checkpoints.log_gone(target.path, ORDERS)
    queues = (target.queue, target.background_queue)
    before = [queue.jobs_count for queue in queues]
    made = node.logs.create_future(replica, target)
    jobs = [queue.jobs_count - count for queue, count in zip(queues, before, strict=True)]
    assert jobs == ([2, 0] if is_again else [0, 1])
    files = await made
    future = node.logs.future(files, target, replica.topic_id)
    assert (future.topic_id, future.queue) == (replica.topic_id, target.background_queue)


async def test_a_future_log_of_a_topic_without_an_id_has_none(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node, replica = alone[1], alone[1].replica()
    replica.topic_id = ZERO_UUID
    path = node.paths[1]
    files = await node.logs.create_future(replica, node.log_dirs[path])
    assert not node.memory[path].exists(f"{files.name}/partition.metadata")


async def test_a_future_log_that_is_found_knows_whose_it_is_and_how_far_it_goes() -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await half_copied(lab)
        end_offset = copy_end(node)
        node = await lab.restart(1)
        orphan = node.state.orphan_future_logs[ORDERS]
        assert orphan.topic_id == topic_id_of("orders")
        positions = orphan.positions
        assert (positions.log_start_offset, positions.log_end_offset) == (0, end_offset)
        assert positions.epochs.entries == [(0, 0)]


@pytest.mark.parametrize(
    ("found", "given", "is_written"),
    [(ZERO_UUID, TOPIC_ID, True), (TOPIC_ID, ZERO_UUID, False), (TOPIC_ID, TOPIC_ID, False)],
)
async def test_a_log_that_was_found_has_the_id_of_its_directory_or_gets_the_topics(
    alone: Lab, found: bytes, given: bytes, *, is_written: bool
) -> None:
    await alone.create(replicas=[1], min_insync_replicas="3")
    node = await alone.restart(1)
    idle = node.state.hosted.idle_replica(ORDERS)
    assert idle is not None
    idle.topic_id = found
    before = idle.queue.jobs_count
    replica = node.logs.host_idle(idle, given)
    assert (replica.topic_id, idle.topic_id) == (TOPIC_ID, TOPIC_ID)
    assert idle.queue.jobs_count - before == is_written
    assert replica.partition.min_insync_replicas == 3


async def test_a_topic_that_gets_an_id_gives_it_to_the_copy_of_a_move_as_well(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    node.logs.assign_topic_id(replica, TOPIC_ID)
    assert (replica.topic_id, replica.log.topic_id) == (TOPIC_ID, TOPIC_ID)
    hold(node)
    node.workers[node.paths[1]].delay_s = 1
    ordering = alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    node.logs.assign_topic_id(replica, b"Y" * 16)  # The future log is not made yet.
    await ordering
    future = replica.future
    assert future is not None
    assert future.log is not None
    node.logs.assign_topic_id(replica, b"Z" * 16)
    assert (replica.log.topic_id, future.log.topic_id) == (b"Z" * 16, b"Z" * 16)


# Promoted logs.


async def test_a_promoted_log_whose_source_failed_is_kept_where_no_other_one_is_known() -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await half_copied(lab)
        replica, end_offset = node.replica(), copy_end(node)
        assert replica.future is not None
        copy = replica.future.log
        assert copy is not None
        assert not node.logs.keep_promoted(replica, copy), "it is online"
        node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
        assert node.state.hosted.is_offline(ORDERS)
        assert node.logs.keep_promoted(replica, copy)
        assert not node.state.hosted.is_offline(ORDERS)
        idle = node.state.hosted.idle_replica(ORDERS)
        assert idle is not None
        assert (idle.files, idle.dir, idle.place) == (copy.files, copy.dir, Place.CURRENT)
        assert idle.topic_id == replica.topic_id
        positions = idle.positions
        assert (positions.log_start_offset, positions.log_end_offset) == (0, end_offset)
        assert positions.epochs.entries == [(0, 0)]
        assert positions.producers.states is replica.partition.producers.states
        assert not node.logs.keep_promoted(replica, copy), "one is known by now"


async def test_a_promotion_writes_nothing_that_is_written_already(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    before = replica.log.queue.jobs_count
    node.logs.on_promoted(replica, replica.partition.epochs.entries)
    await asyncio.sleep(0)
    assert (replica.log.queue.jobs_count, replica.log_start_write) == (before, None)


async def test_what_changed_during_a_promotion_is_written_after_it(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    replica.log.topic_id = ZERO_UUID
    replica.partition.epochs = LeaderEpochs([(0, 0), (3, 20)])
    before = replica.log.queue.jobs_count
    node.logs.on_promoted(replica, [EpochEntry(0, 0)])
    assert replica.log.queue.jobs_count - before == 2
    assert replica.log.topic_id == replica.topic_id
    assert replica.partition.epochs.entries == [(0, 0), (3, 20)]


async def test_epochs_that_a_promoted_log_alone_knows_of_are_taken_over(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    replica.partition.epochs = LeaderEpochs([(2, 10)])
    node.logs.on_promoted(replica, [EpochEntry(0, 0), EpochEntry(2, 10)])
    assert replica.partition.epochs.entries[-1] == (2, 10)


# Cuts and log starts.


@pytest.mark.parametrize("is_emptied", [False, True])
async def test_what_a_cut_took_away_is_in_no_memory_and_those_who_wait_look_again(
    alone: Lab, *, is_emptied: bool
) -> None:
    node = await filled(alone)
    replica = node.replica()
    assert replica.tail.size_bytes > 0
    waiting = alone.begin(node.fetch(20, max_wait_ms=5_000))
    await asyncio.sleep(0.1)
    if is_emptied:
        node.logs.restart_at(replica, 50)
    else:
        node.logs.truncate(replica, 10)
    assert replica.tail.size_bytes == 0
    async with asyncio.timeout(1):
        assert (await waiting).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await node.produce("a")).base_offset == (50 if is_emptied else 10)


async def test_a_log_start_that_stays_is_not_written(alone: Lab) -> None:
    node = await filled(alone)
    node.logs.raise_log_start(node.replica(), 0)
    assert node.replica().log_start_write is None


async def test_a_log_start_that_rises_during_a_promotion_is_written_in_both_log_dirs(
    alone: Lab,
) -> None:
    node = await held(alone)
    replica = node.replica()
    assert replica.future is not None
    assert replica.future.log is not None
    replica.future.log.place = Place.PROMOTING
    for slow, offset in zip(node.paths[:2], (7, 8), strict=True):
        node.workers[slow].delay_s = 1
        node.logs.raise_log_start(replica, offset)
        write = replica.log_start_write
        assert write is not None
        await asyncio.sleep(0.5)
        assert not write.done()
        node.workers[slow].delay_s = 0
        async with asyncio.timeout(10):
            assert await write
    replica.future.log.place = Place.FUTURE


@pytest.mark.parametrize("beyond", [False, True])
async def test_a_copy_starts_where_its_log_does_as_soon_as_it_reaches_so_far(
    *, beyond: bool
) -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await half_copied(lab)
        replica, end_offset = node.replica(), copy_end(node)
        assert replica.future is not None
        node.logs.raise_log_start(replica, end_offset + beyond)
        assert copied(replica.future).log_start_offset == (0 if beyond else end_offset)


@pytest.mark.parametrize("what_happens", ["nothing", "the copy is lost", "it is taken back"])
async def test_a_deletion_is_answered_when_the_copy_of_a_move_has_made_it_or_is_no_more(
    what_happens: str,
) -> None:
    async with Lab.running(broker_count=1, dir_count=2, replica_fetch_max_bytes=SMALL) as lab:
        node = await half_copied(lab)
        target = node.log_dirs[node.paths[1]]
        node.workers[target.path].delay_s = 1
        deletions = node.engine.record_deletions
        begun_s = now_s()
        waiting = lab.begin(deletions.delete([(ORDERS, 3)], timeout_ms=20_000))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        if what_happens == "the copy is lost":
            target.fail("test", OSError("broken"))
        elif what_happens == "it is taken back":
            await begin(node, node.paths[0])
        assert await waiting == [DeletedRecords(ErrorCode.NONE, 3)]
        assert now_s() - begun_s < 2
