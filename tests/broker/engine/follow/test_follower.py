"""The follower side: replication, high watermarks, truncation, broken followers."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.follow.followed import FetchedRecords
from broker.engine.follow.follower import FollowedLog
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchRequest
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.throttled import BATCH_BYTES, RATE, left_behind, seconds_to_catch_up
from tests.broker.fake_configs import compaction_rules

OTHER = TopicPartition("other", 0)


def now_s() -> float:
    return asyncio.get_running_loop().time()


def high_watermark(lab: Lab, broker_id: int, tp: TopicPartition = ORDERS) -> int:
    return lab[broker_id].replica(tp).partition.high_watermark


async def test_followers_hold_the_leaders_bytes_and_high_watermark(lab: Lab) -> None:
    await lab.create()
    for number in range(20):
        await lab[1].produce(str(number))
    await asyncio.sleep(1.2)
    assert lab[1].disk_bytes() == lab[2].disk_bytes() == lab[3].disk_bytes()
    assert [high_watermark(lab, n) for n in (1, 2, 3)] == [20, 20, 20]


async def test_the_first_fetch_of_a_new_follower_does_not_wait_for_the_poll(lab: Lab) -> None:
    """An idle poll is under way; partitions followed anew must not wait for its end."""
    await lab.create(OTHER)
    await asyncio.sleep(0.1)
    before_s = now_s()
    await lab.create()
    await lab[1].produce("a")
    assert now_s() - before_s < 0.05


async def test_after_a_clean_failover_nothing_acknowledged_is_missing(lab: Lab) -> None:
    await lab.create()
    for number in range(5):
        await lab[1].produce(str(number))
    lab[1].is_reachable = False
    before_s = now_s()
    await lab.elect(ORDERS, 2, [2, 3])
    result = await lab[2].produce("after")
    assert (result.error_code, result.base_offset) == (ErrorCode.NONE, 5)
    assert now_s() - before_s < 0.1
    assert offsets_of(await lab[2].fetch(0)) == [0, 1, 2, 3, 4, 5]


async def test_a_new_leader_that_learns_late_is_asked_again_soon(lab: Lab) -> None:
    await lab.create()
    lab[1].is_reachable = False
    led = lab.led[ORDERS]
    led.leader, led.leader_epoch, led.isr = 2, 1, [2, 3]
    await lab.tell(ORDERS, to=[3])
    await asyncio.sleep(0.03)
    await lab.tell(ORDERS, to=[2])
    before_s = now_s()
    assert (await lab[2].produce("a")).error_code == ErrorCode.NONE
    assert now_s() - before_s < 0.2


async def test_a_diverged_follower_is_cut_back_to_the_leaders_log(lab: Lab) -> None:
    """The old leader wrote records that nobody had; a new one took over without them."""
    await lab.create()
    await lab[1].produce("both")
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("lost", timeout_ms=10)
    assert await lab[1].log_end() == 2
    lab[1].is_reachable = False
    lab[2].is_reachable = lab[3].is_reachable = True
    await lab.elect(ORDERS, 2, [2, 3])
    assert (await lab[2].produce(["new", "newer"])).base_offset == 1
    lab[1].is_reachable = True
    await lab.tell(ORDERS, to=[1])
    await asyncio.sleep(1)
    assert lab[1].disk_bytes() == lab[2].disk_bytes()
    assert lab.led[ORDERS].isr == [2, 3, 1]


async def test_a_log_that_diverged_twice_is_cut_step_by_step(lab: Lab) -> None:
    """KIP-279: the follower has epochs that the leader never had."""
    await lab.create(replicas=[1, 2])
    await lab[1].produce("a")
    lab[2].is_reachable = False
    for epoch in (1, 2):
        await lab.elect(ORDERS, 1, [1])
        await lab[1].produce(f"lost-{epoch}", acks=1)
    lab[1].is_reachable, lab[2].is_reachable = False, True
    lab.led[ORDERS].leader_epoch = 2
    await lab.elect(ORDERS, 2, [2])
    await lab[2].produce("b", acks=1)
    lab[1].is_reachable = True
    await lab.tell(ORDERS, to=[1])
    await asyncio.sleep(1)
    assert lab[1].disk_bytes() == lab[2].disk_bytes()


async def test_a_follower_far_behind_catches_up_from_the_disk(lab: Lab) -> None:
    await lab.create()
    lab[3].is_reachable = False
    await lab.elect(ORDERS, 1, [1, 2])
    for number in range(30):
        await lab[1].produce(f"{number}" * 50)
    lab[1].state.tails.drop_older_than(1 << 62)
    lab[3].is_reachable = True
    await lab.tell(ORDERS, to=[3])
    await asyncio.sleep(2)
    assert lab[3].disk_bytes() == lab[1].disk_bytes()
    assert sorted(lab.led[ORDERS].isr) == [1, 2, 3]


async def test_a_follower_out_of_the_leaders_range_starts_at_its_end(lab: Lab) -> None:
    """The leader lost its disk and came back empty: the follower's log is longer and unknown."""
    await lab.create(replicas=[1, 2])
    await lab[1].produce("a")
    await asyncio.sleep(0.6)
    replica = lab[1].replica(ORDERS)
    await lab[1].logs.restart_at(replica, 0)
    lab.led[ORDERS].leader_epoch += 1
    await lab.tell(ORDERS)
    assert (await lab[1].produce("new")).error_code == ErrorCode.NONE
    assert lab[2].disk_bytes() == lab[1].disk_bytes()


async def test_a_follower_joins_where_the_leaders_log_starts_inside_a_batch(lab: Lab) -> None:
    """The leader serves the batch whole, but nothing before its start is asked of it again."""
    await lab.create(replicas=[1, 2])
    await lab[1].produce(["a", "b", "c", "d"])
    await lab[1].produce("e")
    (deleted,) = await lab[1].engine.record_deletions.delete([(ORDERS, 2)], timeout_ms=1000)
    assert (deleted.error_code, deleted.low_watermark) == (ErrorCode.NONE, 2)
    partition = lab.led[ORDERS]
    partition.replicas = [1, 2, 3]
    partition.leader_epoch += 1
    await lab.tell(ORDERS)
    await asyncio.sleep(2)
    assert sorted(lab.led[ORDERS].isr) == [1, 2, 3]
    assert lab[3].disk_bytes() == lab[1].disk_bytes()
    assert lab[3].replica(ORDERS).partition.log_start_offset == 2


@pytest.mark.kafka_bug("KAFKA-5864", "KAFKA-8346")
@pytest.mark.scenario(50)
async def test_a_broken_follower_partition_is_left_out_and_the_others_go_on(lab: Lab) -> None:
    await lab.create()
    await lab.create(OTHER)
    await lab[1].produce("a")
    assert await lab[2].dir_of() != await lab[2].dir_of(OTHER)
    lab[2].disks[await lab[2].dir_of() or ""].set_fault("eio")
    waiting = lab.begin(lab[1].produce("b", timeout_ms=2_000))
    assert (await lab[1].produce("c", tp=OTHER)).error_code == ErrorCode.NONE
    lab.requests.clear()
    assert (await waiting).error_code == ErrorCode.REQUEST_TIMED_OUT
    fetches = [
        1 for own, _, message in lab.requests if own == 2 and isinstance(message, FetchRequest)
    ]
    assert len(fetches) < 20, "a broken partition is not retried without a pause"
    assert lab[2].events.failed[0].offline_replica_count == 1


async def test_a_refused_partition_is_retried_ever_more_slowly(lab: Lab) -> None:
    await lab.create()
    led = lab.led[ORDERS]
    led.leader, led.leader_epoch = 2, 1
    await lab.tell(ORDERS, to=[3])
    lab.requests.clear()
    await asyncio.sleep(10)
    assert 5 < len(lab.requests) < 40


async def test_no_connection_is_tried_at_a_slowing_pace(lab: Lab) -> None:
    await lab.create()
    lab[1].is_reachable = False
    tries = 0
    connect = lab[2].state.ports.connect

    def counting(host: str, port: int) -> object:
        nonlocal tries
        tries += 1
        return connect(host, port)

    object.__setattr__(lab[2].state.ports, "connect", counting)
    await asyncio.sleep(10)
    assert 5 < tries < 40


async def test_a_slow_follower_disk_does_not_hold_up_the_other_disk(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    await lab.create(OTHER, replicas=[1, 2])
    for tp in (ORDERS, OTHER):
        await lab[1].produce("a", tp=tp)
    lab[2].workers[await lab[2].dir_of() or ""].hangs = True
    stuck = lab.begin(lab[1].produce("b", timeout_ms=8_000))
    await asyncio.sleep(0.2)
    before_s = now_s()
    for _ in range(10):
        assert (await lab[1].produce("c", tp=OTHER)).error_code == ErrorCode.NONE
    assert now_s() - before_s < 1
    assert (await stuck).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert (await lab[1].produce("d", tp=OTHER)).error_code == ErrorCode.NONE


async def test_sources_without_partitions_are_let_go(lab: Lab) -> None:
    await lab.create()
    assert list(lab[2].following.source_ids) == [1]
    await lab.elect(ORDERS, 3, [1, 2, 3])
    assert list(lab[2].following.source_ids) == [3]


async def test_idle_followers_ask_twice_a_second_whatever_they_hold(lab: Lab) -> None:
    for number in range(20):
        await lab.create(TopicPartition("orders", number))
    await asyncio.sleep(1)
    lab.requests.clear()
    await asyncio.sleep(10)
    from_two = [message for own, _, message in lab.requests if own == 2]
    assert len(from_two) == pytest.approx(20, abs=1)
    assert all(not message.topics for message in from_two), "an idle session names no partition"


async def test_a_throttled_follower_catches_up_at_the_rate(lab: Lab) -> None:
    await left_behind(lab, ORDERS, OTHER, follower_replication_throttled_replicas="0:2")
    lab[2].state.quotas.follower.limit_bytes_per_second = RATE
    took_s = await seconds_to_catch_up(lab, ORDERS, OTHER)
    assert took_s == pytest.approx(400 * BATCH_BYTES / RATE, rel=0.1)


async def test_both_throttles_together_keep_the_rate(lab: Lab) -> None:
    await left_behind(
        lab,
        leader_replication_throttled_replicas="0:1",
        follower_replication_throttled_replicas="0:2",
    )
    lab[1].state.quotas.leader.limit_bytes_per_second = RATE
    lab[2].state.quotas.follower.limit_bytes_per_second = RATE
    took_s = await seconds_to_catch_up(lab)
    assert took_s == pytest.approx(200 * BATCH_BYTES / RATE, rel=0.1)


async def test_a_throttled_follower_in_the_isr_never_waits(lab: Lab) -> None:
    await lab.create(replicas=[1, 2], follower_replication_throttled_replicas="*")
    lab[2].state.quotas.follower.limit_bytes_per_second = 1_000
    await lab[1].produce("a")
    before_s = now_s()
    for _ in range(20):
        await lab[1].produce("x" * BATCH_BYTES)
    assert now_s() - before_s < 1
    assert lab[2].state.quotas.follower.is_exceeded(lab[2].state.now_ms())


async def test_a_leaders_hung_dir_holds_up_no_follower_of_its_other_dirs(lab: Lab) -> None:
    await left_behind(lab, ORDERS, batch_count=3)
    await lab.create(OTHER, replicas=[1, 2])
    lab[1].state.tails.drop_older_than(1 << 62)
    hung = await lab[1].dir_of()
    assert hung != await lab[1].dir_of(OTHER)
    lab[1].workers[hung or ""].hangs = True
    lab[2].is_reachable = True
    await lab.tell(ORDERS, OTHER, to=[2])
    await lab[1].produce("first", tp=OTHER)
    slowest_s = 0.0
    for _ in range(20):
        before_s = now_s()
        assert (await lab[1].produce("x", tp=OTHER)).error_code == ErrorCode.NONE
        slowest_s = max(slowest_s, now_s() - before_s)
        await asyncio.sleep(0.1)
    assert slowest_s < 0.02
    assert 2 not in lab.led[ORDERS].isr


async def test_a_followers_hung_dir_holds_up_no_other_of_its_dirs(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    await lab.create(OTHER, replicas=[1, 2])
    hung = await lab[2].dir_of()
    assert hung != await lab[2].dir_of(OTHER)
    lab[2].workers[hung or ""].hangs = True
    await lab[1].produce("a", acks=1)
    await asyncio.sleep(0.2)
    slowest_s = 0.0
    for _ in range(20):
        before_s = now_s()
        assert (await lab[1].produce("x", tp=OTHER)).error_code == ErrorCode.NONE
        slowest_s = max(slowest_s, now_s() - before_s)
    assert slowest_s < 0.02


async def test_a_leader_that_appended_nothing_forgets_its_epoch_when_it_follows(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    await lab[1].produce("a")
    await lab.elect(ORDERS, 2, [1, 2])
    await lab.elect(ORDERS, 1, [1, 2])
    before = len(lab.requests)
    await asyncio.sleep(5)
    assert lab[2].replica().partition.epochs.entries == [(0, 0)]
    assert len(lab.requests) - before < 20, "it is not sent to truncate again and again"


async def test_offsets_that_are_left_out_are_fetched_once_more_before_they_are_believed(
    lab: Lab,
) -> None:
    """A base offset lies outside of the CRC: what only one read made of it must leave no hole."""
    await lab.create(replicas=[1, 2])
    lab[1].is_reachable = False
    replica = lab[2].replica(ORDERS)
    followed = FollowedLog(lab[2].state, lab[2].logs, replica)

    def batch(base_offset: int) -> bytes:
        return bytes(build_batch([NewRecord(b"v")], BatchOptions(base_offset=base_offset)))

    async def append(*base_offsets: int) -> int:
        written = followed.append(FetchedRecords(b"".join(map(batch, base_offsets)), 0, 0))
        if written is not None:
            await written
        return replica.partition.next_offset

    assert await append(0, 1 + 256) == 1
    assert followed.position().fetch_offset == 1
    assert await append(1, 2) == 3
    assert await append(3 + 256) == 3
    assert await append(3 + 256) == 3 + 256 + 1
    replica.compaction = compaction_rules()
    assert await append(300) == 301


async def test_a_log_that_was_compacted_for_records_that_go_is_copied_anew(lab: Lab) -> None:
    """Seed 700766: after an unclean election a key had neither its old nor its new record."""
    await lab.create(replicas=[1, 2])
    await lab[1].produce("kept")
    lab[2].is_reachable = False
    await lab[1].produce("lost", acks=1)
    replica, offsets = lab[1].replica(ORDERS), lab[1].state.cleaner_offsets
    replica.compaction = compaction_rules()
    offsets.put(replica.log_dir, ORDERS, 2)
    lab[2].is_reachable = True
    await lab.elect(ORDERS, 2, [2])
    await asyncio.sleep(1)
    assert lab[1].disk_bytes() == lab[2].disk_bytes()
    assert offsets.get(replica.log_dir, ORDERS) == 0


async def many_throttled(lab: Lab, *, batch_count: int) -> list[TopicPartition]:
    tps = [TopicPartition("many", number) for number in range(60)]
    lists = {f"{end}_replication_throttled_replicas": "*" for end in ("leader", "follower")}
    await left_behind(lab, *tps, batch_count=batch_count, **lists)
    lab[1].state.quotas.leader.limit_bytes_per_second = RATE
    lab[2].state.quotas.follower.limit_bytes_per_second = RATE
    return tps


async def test_many_throttled_replicas_without_records_are_in_sync_at_once(lab: Lab) -> None:
    tps = await many_throttled(lab, batch_count=0)
    assert await seconds_to_catch_up(lab, *tps) < 0.2


async def test_many_throttled_replicas_with_little_each_keep_the_rate_together(lab: Lab) -> None:
    tps = await many_throttled(lab, batch_count=1)
    before = len(lab.requests)
    took_s = await seconds_to_catch_up(lab, *tps)
    assert took_s == pytest.approx(len(tps) * BATCH_BYTES / RATE, rel=0.1)
    assert len(lab.requests) - before < 3 * len(tps)


async def test_a_throttle_that_is_changed_half_way_holds_at_once(lab: Lab) -> None:
    await left_behind(lab, follower_replication_throttled_replicas="*")
    quota = lab[2].state.quotas.follower
    quota.limit_bytes_per_second = 10 * RATE
    catching_up = lab.begin(seconds_to_catch_up(lab))
    before_s = now_s()
    await asyncio.sleep(1)
    quota.limit_bytes_per_second = RATE
    await catching_up
    assert now_s() - before_s == pytest.approx(1 + 100 * BATCH_BYTES / RATE, rel=0.1)


async def test_what_followers_fetch_is_counted_where_it_comes_from_and_where_it_goes(
    lab: Lab,
) -> None:
    await lab.create()
    for number in range(3):
        await lab[1].produce(str(number))
    await asyncio.sleep(1.2)
    size_bytes = len(lab[1].disk_bytes())
    assert lab[1].metrics.counters.replication_bytes_out.value == 2 * size_bytes
    for node in (lab[2], lab[3]):
        assert node.metrics.counters.replication_bytes_in.value == size_bytes
    assert lab[1].metrics.counters.bytes_out.value == 0
