"""A hosted replica: its settings, whom it wakes, and what of it is stable."""

from __future__ import annotations

import asyncio

from broker.core.delayed import DelayedFetch, DelayedProduce
from broker.core.hosted import Role
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.moved import begin, filled, hold
from tests.broker.engine.transactions import (
    aborted_of,
    end,
    last_stable_offset,
    read,
    three_transactions,
    write,
)


class Calls:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *_: object) -> None:
        self.count += 1


async def test_settings_reach_limits_partition_and_log(alone: Lab) -> None:
    await alone.create(
        replicas=[1],
        message_timestamp_type="LogAppendTime",
        min_insync_replicas="3",
        segment_bytes="2000",
        file_delete_delay_ms="7",
    )
    replica = alone[1].replica()
    assert replica.limits.is_log_append_time
    assert replica.partition.min_insync_replicas == 3
    assert replica.log.files.config.segment_bytes == 2_000
    assert replica.delete_delay_ms == 7
    assert (replica.compaction, replica.limits.requires_keys) == (None, False)


async def test_a_compacted_topic_has_its_rules_and_wants_keys(alone: Lab) -> None:
    await alone.create(
        replicas=[1], cleanup_policy="compact,delete", min_cleanable_dirty_ratio="0.25"
    )
    replica = alone[1].replica()
    assert replica.compaction is not None
    assert replica.compaction.min_cleanable_dirty_ratio == 0.25
    assert replica.limits.requires_keys


async def test_a_topic_says_which_of_its_replicas_are_throttled(lab: Lab) -> None:
    await lab.create(
        leader_replication_throttled_replicas="*",
        follower_replication_throttled_replicas="0:2,1:1,0:3",
    )
    flags = [
        (node.replica().is_leader_throttled, node.replica().is_follower_throttled)
        for node in lab.nodes.values()
    ]
    assert flags == [(True, False), (True, True), (True, True)]


async def test_an_ended_replica_answers_all_and_keeps_no_batches(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    replica = alone[1].replica()
    woken = Calls()
    produces = [DelayedProduce(1, Calls()) for _ in range(2)]
    replica.written.add(9, produces[0], 0)
    replica.replicated.add(9, produces[1], 0)
    replica.consumers.add(DelayedFetch(woken), 0)
    replica.followers.add(DelayedFetch(woken), 0)
    token = replica.log.token
    replica.end(ErrorCode.KAFKA_STORAGE_ERROR)
    assert [delayed.codes for delayed in produces] == [[ErrorCode.KAFKA_STORAGE_ERROR]] * 2
    assert (woken.count, replica.tail.size_bytes) == (2, 0)
    assert not replica.log.is_still(token)


async def test_a_raised_high_watermark_settles_what_it_reaches(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    reached, waits = DelayedProduce(1, Calls()), DelayedProduce(1, Calls())
    replica.replicated.add(3, reached, 0)
    replica.replicated.add(4, waits, 0)
    replica.partition.high_watermark = 3
    replica.on_high_watermark()
    assert (reached.codes, waits.codes) == ([ErrorCode.NONE], [None])


async def test_a_log_start_is_told_on_once_it_is_written_down_and_not_for_an_older_one(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    told = replica.tell_log_start = Calls()
    older, newer, failed = (asyncio.get_running_loop().create_future() for _ in range(3))
    replica.log_start_rose(0, older)
    replica.log_start_rose(0, newer)
    older.set_result(True)
    await asyncio.sleep(0)
    assert (told.count, replica.kept_log_start, replica.log_start_write) == (0, 0, newer)
    newer.set_result(True)
    await asyncio.sleep(0)
    assert (told.count, replica.log_start_write) == (1, None)
    replica.log_start_rose(0, failed)
    failed.set_result(False)
    await asyncio.sleep(0)
    assert (told.count, replica.log_start_write) == (1, failed)


async def test_who_waits_for_a_deletion_hears_of_it_when_a_power_cut_does_not_undo_it(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b"])
    loop, replica, defects = asyncio.get_running_loop(), alone[1].replica(), Calls()
    loop.set_exception_handler(defects)
    waits = DelayedProduce(1, Calls())
    replica.deleted.add(1, waits, 0)
    alone[1].workers[replica.log_dir].delay_s = 1
    alone[1].logs.raise_log_start(replica, 1)
    await asyncio.sleep(0)
    assert (replica.low_watermark, waits.codes) == (0, [None])
    await asyncio.sleep(5)
    assert (replica.low_watermark, waits.codes) == (1, [ErrorCode.NONE])
    assert defects.count == 0, "a leader tells nobody"


async def test_it_says_where_its_logs_are(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    assert (replica.log_dir, replica.future_log_dir, replica.leader_epoch) == (
        alone[1].paths[0],
        None,
        0,
    )
    assert replica.partition.is_settled


async def test_open_transactions_hold_committed_readers_back(lab: Lab) -> None:
    await lab.create()
    await three_transactions(lab[1])
    result = await read(lab[1])
    assert offsets_of(result) == [0, 1, 2, 3, 4, 5]
    assert (result.high_watermark, result.last_stable_offset) == (8, 6)
    assert aborted_of(result) == [(1, 0)]
    everything = await lab[1].fetch(0)
    assert offsets_of(everything) == list(range(8))
    assert everything.aborted is None
    assert everything.last_stable_offset == await last_stable_offset(lab[1]) == 6


async def test_a_reader_is_told_only_of_what_touches_its_records(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await three_transactions(alone[1])
    assert aborted_of(await read(alone[1], 3)) == [(1, 0)]
    assert aborted_of(await read(alone[1], 4)) == []


async def test_a_committed_reader_is_woken_when_the_transaction_ends(lab: Lab) -> None:
    await lab.create()
    await write(lab[1], 1, 0)
    waiting = lab.begin(read(lab[1], max_wait_ms=10_000))
    await write(lab[1], 2, 0)
    await asyncio.sleep(1)
    assert not waiting.done()
    ended_at_ms = lab[1].state.now_ms()
    await end(lab[1], 1, commit=True)
    result = await waiting
    assert lab[1].state.now_ms() - ended_at_ms < 1_000
    assert offsets_of(result) == [0]
    assert result.last_stable_offset == 1


async def test_a_transaction_is_stable_when_its_marker_is_replicated(lab: Lab) -> None:
    await lab.create()
    await write(lab[1], 1, 0)
    lab[2].is_reachable = lab[3].is_reachable = False
    await end(lab[1], 1, commit=False, acks=1)
    result = await read(lab[1])
    assert (result.last_stable_offset, result.high_watermark) == (0, 1)
    lab[2].is_reachable = lab[3].is_reachable = True
    result = await read(lab[1], max_wait_ms=30_000)
    assert result.last_stable_offset == 2
    assert aborted_of(result) == [(1, 0)]


async def test_its_role_is_none_until_a_leader_epoch_was_accepted(lab: Lab) -> None:
    await lab.create()
    assert [lab[number].replica().role for number in (1, 2)] == [Role.LEADER, Role.FOLLOWER]
    node, tp = lab[1], TopicPartition("new", 0)
    log_dir = node.log_dirs[node.paths[0]]
    files = await node.logs.create(tp, bytes(16), log_dir)
    assert node.logs.host_new(tp, bytes(16), files, log_dir).role is Role.NONE


async def test_new_settings_reach_its_log_and_the_copy_of_its_move(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    hold(node)
    node.workers[node.paths[1]].delay_s = 1
    ordering = alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    for size, in_copy in (("1000", False), ("2000", True)):
        node.topic_configs["orders"] = {"segment.bytes": size}
        replica.configure(node.topic_config("orders"))
        assert replica.log.files.config.segment_bytes == int(size)
        assert replica.future_log_dir == node.paths[1]
        if in_copy:
            assert replica.future is not None
            assert replica.future.log is not None
            assert replica.future.log.files.config.segment_bytes == int(size)
        await ordering


async def test_what_is_written_wakes_followers_and_no_consumers(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    followers, consumers = Calls(), Calls()
    replica.followers.add(DelayedFetch(followers), 0)
    replica.consumers.add(DelayedFetch(consumers), 0)
    produce = DelayedProduce(1, Calls())
    replica.written.add(0, produce, 0)
    replica.on_written()
    assert (followers.count, consumers.count, produce.codes) == (1, 0, [ErrorCode.NONE])


async def test_what_too_few_replicas_have_is_committed_with_an_error(lab: Lab) -> None:
    await lab.create(min_insync_replicas="2")
    await lab.elect(ORDERS, 1, [1])
    replica = lab[1].replica()
    waits = DelayedProduce(1, Calls())
    replica.replicated.add(0, waits, 0)
    replica.on_high_watermark()
    assert waits.codes == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


async def test_until_a_log_start_is_written_down_the_one_before_counts(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b", "c"])
    replica = alone[1].replica()
    alone[1].logs.raise_log_start(replica, 1)
    await asyncio.sleep(1)
    assert (replica.low_watermark, replica.log_start_write) == (1, None)
    alone[1].workers[replica.log_dir].delay_s = 1
    for offset in (2, 3):
        alone[1].logs.raise_log_start(replica, offset)
        assert (replica.kept_log_start, replica.low_watermark) == (1, 1)
    await asyncio.sleep(5)
    assert replica.low_watermark == 3


async def test_the_copy_of_a_move_counts_for_deletions_once_it_is_made(alone: Lab) -> None:
    node = await filled(alone)
    replica = node.replica()
    hold(node)
    node.workers[node.paths[1]].delay_s = 1
    ordering = alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    assert replica.future is not None
    assert replica.low_watermark == 0
    await ordering
    node.workers[node.paths[1]].hangs = True
    node.logs.raise_log_start(replica, 5)
    await asyncio.sleep(1)
    assert (replica.log_start_write, replica.low_watermark) == (None, 0)


async def test_who_waits_for_a_deletion_hears_of_the_end_of_the_replica(alone: Lab) -> None:
    await alone.create(replicas=[1])
    replica = alone[1].replica()
    waits = DelayedProduce(1, Calls())
    replica.deleted.add(9, waits, 0)
    replica.answer_waiters(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert waits.codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
