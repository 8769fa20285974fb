"""The cleaners in whole brokers: compacted topics, moves, truncation, failure, damage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.core.record_errors import RecordError
from broker.engine.log.cleaning import WRITE_S
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.engine.compacted import (
    active_base,
    compacted,
    consumed,
    dirty,
    fill,
    put,
    until_cleaned,
)
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.node import Node
from tests.broker.engine.transactions import end

OTHER = TopicPartition("other", 0)
BACKOFF_S = 15


@pytest.fixture
async def one() -> AsyncIterator[Lab]:
    """One broker with two log dirs."""
    async with Lab.running(broker_count=1, dir_count=2) as running:
        yield running


async def test_a_compacted_topic_keeps_the_last_value_of_each_key(lab: Lab) -> None:
    await compacted(lab, replicas=[1, 2, 3])
    await fill(lab[1], 60)
    before = {record.offset: record for record in await consumed(lab[1])}
    for broker_id in (1, 2, 3):
        await until_cleaned(lab[broker_id])
    after = {record.offset: record for record in await consumed(lab[1])}
    base = active_base(lab[1])
    last = {record.key: at for at, record in before.items() if at < base}
    assert sorted(after) == sorted([*last.values(), *range(base, 60)])
    assert all(before[at] == record for at, record in after.items())
    assert lab[1].disk_bytes() == lab[2].disk_bytes() == lab[3].disk_bytes()
    middle = await consumed(lab[1], 30)
    assert [one.offset for one in middle] == [at for at in sorted(after) if at >= 30]
    await asyncio.sleep(2)
    files = lab[1].memory[lab[1].replica().log_dir].list_dir(str(ORDERS))
    assert not [name for name in files if name.endswith((".deleted", ".cleaned", ".swap"))]


async def test_a_log_is_as_compacted_after_a_restart(one: Lab) -> None:
    await compacted(one)
    await fill(one[1], 60)
    await until_cleaned(one[1])
    before = await consumed(one[1])
    path = one[1].replica().log_dir
    await one.restart(1)
    await one.tell(ORDERS)
    assert await consumed(one[1]) == before
    assert one[1].state.cleaner_offsets.get(path, ORDERS) == active_base(one[1])


async def test_a_topic_that_is_not_compacted_is_left_alone(one: Lab) -> None:
    await one.create(replicas=[1], segment_bytes="1000")
    await fill(one[1], 60)
    await asyncio.sleep(3 * BACKOFF_S)
    assert len(await consumed(one[1])) == 60


async def test_a_policy_that_changes_takes_effect(one: Lab) -> None:
    await one.create(replicas=[1], segment_bytes="1000")
    await fill(one[1], 60)
    one[1].topic_configs["orders"]["cleanup.policy"] = "compact,delete"
    one[1].engine.topic_configs_changed(["orders"])
    await until_cleaned(one[1])
    assert len(await consumed(one[1])) < 30


async def test_cleaners_can_be_turned_off() -> None:
    async with Lab.running(broker_count=1, dir_count=1, log_cleaner_enable="false") as lab:
        await compacted(lab)
        await fill(lab[1], 60)
        await asyncio.sleep(3 * BACKOFF_S)
        assert len(await consumed(lab[1])) == 60


async def test_a_record_without_a_key_is_refused_on_a_compacted_topic(one: Lab) -> None:
    await compacted(one)
    refused = await one[1].produce("no key")
    assert refused.error_code == ErrorCode.INVALID_RECORD
    text = "Compacted topic cannot accept message without key in topic partition orders-0"
    assert refused.record_errors == (RecordError(0, text),)
    assert text in refused.error_message
    assert (await put(one[1], "k", "v")).base_offset == 0


async def test_the_rate_of_all_cleaners_is_kept() -> None:
    rate = {"log_cleaner_io_max_bytes_per_second": "1000", "log_cleaner_io_buffer_size": "8192"}
    async with Lab.running(broker_count=1, dir_count=1, **rate) as lab:
        await compacted(lab)
        await fill(lab[1], 60)
        size_bytes = lab[1].replica().log.files.size_bytes
        await asyncio.sleep(BACKOFF_S)
        started_s = lab[1].state.loop.time()
        await until_cleaned(lab[1])
        assert lab[1].state.loop.time() - started_s > 2 * (size_bytes - 1000) / 1000 - BACKOFF_S


async def stopped_move(node: Node, path: str) -> None:
    """Begin a move that does not get anywhere."""
    node.set_move_limit(1)
    node.state.quotas.moves.record(1 << 40, node.state.now_ms())
    answers = await node.engine.moves.alter([(ORDERS, path)])
    assert answers == {ORDERS: ErrorCode.NONE}


@pytest.mark.kafka_bug("KAFKA-14824")
@pytest.mark.scenario(219)
async def test_a_moving_log_is_not_compacted_and_is_again_when_the_move_is_cancelled(
    one: Lab,
) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 60)
    await stopped_move(node, node.paths[1])
    assert node.state.cleaning_pauses.count(ORDERS) == 1
    await one.elect(ORDERS, 1, [1])
    assert node.state.cleaning_pauses.count(ORDERS) == 1
    await asyncio.sleep(3 * BACKOFF_S)
    assert len(await consumed(node)) == 60
    await node.engine.moves.alter([(ORDERS, node.paths[0])])
    assert node.state.cleaning_pauses.count(ORDERS) == 0
    await until_cleaned(node)
    await stopped_move(node, node.paths[1])
    node.set_move_limit(2**63 - 1)
    await moved(node, node.paths[1])
    assert node.state.cleaning_pauses.count(ORDERS) == 0


async def moved(node: Node, path: str) -> None:
    async with asyncio.timeout(60):
        while await node.dir_of() != path or await node.dir_of(is_future=True):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.scenario(150)
async def test_a_moved_log_has_the_same_gaps_and_goes_on_where_its_cleaning_was(one: Lab) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 60)
    await until_cleaned(node)
    before, cleaned_to = await consumed(node), active_base(node)
    await node.engine.moves.alter([(ORDERS, node.paths[1])])
    await moved(node, node.paths[1])
    assert await consumed(node) == before
    assert node.state.cleaner_offsets.get(node.paths[1], ORDERS) == cleaned_to
    await asyncio.sleep(WRITE_S)
    assert [dirty(node, path) for path in node.paths] == [None, cleaned_to]
    await fill(node, 60)
    await until_cleaned(node)


async def test_a_pass_is_given_up_when_its_log_moves() -> None:
    rate = {"log_cleaner_io_max_bytes_per_second": "100", "log_cleaner_io_buffer_size": "8192"}
    async with Lab.running(broker_count=1, dir_count=2, **rate) as lab:
        await compacted(lab)
        node = lab[1]
        await fill(node, 120)
        before = await consumed(node)
        await asyncio.sleep(BACKOFF_S)
        await node.engine.moves.alter([(ORDERS, node.paths[1])])
        await moved(node, node.paths[1])
        assert await consumed(node) == before
        await asyncio.sleep(5)
        source = node.memory[node.paths[0]]
        assert not [name for name in source.list_dir("") if source.is_dir(name)]


async def test_a_pass_goes_no_further_once_its_log_begins_to_move() -> None:
    rate = {"log_cleaner_io_max_bytes_per_second": "100", "log_cleaner_io_buffer_size": "8192"}
    async with Lab.running(broker_count=1, dir_count=2, **rate) as lab:
        await compacted(lab)
        node = lab[1]
        await fill(node, 120)
        await asyncio.sleep(BACKOFF_S + 1)
        await stopped_move(node, node.paths[1])
        await asyncio.sleep(1)
        files = node.replica().log.files
        before = files.size_bytes
        await asyncio.sleep(600)
        assert files.size_bytes == before
        assert node.state.cleaner_offsets.get(node.paths[0], ORDERS) in {None, 0}


@pytest.mark.kafka_bug("KAFKA-8362")
@pytest.mark.scenario(217)
async def test_the_checkpoint_follows_what_happens_to_its_log(one: Lab) -> None:
    node = one[1]
    await compacted(one)
    await compacted(one, OTHER)
    await fill(node, 60)
    await until_cleaned(node)
    cleaned_to = active_base(node)
    first, second = node.paths
    await node.engine.moves.alter([(ORDERS, second)])
    await moved(node, second)
    await asyncio.sleep(WRITE_S)
    assert [dirty(node, path) for path in node.paths] == [None, cleaned_to]

    await node.logs.truncate(node.replica(), 20)
    await asyncio.sleep(WRITE_S)
    assert dirty(node, second) == 20

    node.state.cleaner_offsets.put(second, ORDERS, 10**6)
    await fill(node, 60)
    await until_cleaned(node)

    node.state.cleaner_offsets.mark_uncleanable(second, OTHER)
    assert node.replica(OTHER).log_dir == second
    await fill(node, 60, OTHER)
    await asyncio.sleep(2 * BACKOFF_S)
    assert len(await consumed(node, tp=OTHER)) == 60

    node.log_dirs[second].fail("test", OSError(5, "broken"))
    assert node.state.cleaner_offsets.offsets_of(second) == {}
    assert node.state.cleaner_offsets.uncleanable(second) == ()
    assert node.state.cleaner_offsets.offsets_of(first) == {}


@pytest.mark.scenario(70)
async def test_a_failed_log_dir_takes_its_entries_and_marks_along(one: Lab) -> None:
    node = one[1]
    await compacted(one)
    await fill(node, 60)
    await until_cleaned(node)
    path = node.replica().log_dir
    node.state.cleaner_offsets.mark_uncleanable(path, ORDERS)
    assert node.engine.cleaning.gauges()[path].uncleanable_count == 1
    node.log_dirs[path].fail("test", OSError(5, "broken"))
    assert node.state.cleaner_offsets.offsets_of(path) == {}
    assert node.engine.cleaning.gauges()[path].uncleanable_count == 0


@pytest.mark.scenario(144)
async def test_a_topic_deleted_while_it_moves_leaves_nothing_behind(one: Lab) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 60)
    await until_cleaned(node)
    await stopped_move(node, node.paths[1])
    assert await one.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    for path in node.paths:
        (left,) = [name for name in node.memory[path].list_dir("") if "orders" in name]
        assert left.endswith("-delete")
    assert node.state.cleaning_pauses.count(ORDERS) == 0
    assert node.moves.active_count == 0
    assert node.state.orphan_future_logs == {}
    assert [node.state.cleaner_offsets.get(path, ORDERS) for path in node.paths] == [None, None]


async def test_a_deleted_log_leaves_no_entry(one: Lab) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 60)
    await until_cleaned(node)
    path = node.replica().log_dir
    assert await one.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    await asyncio.sleep(WRITE_S)
    assert dirty(node, path) is None


@pytest.mark.scenario(71)
async def test_a_disk_that_fails_a_cleaner_is_offline_and_other_cleaners_go_on(one: Lab) -> None:
    await compacted(one)
    await compacted(one, OTHER)
    node = one[1]
    assert node.replica(OTHER).log_dir != node.replica().log_dir
    await fill(node, 60)
    await fill(node, 60, OTHER)
    path = node.replica().log_dir
    node.disks[path].set_fault("eio")
    await until_cleaned(node, OTHER)
    assert not node.log_dirs[path].is_online
    assert node.state.hosted.is_offline(ORDERS)


def damage(node: Node, tp: TopicPartition = ORDERS) -> None:
    replica = node.replica(tp)
    name = replica.log.files.segments[1].files.name(".log")
    disk = node.memory[replica.log_dir]
    data = bytearray(disk.read_file(name))
    data[70] ^= 1
    disk.write_file(name, data)


@pytest.mark.kafka_bug("KAFKA-7215", "KAFKA-8725")
@pytest.mark.scenario(218)
async def test_a_log_that_cannot_be_read_is_marked_and_the_cleaner_lives(one: Lab) -> None:
    third = TopicPartition("third", 0)
    node = one[1]
    for tp in (ORDERS, OTHER, third):
        await compacted(one, tp)
        await fill(node, 60, tp)
    assert node.replica(third).log_dir == node.replica().log_dir
    damage(node)
    await until_cleaned(node, third)
    await asyncio.sleep(2 * BACKOFF_S)
    path = node.replica().log_dir
    assert node.log_dirs[path].is_online
    gauges = node.engine.cleaning.gauges()
    assert gauges[path].uncleanable_count == 1
    assert gauges[path].uncleanable_bytes == node.replica().log.files.size_bytes
    assert gauges[node.replica(OTHER).log_dir].uncleanable_count == 0
    assert 0 <= gauges[path].since_last_run_ms <= BACKOFF_S * 1000
    await fill(node, 60, third)
    await until_cleaned(node, third)


async def test_a_pass_is_given_up_when_its_log_is_truncated() -> None:
    rate = {"log_cleaner_io_max_bytes_per_second": "100", "log_cleaner_io_buffer_size": "8192"}
    async with Lab.running(broker_count=1, dir_count=1, **rate) as lab:
        await compacted(lab)
        node = lab[1]
        await fill(node, 120)
        await asyncio.sleep(BACKOFF_S + 1)
        path = node.replica().log_dir
        await node.logs.truncate(node.replica(), 30)
        kept = await consumed(node)
        assert [record.offset for record in kept] == list(range(30))
        await asyncio.sleep(BACKOFF_S)
        assert node.state.cleaner_offsets.get(path, ORDERS) in {None, 0}
        await fill(node, 30)
        await until_cleaned(node)


async def test_an_open_transaction_holds_compaction_back(one: Lab) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 30)
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    part = ProducePart(ORDERS, memoryview(build_batch([NewRecord(b"v", b"open")], options)))
    (opened,) = await node.engine.produces.produce([part], acks=-1, timeout_ms=5_000)
    assert opened.base_offset == 30
    await fill(node, 60)
    await asyncio.sleep(3 * BACKOFF_S)
    cleaned_to = node.state.cleaner_offsets.get(node.replica().log_dir, ORDERS)
    assert cleaned_to is not None
    assert 20 < cleaned_to <= 30
    assert len(await consumed(node, 30)) == 61
    assert (await end(node, 7, commit=False)).error_code == ErrorCode.NONE
    await fill(node, 30)
    await until_cleaned(node)
    assert b"open" not in [record.key for record in await consumed(node)]


async def test_the_dirtiest_share_is_told(one: Lab) -> None:
    await compacted(one, min_cleanable_dirty_ratio="1")
    node = one[1]
    await fill(node, 60)
    await asyncio.sleep(BACKOFF_S + 1)
    assert node.engine.cleaning.gauges()[node.replica().log_dir].dirty_percent_max == 100
    assert len(await consumed(node)) == 60


async def test_appends_go_on_during_a_pass(one: Lab) -> None:
    await compacted(one)
    node = one[1]
    await fill(node, 60)
    for number in range(400):
        assert (await put(node, "late", f"{number:040d}")).error_code == ErrorCode.NONE
        await asyncio.sleep(0.1)
    records = await consumed(node)
    assert records[-1].value == b"%040d" % 399
    assert len(records) < 200
