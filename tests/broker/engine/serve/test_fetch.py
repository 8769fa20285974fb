"""The fetch path: bounds, waiting, errors, and disks that hang."""

from __future__ import annotations

import asyncio

import pytest

from broker.engine.types import FetchParams
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from tests.broker.engine.fetched import as_follower, led_for, now_s, part, wrote
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.engine.serve.racks import SELECTOR

OTHER = TopicPartition("other", 0)


async def test_a_consumer_reads_whole_batches_up_to_the_high_watermark(lab: Lab) -> None:
    await lab.create()
    for value in ("a", "b", "c"):
        await lab[1].produce(value)
    lab[2].is_reachable = lab[3].is_reachable = False
    await lab[1].produce("d", timeout_ms=10)
    result = await lab[1].fetch(1)
    assert offsets_of(result) == [1, 2]
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (3, 3, 0)


@pytest.mark.parametrize("of_nodes", [False, True])
async def test_answers_to_clients_and_to_nodes_wait_for_memory_apart(
    alone: Lab, *, of_nodes: bool
) -> None:
    await wrote(alone, "a")
    ports = alone[1].state.ports
    budget = ports.answers_to_nodes if of_nodes else ports.answers
    budget.take(budget.limit_bytes)
    fetch, as_node = alone[1].engine.fetches.fetch, FetchParams(replica_id=BrokerId(1))
    of_client = alone.begin(fetch(FetchParams(), [part()]))
    of_node = alone.begin(fetch(as_node, [as_follower(0)]))
    await asyncio.sleep(1)
    assert (of_client.done(), of_node.done()) == (of_nodes, not of_nodes)
    budget.give_back(budget.limit_bytes)
    assert len(await of_client) == len(await of_node) == 1


async def test_who_has_read_and_waits_for_more_answers_when_others_need_the_memory(
    alone: Lab,
) -> None:
    await wrote(alone, "a")
    has_some = alone.begin(alone[1].fetch(0, max_wait_ms=60_000, min_bytes=100_000))
    has_none = alone.begin(alone[1].fetch(1, max_wait_ms=60_000, min_bytes=1))
    await asyncio.sleep(1)
    budget = alone[1].state.ports.answers
    budget.take(taken := budget.free_bytes)
    another = alone.begin(alone[1].fetch(0))
    assert offsets_of(await has_some) == [0]
    assert not has_none.done()
    budget.give_back(taken)
    assert offsets_of(await another) == [0]
    await alone[1].produce("b", acks=1)
    assert offsets_of(await has_none) == [1]
    assert budget.held_bytes == 0


async def test_who_reads_from_a_slow_disk_waits_for_nothing_more_when_others_need_the_memory(
    alone: Lab,
) -> None:
    await wrote(alone, "a", of=(ORDERS, OTHER))
    slow = alone[1].replica(OTHER)
    slow.tail.clear()
    alone[1].workers[slow.log_dir].delay_s = 0.2
    params, begun_s = FetchParams(max_wait_ms=60_000, min_bytes=100_000), now_s()
    has_some = alone.begin(alone[1].engine.fetches.fetch(params, [part(), part(OTHER)]))
    await asyncio.sleep(0.1)
    budget = alone[1].state.ports.answers
    budget.take(taken := budget.free_bytes + (2 << 20))
    another = alone.begin(alone[1].fetch(0))
    assert [offsets_of(one) for one in await has_some] == [[0], [0]]
    assert now_s() - begun_s < 1
    budget.give_back(taken)
    assert offsets_of(await another) == [0]


async def test_a_fetch_of_many_partitions_lets_others_have_turns_and_misses_nothing(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    parts = [part()] * 600

    async def turns_until_answered(count: int) -> int:
        fetch, turns = alone.begin(alone[1].engine.fetches.fetch(FetchParams(), parts[:count])), 0
        while not fetch.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert await turns_until_answered(250) < 3
    assert await turns_until_answered(600) > 5
    params = FetchParams(max_wait_ms=5_000, min_bytes=1)
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, parts))
    await asyncio.sleep(1)
    await alone[1].produce("a", acks=1)
    results = await waiting
    assert [offsets_of(each) for each in results] == [[]] * 599 + [[0]], "it waits there once"
    assert len(alone[1].replica().consumers) == 0


async def test_a_follower_that_waited_is_told_high_watermarks_of_now(lab: Lab) -> None:
    for tp in (ORDERS, OTHER):
        await led_for(lab, 8, 9, tp=tp)
        await lab[1].produce("a", tp=tp, acks=1)
    fetch = lab[1].engine.fetches.fetch
    asked = [as_follower(1, tp=tp, epoch=1) for tp in (ORDERS, OTHER)]
    waiting = lab.begin(fetch(FetchParams(replica_id=8, max_wait_ms=5_000, min_bytes=1), asked))
    await asyncio.sleep(1)
    await fetch(FetchParams(replica_id=9), asked)
    await lab[1].produce("b", acks=1)
    first, other = await waiting
    assert (offsets_of(first), offsets_of(other)) == ([1], [])
    assert other.high_watermark == other.last_stable_offset == 1


async def test_offsets_outside_the_log_are_out_of_range(alone: Lab) -> None:
    await wrote(alone, "a")
    assert (await alone[1].fetch(2)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    empty = await alone[1].fetch(1)
    assert (empty.error_code, empty.records) == (ErrorCode.NONE, ()), "it is not null"


async def test_a_fetch_at_the_end_is_answered_when_data_comes(alone: Lab) -> None:
    await alone.create(replicas=[1])
    waiting = alone.begin(alone[1].fetch(0, max_wait_ms=5_000))
    await asyncio.sleep(1)
    assert not waiting.done()
    before_s = now_s()
    await alone[1].produce("a", acks=1)
    assert offsets_of(await waiting) == [0]
    assert now_s() - before_s < 0.001


async def test_a_fetch_waits_for_min_bytes_and_gives_what_it_has_at_the_deadline(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    before_s = now_s()
    waiting = alone.begin(alone[1].fetch(0, max_wait_ms=5_000, min_bytes=100_000))
    await asyncio.sleep(1)
    for value in ("a", "b"):
        await alone[1].produce(value, acks=1)
    result = await waiting
    assert offsets_of(result) == [0, 1]
    assert now_s() - before_s == pytest.approx(5)


async def test_an_error_in_one_partition_answers_at_once_and_spares_the_others(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    before_s = now_s()
    params = FetchParams(max_wait_ms=5_000, min_bytes=10_000, max_bytes=1 << 20)
    good, bad = await lab[1].engine.fetches.fetch(params, [part(), part(OTHER)])
    assert (good.error_code, offsets_of(good)) == (ErrorCode.NONE, [0])
    assert bad.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert now_s() == before_s


@pytest.mark.scenario(60)
async def test_a_long_poll_is_answered_at_once_when_a_log_dir_fails(alone: Lab) -> None:
    """Kafka answers it at its max wait; the good partition's data comes along in both."""
    await alone.create(replicas=[1])
    await wrote(alone, "a", of=[OTHER])
    params = FetchParams(max_wait_ms=5_000, min_bytes=10_000, max_bytes=1 << 20)
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, [part(), part(OTHER)]))
    await asyncio.sleep(1)
    assert await alone[1].dir_of() != await alone[1].dir_of(OTHER)
    before_s = now_s()
    alone[1].log_dirs[await alone[1].dir_of() or ""].fail("test", OSError("broken"))
    failed, good = await waiting
    assert (failed.error_code, failed.high_watermark) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert offsets_of(good) == [0]
    assert now_s() == before_s


async def test_old_and_new_leader_epochs_are_refused(lab: Lab) -> None:
    await lab.create()
    await lab.elect(ORDERS, 1, [1, 2, 3])
    assert (await lab[1].fetch(0, epoch=0)).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (await lab[1].fetch(0, epoch=2)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert (await lab[1].fetch(0, epoch=1)).error_code == ErrorCode.NONE


async def test_the_epoch_of_another_topic_is_not_held_against_this_one_s(lab: Lab) -> None:
    """Who was fenced would wait for the next epoch of its own topic, which need not come."""
    await lab.create()
    await lab.elect(ORDERS, 1, [1, 2, 3])
    for asked, replica_id in ((part(), -1), (as_follower(0, epoch=0), 2)):
        anew = asked._replace(topic_id=b"x" * 16)
        (result,) = await lab[1].engine.fetches.fetch(FetchParams(replica_id=replica_id), [anew])
        assert result.error_code == ErrorCode.INCONSISTENT_TOPIC_ID


async def test_a_fetch_of_a_life_of_its_broker_that_is_over_counts_for_nothing(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    for epoch, code in ((7, ErrorCode.NONE), (6, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        params = FetchParams(replica_id=2, replica_epoch=epoch)
        (result,) = await lab[1].engine.fetches.fetch(params, [as_follower(epoch - 6)])
        assert result.error_code == code
    assert lab[1].replica().partition.followers[BrokerId(2)].log_end_offset == 1


async def test_a_broker_that_is_no_replica_may_not_fetch_as_one(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    for epoch, code in (
        (0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ):
        asked = as_follower(0, epoch=epoch)
        (result,) = await lab[1].engine.fetches.fetch(FetchParams(replica_id=3), [asked])
        assert result.error_code == code


async def test_a_follower_that_diverged_is_told_where(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await lab.elect(ORDERS, 1, [1, 2, 3])
    await lab[1].produce("b")
    for stray, end in (
        (as_follower(5, last_epoch=0, epoch=1), (0, 1)),
        (as_follower(7, last_epoch=1, epoch=1), (1, 2)),
    ):
        (result,) = await lab[1].engine.fetches.fetch(FetchParams(replica_id=2), [stray])
        assert (result.error_code, result.diverging_epoch) == (ErrorCode.NONE, end)
    unknown = as_follower(1, last_epoch=9, epoch=1)
    (result,) = await lab[1].engine.fetches.fetch(FetchParams(replica_id=2), [unknown])
    assert result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_a_waiting_follower_is_answered_when_a_leader_epoch_begins(lab: Lab) -> None:
    await led_for(lab, 9)
    poll = lab.begin(
        lab[1].engine.fetches.fetch(
            FetchParams(replica_id=9, max_wait_ms=5_000, min_bytes=1), [as_follower(0, epoch=1)]
        )
    )
    await asyncio.sleep(0.1)
    lab.led[ORDERS].leader_epoch = 2
    before_s = now_s()
    await lab.tell(ORDERS, to=[1])
    (result,) = await poll
    assert (result.error_code, now_s()) == (ErrorCode.FENCED_LEADER_EPOCH, before_s)


async def test_older_data_is_read_from_the_disk(alone: Lab) -> None:
    await wrote(alone, *map(str, range(5)))
    alone[1].state.tails.drop_older_than(1 << 62)
    assert offsets_of(await alone[1].fetch(1)) == [1, 2, 3, 4]
    await alone[1].produce("new", acks=1)
    assert offsets_of(await alone[1].fetch(3)) == [3, 4, 5]


async def test_the_first_batch_comes_even_when_it_is_too_large(alone: Lab) -> None:
    await wrote(alone, "x" * 500, "x" * 500)
    assert offsets_of(await alone[1].fetch(0, max_bytes=10)) == [0]
    alone[1].state.tails.drop_older_than(1 << 62)
    assert offsets_of(await alone[1].fetch(0, max_bytes=10)) == [0]


async def test_the_request_limit_is_shared_by_its_partitions(alone: Lab) -> None:
    await wrote(alone, "x" * 500, of=(ORDERS, OTHER))
    params = FetchParams(max_bytes=700)
    first, second = await alone[1].engine.fetches.fetch(params, [part(), part(OTHER)])
    assert (offsets_of(first), offsets_of(second)) == ([0], [])


async def test_a_negative_limit_is_an_error_where_there_is_something_to_read(alone: Lab) -> None:
    """That of the whole answer is looked at with its first partition."""
    await wrote(alone, "a", of=(ORDERS, OTHER))
    node, failed = alone[1], ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await node.fetch(0, max_bytes=-1)).error_code == failed
    assert (await node.fetch(1, max_bytes=-1)).error_code == ErrorCode.NONE
    parts = [part()._replace(max_bytes=-1), part(OTHER)]
    results = await node.engine.fetches.fetch(FetchParams(), parts)
    assert [(each.error_code, offsets_of(each)) for each in results] == [(failed, []), (0, [0])]
    results = await node.engine.fetches.fetch(FetchParams(max_bytes=-1), [part(), part(OTHER)])
    assert [(each.error_code, offsets_of(each)) for each in results] == [(failed, []), (0, [0])]


async def test_a_broken_disk_in_a_read_is_a_storage_error(alone: Lab) -> None:
    await wrote(alone, "a")
    alone[1].state.tails.drop_older_than(1 << 62)
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("eio")
    assert (await alone[1].fetch(0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(alone[1].events.failed) == 1


async def test_a_disk_that_gives_no_batches_is_a_corrupt_message(alone: Lab) -> None:
    await wrote(alone, "a")
    alone[1].state.tails.drop_older_than(1 << 62)
    disk = alone[1].disks[await alone[1].dir_of() or ""]
    disk.write_file("orders-0/00000000000000000000.log", bytes(200))
    assert (await alone[1].fetch(0)).error_code == ErrorCode.CORRUPT_MESSAGE


async def test_a_knock_ends_the_poll_of_that_follower_only(lab: Lab) -> None:
    await led_for(lab, 8, 9)
    polls = {
        replica_id: lab.begin(
            lab[1].engine.fetches.fetch(
                FetchParams(replica_id=replica_id, max_wait_ms=500, min_bytes=1),
                [as_follower(0, epoch=1)],
            )
        )
        for replica_id in (8, 9)
    }
    await asyncio.sleep(0.1)
    lab[1].engine.offsets.offset_for_leader_epoch(
        ORDERS, current_leader_epoch=1, leader_epoch=-1, replica_id=8
    )
    await polls[8]
    assert not polls[9].done()
    await polls[9]


# Any replica (KIP-392).

ANY = FetchParams(max_wait_ms=5_000, min_bytes=1, leader_only=False)


async def test_a_follower_serves_what_it_knows_to_be_committed(lab: Lab) -> None:
    await lab.create()
    for value in ("a", "b"):
        await lab[1].produce(value)
    await asyncio.sleep(1)
    (result,) = await lab[2].engine.fetches.fetch(ANY, [part()])
    assert (offsets_of(result), result.high_watermark) == ([0, 1], 2)
    (refused,) = await lab[2].engine.fetches.fetch(FetchParams(), [part()])
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    lab[2].is_reachable = False
    await lab[1].produce("c", acks=1)
    (beyond,) = await lab[2].engine.fetches.fetch(ANY, [part(offset=3)])
    assert beyond.error_code == ErrorCode.OFFSET_OUT_OF_RANGE, "it has only what it has copied"


async def test_records_that_a_follower_does_not_know_to_be_committed_are_not_there_yet(
    lab: Lab,
) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(1)
    lab[3].is_reachable = False
    await lab[1].produce("b", acks=1)
    await asyncio.sleep(0.1)
    assert lab[2].replica().partition.log_end_offset == 2
    (result,) = await lab[2].engine.fetches.fetch(ANY._replace(max_wait_ms=0), [part(offset=1)])
    assert (result.error_code, offsets_of(result), result.high_watermark) == (0, [], 1)


async def test_a_consumer_that_waits_at_a_follower_hears_of_new_records(lab: Lab) -> None:
    await lab.create()
    waiting = lab.begin(lab[2].engine.fetches.fetch(ANY, [part()]))
    await asyncio.sleep(1)
    await lab[1].produce("a")
    async with asyncio.timeout(0.6):
        assert offsets_of((await waiting)[0]) == [0]


@pytest.mark.parametrize("is_selected", [True, False])
async def test_with_a_selector_the_leader_sends_a_consumer_to_the_replica_in_its_rack(
    *, is_selected: bool
) -> None:
    selector = SELECTOR if is_selected else ""
    async with Lab.running(broker_count=3, dir_count=1, replica_selector_class=selector) as lab:
        lab.racks = {1: "a", 2: "b", 3: "c"}
        await lab.create()
        await lab[1].produce("x")
        await asyncio.sleep(1)
        (result,) = await lab[1].engine.fetches.fetch(ANY._replace(client_rack="b"), [part()])
        assert result.preferred_read_replica == (2 if is_selected else -1)
        assert offsets_of(result) == ([] if is_selected else [0])
        assert (result.high_watermark, result.log_start_offset) == (1, 0)
        for rack in ("a", "nowhere", ""):
            (result,) = await lab[1].engine.fetches.fetch(ANY._replace(client_rack=rack), [part()])
            assert (result.preferred_read_replica, offsets_of(result)) == (-1, [0])
