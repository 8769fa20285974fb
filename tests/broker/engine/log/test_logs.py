"""Changes to current logs keep their order with the appends around them."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.future_log import MoveState
from broker.engine.types import FetchParams
from broker.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    parse_leader_epochs,
    parse_offsets,
)
from protocol.errors import ErrorCode
from protocol.ids import uuid_text
from tests.broker.engine.fetched import part
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of, topic_id_of
from tests.broker.engine.moved import (
    begin,
    copied,
    filled,
    held,
    let_go,
    names,
    stopped,
    until_moved,
)
from tests.broker.engine.transactions import end, last_stable_offset, write


def epochs_on_disk(lab: Lab) -> list[tuple[int, int]]:
    for disk in lab[1].memory.values():
        if disk.exists("orders-0/leader-epoch-checkpoint"):
            return parse_leader_epochs(disk.read_file("orders-0/leader-epoch-checkpoint"))
    return []


async def test_a_leader_epoch_is_written_when_it_begins(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    await alone.elect(ORDERS, 1, [1])
    await asyncio.sleep(0)
    assert epochs_on_disk(alone) == [(0, 0), (1, 1)]


async def test_appends_on_their_way_do_not_count_after_a_truncation(alone: Lab) -> None:
    await alone.create(replicas=[1])
    for value in "ab":
        await alone[1].produce(value)
    node, replica = alone[1], alone[1].replica()
    late = alone.begin(node.produce("late", acks=0))
    await asyncio.sleep(0)
    assert replica.partition.next_offset == 3
    await node.logs.truncate(replica, 1)
    await late
    partition = replica.partition
    assert (partition.next_offset, partition.log_end_offset, replica.log.files.log_end_offset) == (
        1,
        1,
        1,
    )


async def test_a_truncated_log_goes_on_at_its_new_end(alone: Lab) -> None:
    await alone.create(replicas=[1])
    for value in "abc":
        await alone[1].produce(value)
    await alone[1].logs.truncate(alone[1].replica(), 1)
    assert (await alone[1].produce("d")).base_offset == 1
    assert offsets_of(await alone[1].fetch(0)) == [0, 1]


async def test_a_restarted_log_is_empty_and_has_no_epochs(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    await alone[1].logs.restart_at(alone[1].replica(), 40)
    partition = alone[1].replica().partition
    assert (partition.log_start_offset, partition.next_offset) == (40, 40)
    assert alone[1].replica().log.files.log_start_offset == 40
    assert epochs_on_disk(alone) == []


async def test_the_log_start_follows_the_leaders_as_far_as_the_log_goes(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b", "c"])
    replica = alone[1].replica()
    alone[1].logs.raise_log_start(replica, 2)
    alone[1].logs.raise_log_start(replica, 1)
    assert replica.partition.log_start_offset == 2
    alone[1].logs.raise_log_start(replica, 99)
    await asyncio.sleep(0)
    assert replica.partition.log_start_offset == 3


async def test_a_cut_brings_back_the_producers_as_they_were(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    for sequence in range(3):
        await write(node, 1, sequence)
    await end(node, 1, commit=True, epoch=1)
    replica = node.replica()
    await node.logs.truncate(replica, 3)
    assert replica.log.unwritable is None
    assert await last_stable_offset(node) == 0
    assert (await write(node, 1, 1)).base_offset == 1
    assert (await write(node, 1, 3)).base_offset == 3


async def test_producers_wait_until_a_cut_log_was_read_again(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    await write(node, 1, 0)
    await write(node, 1, 0, epoch=1)
    cut = node.logs.truncate(node.replica(), 1)
    written = alone.begin(write(node, 1, 1, epoch=0))
    await cut
    assert (await written).base_offset == 1


async def test_a_produce_that_comes_the_moment_a_cut_is_over_holds_up_nobody(alone: Lab) -> None:
    """It asked for a cut that was done, whose end nobody had seen yet, for ever."""
    await alone.create(replicas=[1])
    node = alone[1]
    await write(node, 1, 0)
    await write(node, 1, 0, epoch=1)
    replica = node.replica()
    cut = node.logs.truncate(replica, 1)
    while not cut.done():  # noqa: ASYNC110 -- an event would come a turn too late
        await asyncio.sleep(0)
    assert replica.log.unwritable is not None
    assert not replica.log.unwritable.done(), "the next produce would never let anything else run"
    assert (await write(node, 1, 1, epoch=0)).base_offset == 1
    assert replica.log.unwritable is None


async def test_a_produce_goes_on_when_its_log_dir_fails_while_it_is_cut(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    await write(node, 1, 0)
    replica = node.replica()
    cut = node.logs.truncate(replica, 0)
    written = alone.begin(write(node, 1, 1))
    await asyncio.sleep(0)
    replica.log.dir.fail("truncate", OSError("gone"))
    assert cut.exception() is not None
    assert (await written).error_code == ErrorCode.KAFKA_STORAGE_ERROR


async def test_who_finds_the_future_log_of_a_move_on_disk_knows_whose_it_is(alone: Lab) -> None:
    """By its name alone it could be of a topic that was deleted since and made anew."""
    node = stopped(await filled(alone))
    path = node.paths[1]
    await begin(node, path)
    (name,) = names(node, path)
    written = node.memory[path].read_file(f"{name}/partition.metadata").decode()
    assert f"topic_id: {uuid_text(topic_id_of('orders'))}" in written.splitlines()


async def test_epochs_that_change_while_a_log_is_promoted_are_written_afterwards(
    alone: Lab,
) -> None:
    """What stands there already is not written again."""
    node = await filled(alone)
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    async with asyncio.timeout(60):
        while not future.is_promoting:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0)
    node.logs.raise_log_start(node.replica(), 15)
    await until_moved(node, node.paths[1])
    await asyncio.sleep(0)
    assert epochs_on_disk(alone) == [(0, 15)]


async def test_producers_fetched_while_the_log_is_still_being_cut_stay_known(lab: Lab) -> None:
    """A new leader epoch begins to fetch at once; the cut of the one before is not over."""
    await lab.create()
    for sequence in range(3):
        await write(lab[1], 1, sequence)
    follower, replica = lab[2], lab[2].replica()
    follower.workers[replica.log_dir].delay_s = 1.0
    follower.logs.truncate(replica, 1)
    follower.following.follow(replica)
    async with asyncio.timeout(60):
        while replica.partition.log_end_offset < 3:  # noqa: ASYNC110 -- virtual time
            await asyncio.sleep(0.1)
    known = replica.partition.producers.states.snapshot_entries()
    assert known == lab[1].replica().partition.producers.states.snapshot_entries()


async def test_what_is_deleted_during_a_promotion_counts_once_both_log_dirs_have_it(
    alone: Lab,
) -> None:
    """From the first rename on a start after a power cut takes the promoted log."""
    node = await held(alone)
    replica, future, target = node.replica(), node.replica().future, node.paths[1]
    assert future is not None
    node.workers[target].delay_s = 0.1
    let_go(node)
    while not future.is_promoting:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    node.logs.raise_log_start(replica, 7)
    while replica.log_start_write is not None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    for path in node.paths[:2]:
        written = parse_offsets(node.memory[path].read_file(LOG_START_OFFSET_CHECKPOINT))
        assert written == {ORDERS: 7}


async def test_a_future_log_that_starts_later_has_its_replica_start_there(alone: Lab) -> None:
    """As after a kill when only the destination had written its checkpoint of log starts."""
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    assert future.log is not None
    let_go(node)
    while copied(future).log_end_offset < 20:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    future.log.files.raise_log_start_offset(7)
    await until_moved(node, node.paths[1])
    assert (
        node.replica().partition.log_start_offset == node.replica().log.files.log_start_offset == 7
    )
    assert (await node.fetch(6)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets_of(await node.fetch(7))[0] == 7


async def test_a_deletion_under_way_when_the_logs_change_places_waits_for_the_new_one_alone(
    alone: Lab,
) -> None:
    """The old log dir may be slow, or fail: what it has written counts no more."""
    node = await held(alone)
    replica, future = node.replica(), node.replica().future
    assert future is not None
    let_go(node)
    while not future.is_promoting:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0)
    node.workers[node.paths[0]].delay_s = 5
    node.logs.raise_log_start(replica, 7)
    begun_s = asyncio.get_running_loop().time()
    while replica.log_start_write is not None:  # noqa: ASYNC110 -- virtual time
        await asyncio.sleep(0.001)
    assert asyncio.get_running_loop().time() - begun_s < 1
    assert (replica.log.dir.path, replica.low_watermark) == (node.paths[1], 7)
    written = node.memory[node.paths[1]].read_file(LOG_START_OFFSET_CHECKPOINT)
    assert parse_offsets(written) == {ORDERS: 7}


@pytest.mark.scenario(96)
async def test_the_log_start_moves_along(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    for _ in range(10):
        await node.produce("x")
    node.logs.raise_log_start(node.replica(), 3)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    assert (node.replica().log.files.log_start_offset, await node.log_end()) == (3, 10)


async def test_the_promoted_log_knows_epochs_that_began_without_records(alone: Lab) -> None:
    """Kafka's promoted log only knows the epochs of copied batches."""
    node = await held(alone)
    await alone.elect(ORDERS, 1, [1])
    let_go(node)
    await until_moved(node, node.paths[1])
    await asyncio.sleep(0)
    disk = node.memory[node.paths[1]]
    assert disk.read_file("orders-0/leader-epoch-checkpoint") == b"0\n2\n0 0\n1 20\n"


async def test_a_follower_that_truncates_sends_its_waiting_consumers_to_look_again(
    lab: Lab,
) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(1)
    params = FetchParams(max_wait_ms=5_000, min_bytes=1, leader_only=False)
    waiting = lab.begin(lab[2].engine.fetches.fetch(params, [part(offset=1)]))
    await asyncio.sleep(0)
    await lab[2].logs.truncate(lab[2].replica(), 0)
    assert (await waiting)[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_move_whose_source_is_cut_compares_both_logs_again(alone: Lab) -> None:
    node = await held(alone)
    future = node.replica().future
    assert future is not None
    future.move.state = MoveState.COPYING
    cut = node.logs.truncate(node.replica(), 5)
    assert future.move.state is MoveState.TRUNCATING
    await cut
