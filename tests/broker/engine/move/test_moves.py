"""Moves between log dirs: begin, change, cancel, resume, and every way in which they end."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import MoveState
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.moved import (
    abandoned,
    begin,
    filled,
    folders,
    move_rows,
    names,
    stopped,
    until_in_sync,
    until_moved,
)

NONE = ErrorCode.NONE


@pytest.mark.scenario(92, 124)
async def test_a_replica_moves_with_all_its_records(alone: Lab) -> None:
    node = await filled(alone)
    before = node.disk_bytes()
    assert await begin(node, node.paths[1]) == NONE
    await until_moved(node, node.paths[1])
    assert node.disk_bytes() == before
    assert offsets_of(await node.fetch(0)) == list(range(20))
    (old,) = names(node, node.paths[0])
    assert old.startswith("orders-0.")
    assert old.endswith("-delete")
    assert names(node, node.paths[1]) == ["orders-0"]
    states = [row.state for row in move_rows(node)]
    assert (states[0], states[-1]) == (MoveState.COPYING, MoveState.DONE)
    assert move_rows(node)[-1].copied_bytes == len(before)


@pytest.mark.scenario(95, 140)
async def test_producing_goes_on_during_a_move_and_nothing_is_lost(lab: Lab) -> None:
    node = await filled(lab)
    results: list[ErrorCode] = []
    stop = asyncio.Event()

    async def load(name: str) -> None:
        while not stop.is_set():
            results.append((await node.produce(name * 100, timeout_ms=5_000)).error_code)

    loads = [lab.begin(load(name)) for name in "abcd"]
    await asyncio.sleep(0.05)
    assert await begin(node, node.paths[1]) == NONE
    await until_moved(node, node.paths[1])
    await asyncio.sleep(0.05)
    stop.set()
    await asyncio.gather(*loads)
    assert set(results) == {NONE}
    count = 20 + len(results)
    assert offsets_of(await node.fetch(0, max_bytes=1 << 24)) == list(range(count))
    await asyncio.sleep(1)
    assert node.disk_bytes() == lab[2].disk_bytes()


@pytest.mark.scenario(95)
async def test_a_followers_replica_moves_while_it_follows(lab: Lab) -> None:
    await filled(lab)
    node = lab[2]
    target = next(path for path in node.paths if path != node.paths[0])
    assert await begin(node, target) == NONE
    for number in range(20):
        assert (await lab[1].produce(str(number))).error_code == NONE
    await until_moved(node, target)
    assert (await lab[1].produce("after")).error_code == NONE
    assert node.disk_bytes() == lab[1].disk_bytes()


@pytest.mark.scenario(99)
async def test_the_same_request_twice_is_one_move(alone: Lab) -> None:
    node = stopped(await filled(alone))
    assert [await begin(node, node.paths[1]) for _ in range(2)] == [NONE, NONE]
    assert len(names(node, node.paths[1])) == 1
    assert node.state.cleaning_pauses.count(ORDERS) == 1


@pytest.mark.scenario(100)
async def test_the_dir_a_replica_is_in_already_starts_nothing(alone: Lab) -> None:
    node = await filled(alone)
    assert await begin(node, node.paths[0]) == NONE
    assert names(node, node.paths[0]) == ["orders-0"]
    assert not move_rows(node)


@pytest.mark.scenario(101)
async def test_another_destination_starts_anew(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    assert await begin(node, node.paths[2]) == NONE
    (left,) = names(node, node.paths[1])
    assert left.endswith("-delete")
    node.set_move_limit(2**63 - 1)
    await until_moved(node, node.paths[2])
    assert node.state.cleaning_pauses.count(ORDERS) == 0


@pytest.mark.kafka_bug("KAFKA-16114")
@pytest.mark.scenario(102)
async def test_a_cancelled_move_leaves_no_future_log_and_no_pause(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    assert await begin(node, node.paths[0]) == NONE
    assert await node.dir_of(is_future=True) is None
    assert node.state.cleaning_pauses.count(ORDERS) == 0
    assert move_rows(node)[-1].state is MoveState.CANCELLED
    await asyncio.sleep(61)
    assert names(node, node.paths[1]) == []


async def test_a_move_that_is_cancelled_before_its_log_is_made_leaves_no_wish(alone: Lab) -> None:
    node = await filled(alone)
    node.workers[node.paths[1]].delay_s = 0.1
    beginning = alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.05)
    assert await begin(node, node.paths[0]) == NONE
    assert await beginning == NONE
    assert node.state.log_dir_states.preferred(ORDERS) is None
    assert await node.dir_of() == node.paths[0]
    assert node.state.log_dir_states.log_count(node.paths[1]) == 0


@pytest.mark.scenario(103)
async def test_of_two_paths_for_one_partition_the_last_one_counts(alone: Lab) -> None:
    node = stopped(await filled(alone))
    wishes = [(ORDERS, path) for path in node.paths[1:]]
    assert await node.engine.moves.alter(wishes) == {ORDERS: NONE}
    assert await node.dir_of(is_future=True) == node.paths[2]


@pytest.mark.scenario(91, 93, 105)
async def test_a_wish_before_creation_is_remembered(alone: Lab) -> None:
    node = alone[1]
    assert await begin(node, node.paths[2]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await begin(node, "/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    await alone.create(replicas=[1])
    assert await node.dir_of() == node.paths[2]


@pytest.mark.scenario(117)
async def test_a_move_under_way_shows_both_logs(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    source, target, _ = node.engine.describe.log_dirs(None)
    (current,), (future,) = source.replicas, target.replicas
    assert (current.is_future, current.offset_lag) == (False, 0)
    assert (future.is_future, future.offset_lag, future.size_bytes) == (True, 20, 0)


@pytest.mark.kafka_bug("KAFKA-15082")
@pytest.mark.scenario(118, 148)
async def test_a_destination_that_fails_ends_the_move_and_nothing_else(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    node.log_dirs[node.paths[1]].fail("append", OSError("broken"))
    assert (await node.produce("a")).error_code == NONE
    assert await node.dir_of(is_future=True) is None
    assert node.state.cleaning_pauses.count(ORDERS) == 0
    refused = await begin(node, node.paths[2])
    assert refused == ErrorCode.KAFKA_STORAGE_ERROR, "no move starts while a log dir is offline"


async def test_a_destination_that_breaks_while_it_is_written_to(alone: Lab) -> None:
    node = await filled(alone)
    node.disks[node.paths[1]].set_fault("eio")
    assert await begin(node, node.paths[1]) == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await node.produce("a")).error_code == NONE
    assert node.engine.gauges().move_count == 0


@pytest.mark.scenario(141, 142)
async def test_a_move_goes_on_under_a_new_leader_and_a_truncated_source(lab: Lab) -> None:
    await filled(lab)
    for cut_off in (2, 3):
        lab[cut_off].is_reachable = False
    for number in range(5):
        await lab[1].produce(f"lost-{number}", acks=1)
    node = stopped(lab[1])
    target = node.paths[1]
    await begin(node, target)
    node.set_move_limit(2**63 - 1)
    replica = node.replica(ORDERS)
    node.set_move_limit(1)
    lab[1].is_reachable = False
    lab[2].is_reachable = lab[3].is_reachable = True
    await lab.elect(ORDERS, 2, [2, 3])
    assert (await lab[2].produce("new")).error_code == NONE
    lab[1].is_reachable = True
    await lab.tell(ORDERS, to=[1])
    assert replica.future is not None
    assert replica.future.move.leader_epoch == 1
    node.set_move_limit(2**63 - 1)
    await until_moved(node, target)
    await asyncio.sleep(1)
    assert node.disk_bytes() == lab[2].disk_bytes()


@pytest.mark.scenario(144, 145)
async def test_a_deleted_topic_takes_both_logs_along(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    left = [name.endswith("-delete") for path in node.paths[:2] for name in names(node, path)]
    assert left == [True, True]
    assert node.engine.gauges().move_count == 0
    assert node.state.cleaning_pauses.count(ORDERS) == 0


async def test_a_future_log_of_no_replica_here_goes_once_metadata_tells_so(alone: Lab) -> None:
    await begin(stopped(await filled(alone)), alone[1].paths[1])
    del alone.led[ORDERS]
    node = await alone.restart(1)
    await asyncio.sleep(0.1)
    assert [name.endswith("-delete") for name in names(node, node.paths[1])] == [True]


@pytest.mark.scenario(146, 149)
@pytest.mark.parametrize("is_clean", [True, False])
async def test_a_move_goes_on_after_a_restart(is_clean: bool) -> None:
    async with Lab.running(broker_count=1, dir_count=3, replica_fetch_max_bytes="1024") as alone:
        node = await filled(alone, count=30)
        node.set_move_limit(1)
        await begin(node, node.paths[1])
        await asyncio.sleep(0.01)
        node = await alone.restart(1, is_clean=is_clean)
        node.topic_configs["orders"] = {"segment.bytes": "2048"}
        assert await node.dir_of(is_future=True) == node.paths[1]
        (future,) = (node.engine.describe.log_dirs(None))[1].replicas
        assert 0 < future.size_bytes < 2_000, "it resumes behind what was copied"
        await alone.elect(ORDERS, 1, [1])
        await until_moved(node, node.paths[1])
        assert offsets_of(await node.fetch(0)) == list(range(30))
        assert node.state.log_dir_states.log_count(node.paths[0]) == 0
        assert node.replica().log.files.config.segment_bytes == 2048


@pytest.mark.parametrize(
    ("at", "damage", "reason"),
    [
        (3000, bytes(400), ""),
        (2, b"\1", ": offsets 1099511627776 to"),
        (15, b"\1", ": leader epoch 1 at offset 0, expected 0"),
    ],
    ids=["behind whole batches", "base offset", "leader epoch"],
)
async def test_a_source_with_damage_holds_up_no_other_move(
    caplog: pytest.LogCaptureFixture, at: int, damage: bytes, reason: str
) -> None:
    """Its move pauses, is tried again after each back-off and ends when the bytes are back."""
    config = {"replica_fetch_max_bytes": "2048", "num_replica_alter_log_dirs_threads": "1"}
    async with Lab.running(broker_count=1, dir_count=2, **config) as lab:
        node, other = await filled(lab), TopicPartition("orders", 1)
        await lab.create(other, replicas=[1])
        await lab.create(TopicPartition("orders", 2), replicas=[1])
        source, name = node.memory[node.paths[0]], "orders-0/00000000000000000000.log"
        content = source.read_file(name)
        source.write_file(name, content[:at] + damage + content[at + len(damage) :])
        wishes = [(ORDERS, node.paths[1]), (other, node.paths[0])]
        assert set((await node.engine.moves.alter(wishes)).values()) == {NONE}
        await until_moved(node, node.paths[0], other)
        await asyncio.sleep(5)
        assert await node.dir_of(is_future=True) == node.paths[1]
        assert f"move of orders-0 pauses: CORRUPT_MESSAGE{reason}" in caplog.text
        assert "begins again" not in caplog.text
        source.write_file(name, content)
        await until_moved(node, node.paths[1])


async def test_the_end_of_the_last_move_is_told_whatever_way_it_ends(alone: Lab) -> None:
    node = await filled(alone)
    assert await begin(node, node.paths[1]) == NONE
    assert node.engine.state.is_moving
    await until_moved(node, node.paths[1])
    assert (node.engine.state.is_moving, node.events.moves_ended_count) == (False, 1)
    stopped(node)
    assert await begin(node, node.paths[2]) == NONE
    assert await begin(node, node.paths[1]) == NONE
    assert (node.engine.state.is_moving, node.events.moves_ended_count) == (False, 2)


async def test_an_order_that_leaves_nothing_to_move_is_told_as_the_end_of_moves(
    alone: Lab,
) -> None:
    """Kafka's tool has set a throttle for it, which goes then."""
    node = await filled(alone)
    assert await begin(node, await node.dir_of() or "") == NONE
    assert (node.engine.state.is_moving, node.events.moves_ended_count) == (False, 1)
    assert await begin(node, "/elsewhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert node.events.moves_ended_count == 1


async def test_a_replica_that_comes_to_where_it_was_wished_is_told_as_the_end_of_moves(
    alone: Lab,
) -> None:
    node, tp = alone[1], TopicPartition("wished", 0)
    wished = await node.engine.moves.alter([(tp, node.paths[2])])
    assert wished == {tp: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert node.events.moves_ended_count == 0
    await alone.create(tp, replicas=[1])
    assert await node.dir_of(tp) == node.paths[2]
    assert node.events.moves_ended_count == 1
    await alone.create(TopicPartition("other", 0), replicas=[1])
    assert node.events.moves_ended_count == 1


async def test_under_a_limit_a_step_copies_no_more_than_a_burst(alone: Lab) -> None:
    node = await filled(alone, count=60)
    node.set_move_limit(4_000)
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    await asyncio.sleep(0.05)
    assert 0 < future.copied_bytes <= node.state.quotas.moves.burst_bytes


async def test_moves_are_counted_with_their_bytes_and_by_how_they_end(alone: Lab) -> None:
    node = await filled(alone)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    counters = node.metrics.counters
    assert counters.moves_done.value == 1
    assert counters.move_bytes.value == len(node.disk_bytes())
    stopped(node)
    await begin(node, node.paths[0])
    await begin(node, node.paths[1])
    assert counters.moves_failed.value == 0, "it was cancelled"
    await begin(node, node.paths[0])
    node.log_dirs[node.paths[0]].fail("append", OSError("broken"))
    assert (counters.moves_done.value, counters.moves_failed.value) == (1, 1)


async def test_a_move_that_stays_as_it_is_writes_a_row_twice_a_second(alone: Lab) -> None:
    node = await filled(alone, count=60)
    node.set_move_limit(2_000)
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    first, *times_ms = [row.at_ms for row in move_rows(node) if row.state is MoveState.COPYING]
    pauses_ms = [later - at for at, later in pairwise(times_ms)]
    assert len(pauses_ms) > 3
    assert 500 <= min(pauses_ms) <= max(pauses_ms) < 1_000
    assert first == times_ms[0], "to cut and to copy are two states"


@pytest.mark.kafka_bug("KAFKA-16082")
async def test_a_replica_made_anew_where_its_future_log_lies_needs_no_move(lab: Lab) -> None:
    node = await abandoned(lab)
    target = await node.dir_of(is_future=True)
    node.state.log_dir_states.cordon([path for path in node.paths if path != target])

    await until_in_sync(lab, node)
    await asyncio.sleep(node.config.log_segment_delete_delay_ms / 1000 + 1)

    assert await node.dir_of() == target
    assert folders(node) == {target: ["orders-0"]}
    assert node.disk_bytes() == lab[1].disk_bytes()
    assert node.events.failed == []


@pytest.mark.scenario(233)
async def test_a_future_log_without_its_source_ends_as_the_replica(lab: Lab) -> None:
    """KRaft promotes it at the start; here the replica is made anew and goes there."""
    node = await abandoned(lab)
    target = await node.dir_of(is_future=True)

    await until_in_sync(lab, node)
    await asyncio.sleep(node.config.log_segment_delete_delay_ms / 1000 + 1)

    assert await node.dir_of() == target
    assert folders(node) == {target: ["orders-0"]}
    assert node.disk_bytes() == lab[1].disk_bytes()


async def test_moves_that_are_stopped_leave_their_future_logs_to_the_next_start(alone: Lab) -> None:
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    node.moves.stop()
    node.set_move_limit(2**63 - 1)
    await asyncio.sleep(5)
    assert await node.dir_of(is_future=True) == node.paths[1]
