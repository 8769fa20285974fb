"""A log dir comes back while the broker runs: its logs wait for a LeaderAndIsr, lost ones too."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import Loss, ReturnedReplicas, ReturnRule
from broker.core.log_dirs import LogDirFailed
from broker.core.rebuild_throttle import RebuildView
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, leader_and_isr
from tests.broker.engine.moved import begin, filled, names, stopped
from tests.broker.engine.throttled import BATCH_BYTES, RATE, now_s

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHERS = TopicPartition("others", 0)
RATED = ReturnRule(rate_bytes_per_second=RATE)


async def failed_dir(lab: Lab, broker_id: int = 2) -> str:
    """Create ORDERS, produce ten records, break its log dir on one broker."""
    await lab.create()
    for number in range(10):
        await lab[1].produce(str(number))
    path = await lab[broker_id].dir_of()
    assert path is not None
    lab[broker_id].log_dirs[path].fail("append", OSError(5, "broken"))
    isr = [member for member in (1, 2, 3) if member != broker_id]
    await lab.elect(ORDERS, isr[0], isr)
    return path


async def end_in_sync(lab: Lab, broker_id: int) -> bytes:
    """Produce once more with acks=all to the leader; return what one follower wrote."""
    leader = lab.led[ORDERS].leader
    while lab[broker_id].replica().partition.log_end_offset < 10:
        await lab[leader].fetch(max_wait_ms=10, offset=10)
    return lab[broker_id].disk_bytes()


async def test_a_repaired_log_dir_has_its_logs_again(lab: Lab) -> None:
    path = await failed_dir(lab)
    returned = await lab[2].bring_back(path, ReturnRule())
    assert returned == ReturnedReplicas((ORDERS,), (), ())
    assert (await lab.tell(ORDERS))[2] == ErrorCode.NONE
    assert await end_in_sync(lab, 2) == lab[1].disk_bytes()
    assert not lab[2].state.log_dir_states.offline_paths
    assert lab[2].engine.gauges().offline_replica_count == 0


async def test_a_log_dir_that_fails_before_it_is_taken_in_stays_offline(lab: Lab) -> None:
    """Nothing may be hosted on it, and nothing is made there."""
    path = await failed_dir(lab)
    with pytest.raises(LogDirFailed):
        await lab[2].bring_back(path, ReturnRule(), fails_again=True)
    assert lab[2].engine.gauges().offline_replica_count == 1
    assert (await lab.tell(ORDERS))[2] == STORAGE
    await lab.create(OTHERS)
    assert await lab[2].dir_of(OTHERS) != path
    await lab[2].bring_back(path, ReturnRule())
    assert (await lab.tell(ORDERS))[2] == ErrorCode.NONE


async def test_two_swapped_disks_bring_their_logs_to_each_others_places(lab: Lab) -> None:
    path = await failed_dir(lab)
    await lab.create(OTHERS)
    other = str(await lab[2].dir_of(OTHERS))
    lab[2].log_dirs[other].fail("append", OSError(5, "broken"))
    memory = lab[2].memory
    memory[path], memory[other] = memory[other], memory[path]
    first = await lab[2].bring_back(path, ReturnRule())
    assert first == ReturnedReplicas((OTHERS,), (ORDERS,), (), belonging=(ORDERS,))
    second = await lab[2].bring_back(other, ReturnRule())
    assert second == ReturnedReplicas((ORDERS,), (), ())
    assert (await lab.tell(ORDERS, OTHERS))[2] == ErrorCode.NONE
    assert [await lab[2].dir_of(tp) for tp in (ORDERS, OTHERS)] == [other, path]
    assert lab[2].engine.gauges().offline_replica_count == 0


async def test_an_empty_disk_is_filled_from_the_leader(lab: Lab) -> None:
    path = await failed_dir(lab)
    returned = await lab[2].bring_back(path, ReturnRule(), is_empty=True)
    assert returned == ReturnedReplicas((), (ORDERS,), (), belonging=(ORDERS,))
    assert (await lab.tell(ORDERS))[2] == ErrorCode.NONE
    assert await lab[2].dir_of() == path
    assert await end_in_sync(lab, 2) == lab[1].disk_bytes()


async def test_an_empty_disk_is_filled_while_another_log_dir_is_offline(lab: Lab) -> None:
    path = await failed_dir(lab)
    await lab.create(OTHERS)
    other = await lab[2].dir_of(OTHERS)
    assert other not in (None, path)
    await lab[2].bring_back(path, ReturnRule(), is_empty=True)
    lab[2].log_dirs[str(other)].fail("append", OSError(5, "broken"))
    assert (await lab.tell(ORDERS))[2] == ErrorCode.NONE
    assert (await lab.tell(OTHERS))[2] == STORAGE


async def test_a_lost_replica_that_was_never_found_is_made_where_new_replicas_are(
    alone: Lab,
) -> None:
    node = alone[1]
    path, *others = node.paths
    node.log_dirs[path].fail("test", OSError(5, "broken"))
    alone.led[ORDERS] = Led([1], 1, [1])
    assert await alone.tell(ORDERS) == {1: STORAGE}
    node.state.log_dir_states.cordon([path])
    returned = await node.bring_back(path, ReturnRule(Loss.ACCEPTED), is_empty=True)
    assert returned.lost == (ORDERS,)
    assert await alone.tell(ORDERS) == {1: ErrorCode.NONE}
    assert await node.dir_of() in others


async def test_the_only_member_of_the_isr_does_not_begin_empty_unless_told_so(lab: Lab) -> None:
    await lab.create()
    path = await lab[1].dir_of()
    assert path is not None
    lab[1].log_dirs[path].fail("append", OSError(5, "broken"))
    await lab[1].bring_back(path, ReturnRule(), is_empty=True)
    assert (await lab.elect(ORDERS, 1, [1]))[1] == STORAGE
    assert (await lab.elect(ORDERS, -1, [1]))[1] == STORAGE
    lab[1].log_dirs[path].fail("replace", OSError(5, "again"))
    await lab[1].bring_back(path, ReturnRule(Loss.ACCEPTED), is_empty=True)
    assert (await lab.elect(ORDERS, 1, [1]))[1] == ErrorCode.NONE


async def test_one_partition_comes_back_alone(lab: Lab) -> None:
    path = await failed_dir(lab)
    for number in range(4):
        await lab.create(TopicPartition("more", number))
    lab[2].engine.state.metadata  # noqa: B018 - the rest of the broker goes on
    tps = [ORDERS]
    returned = await lab[2].bring_back(path, ReturnRule(only=TopicPartition("more", 9)))
    assert returned == ReturnedReplicas((), (), ())
    assert (await lab.tell(ORDERS))[2] == STORAGE
    assert (await lab[2].engine.loaded_log_dirs.release(tps)).found == (ORDERS,)
    assert (await lab.tell(ORDERS))[2] == ErrorCode.NONE
    assert await lab[2].engine.loaded_log_dirs.release(tps) == ReturnedReplicas((), (), ())


async def test_the_loss_of_one_replica_is_accepted_later(lab: Lab) -> None:
    await lab.create()
    path = await lab[1].dir_of()
    assert path is not None
    lab[1].log_dirs[path].fail("append", OSError(5, "broken"))
    await lab[1].bring_back(path, ReturnRule(), is_empty=True)
    assert (await lab[1].engine.loaded_log_dirs.release([ORDERS])) == ReturnedReplicas((), (), ())
    assert (await lab.elect(ORDERS, 1, [1]))[1] == STORAGE

    accepted = await lab[1].engine.loaded_log_dirs.release([ORDERS], accepts_loss=True)

    assert accepted == ReturnedReplicas((), (ORDERS,), ())
    assert (await lab.elect(ORDERS, 1, [1]))[1] == ErrorCode.NONE
    assert await lab[1].dir_of() == path


async def test_a_log_that_is_hosted_elsewhere_by_now_is_set_aside(lab: Lab) -> None:
    path = await failed_dir(lab)
    lab[2].state.hosted._offline.clear()  # pyright: ignore[reportPrivateUsage] - as after a deletion
    assert (await lab.tell(ORDERS, is_new=True))[2] == ErrorCode.NONE
    elsewhere = await lab[2].dir_of()
    assert elsewhere != path
    returned = await lab[2].bring_back(path, ReturnRule())
    assert returned == ReturnedReplicas((), (), (ORDERS,))
    await lab[2].log_dirs[path].queue.submit("wait", lambda: None)
    names = lab[2].memory[path].list_dir("")
    assert [name for name in names if name.endswith("-stray")]
    assert await lab[2].dir_of() == elsewhere
    assert lab[2].state.log_dir_states.log_count(path) == 0


@pytest.mark.scenario(187)
async def test_a_topic_made_anew_lives_on_and_its_old_data_is_set_aside(lab: Lab) -> None:
    """KRaft's way; with ZooKeeper the log dir comes back as INCONSISTENT_TOPIC_ID."""
    path = await failed_dir(lab)
    new_id = b"made anew".ljust(16, b"-")
    again = leader_and_isr({ORDERS: lab.led[ORDERS]}, is_new=True)
    again.topic_states[0].topic_id = new_id
    again.topic_states[0].partition_states[0].leader = 2
    again.topic_states[0].partition_states[0].leader_epoch = 0
    again.topic_states[0].partition_states[0].isr = [2]
    answer = await lab[2].engine.leadership.leader_and_isr(again)
    assert answer.topics[0].partition_errors[0].error_code == ErrorCode.NONE
    assert (await lab[2].produce("new", acks=1)).base_offset == 0

    returned = await lab[2].bring_back(path, ReturnRule())

    assert returned == ReturnedReplicas((), (), (ORDERS,))
    await lab[2].log_dirs[path].queue.submit("wait", lambda: None)
    assert [name for name in lab[2].memory[path].list_dir("") if name.endswith("-stray")]
    assert lab[2].replica().topic_id == new_id
    assert await lab[2].log_end() == 1
    after = await lab.restart(2)
    answer = await after.engine.leadership.leader_and_isr(again)
    assert answer.topics[0].partition_errors[0].error_code == ErrorCode.NONE
    assert await after.log_end() == 1


async def test_a_future_log_whose_partition_was_deleted_meanwhile_is_set_aside(alone: Lab) -> None:
    """Nobody would ever finish its move, nor delete it."""
    node = stopped(await filled(alone))
    path = node.paths[1]
    await begin(node, path)
    node.log_dirs[path].fail("append", OSError(5, "broken"))
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE

    await node.bring_back(path, ReturnRule())

    await node.log_dirs[path].queue.submit("wait", lambda: None)
    assert [name.rpartition("-")[2] for name in names(node, path)] == ["delete"]
    assert node.state.orphan_future_logs == {}


async def test_of_two_future_logs_the_one_that_was_not_away_is_gone_on_with(
    alone: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 681342: its first destination failed in the moment in which it got another one."""
    node = stopped(await filled(alone))
    source, first, second = node.paths
    await begin(node, first)
    with monkeypatch.context() as broken:
        broken.setattr(node.memory[first], "rename", failing)
        assert await begin(node, second) == ErrorCode.NONE
        with pytest.raises(LogDirFailed):
            await node.log_dirs[first].queue.submit("wait", lambda: None)
    node.log_dirs[source].fail("append", OSError(5, "broken"))

    await node.bring_back(first, ReturnRule())

    await node.log_dirs[first].queue.submit("wait", lambda: None)
    assert [name.rpartition("-")[2] for name in names(node, first)] == ["delete"]
    assert node.state.orphan_future_logs[ORDERS].dir.path == second


def failing(old: str, new: str) -> None:
    raise OSError(5, "broken", f"{old} -> {new}")


async def test_a_log_that_its_log_dir_failed_under_outlives_no_deleted_replica(alone: Lab) -> None:
    """The replica was made elsewhere and deleted there; nobody would ever delete what is left."""
    node, path = alone[1], alone[1].paths[0]
    node.disks[path].set_fault("eio", from_nth=2)
    await alone.create(replicas=[1])
    assert await node.dir_of() == node.paths[1]
    assert names(node, path) == ["orders-0"]
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE

    returned = await node.bring_back(path, ReturnRule())

    assert returned == ReturnedReplicas((), (), ())
    assert names(node, path) == []


async def test_a_log_that_nobody_named_before_its_log_dir_failed_is_kept(alone: Lab) -> None:
    path = await failed_dir_of_idle_log(alone)
    returned = await alone[1].bring_back(path, ReturnRule())
    assert returned.strays == ()
    assert (await alone.tell(ORDERS))[1] == ErrorCode.NONE
    assert await alone[1].log_end() == 20


async def failed_dir_of_idle_log(alone: Lab) -> str:
    """Restart a broker and break a log dir before it was told of anything."""
    path = alone[1].paths[0]
    await filled(alone)
    after = await alone.restart(1)
    after.log_dirs[path].fail("append", OSError(5, "broken"))
    return path


# At a rate of their own.


async def emptied(lab: Lab, *tps: TopicPartition, batch_count: int = 200) -> str:
    """Broker 1 leads and has it all; the log dir of broker 2 with all of ``tps`` is broken."""
    path = next(iter(lab[2].log_dirs))
    for tp in tps:
        lab[2].state.log_dir_states.prefer(tp, path)
        await lab.create(tp, replicas=[1, 2])
        for _ in range(batch_count):
            await lab[1].produce("x" * (BATCH_BYTES - 75), tp=tp, acks=1)
    lab[2].log_dirs[path].fail("append", OSError(5, "broken"))
    for tp in tps:
        await lab.elect(tp, 1, [1])
    return path


async def in_sync_after_s(lab: Lab, *tps: TopicPartition) -> float:
    before_s = now_s()
    await lab.tell(*tps, to=[2])
    async with asyncio.timeout(1_000):
        while any(2 not in lab.led[tp].isr for tp in tps):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return now_s() - before_s


async def test_replicas_made_anew_share_the_rate_and_leave_it_in_sync(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, OTHERS)
    await lab[2].bring_back(path, RATED, is_empty=True)
    assert lab[2].engine.state.rebuilds.view(path) == RebuildView(RATE, 2)
    took_s = await in_sync_after_s(lab, ORDERS, OTHERS)
    assert took_s == pytest.approx(400 * BATCH_BYTES / RATE, rel=0.1)
    assert lab[2].engine.state.rebuilds.view(path) is None
    assert not lab[2].state.quotas.follower.room_bytes(0) < 0


async def test_it_is_counted_apart_from_the_followers_throttle(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, batch_count=50)
    lab[2].state.quotas.follower.limit_bytes_per_second = 10
    await lab[2].bring_back(path, RATED, is_empty=True)
    took_s = await in_sync_after_s(lab, ORDERS)
    assert took_s == pytest.approx(50 * BATCH_BYTES / RATE, rel=0.1)


async def test_other_replicas_of_the_broker_are_not_slowed(lab: Lab) -> None:
    path = await emptied(lab, ORDERS)
    await lab.create(OTHERS, replicas=[1, 2])
    await lab[2].bring_back(path, ReturnRule(rate_bytes_per_second=100), is_empty=True)
    await lab.tell(ORDERS, to=[2])
    await asyncio.sleep(2)
    before_s = now_s()
    for _ in range(5):
        await lab[1].produce("y", tp=OTHERS)
    assert now_s() - before_s < 0.1
    assert 2 not in lab.led[ORDERS].isr


async def test_without_a_rate_it_is_made_anew_as_fast_as_can_be_and_ends_no_move(lab: Lab) -> None:
    """Seed 681922: the throttle that moves were to have was taken off before they began."""
    path = await emptied(lab, ORDERS)
    count = lab[2].events.moves_ended_count
    await lab[2].bring_back(path, ReturnRule(), is_empty=True)
    assert await in_sync_after_s(lab, ORDERS) < 1
    assert (await lab[2].dir_of(), lab[2].events.moves_ended_count) == (path, count)


async def test_a_replica_that_leads_or_whose_disk_fails_again_leaves_the_rate(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, OTHERS)
    await lab[2].bring_back(path, ReturnRule(rate_bytes_per_second=100), is_empty=True)
    await lab.tell(ORDERS, OTHERS, to=[2])
    assert lab[2].engine.state.rebuilds.view(path) == RebuildView(100, 2)
    await lab.elect(ORDERS, 2, [2])
    assert lab[2].engine.state.rebuilds.view(path) == RebuildView(100, 1)
    lab[2].log_dirs[path].fail("append", OSError(5, "again"))
    assert lab[2].engine.state.rebuilds.view(path) is None


@pytest.mark.parametrize("is_clean", [True, False])
async def test_a_log_that_is_gone_at_the_start_is_lost_until_its_loss_is_accepted(
    alone: Lab, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    node = await filled(alone)
    await asyncio.sleep(6)  # The checkpoints name it by then.
    for _ in range(2):
        if node.memory[node.paths[0]].exists("orders-0"):
            node.memory[node.paths[0]].remove_tree("orders-0")
        node = await alone.restart(1, is_clean=is_clean)
        assert await alone.tell(ORDERS) == {1: STORAGE}
        assert dict(node.engine.state.hosted.iterate_offline())[ORDERS].loss is Loss.REBUILD
        await asyncio.sleep(6)
    assert f"{node.paths[0]}: the logs of 1 replicas are gone" in caplog.text
    await node.engine.loaded_log_dirs.release([ORDERS], accepts_loss=True)
    assert await alone.tell(ORDERS) == {1: ErrorCode.NONE}
    assert await node.dir_of() == node.paths[0]


async def test_what_is_missing_while_a_log_dir_is_offline_may_lie_there(alone: Lab) -> None:
    node = await filled(alone)
    await asyncio.sleep(6)
    disks = list(node.memory.values())
    disks[0].remove_tree("orders-0")
    disks[1].write_file("replication-offset-checkpoint", b"garbage")
    node = await alone.restart(1, is_clean=False, disks=disks)
    assert ORDERS not in dict(node.engine.state.hosted.iterate_offline())


async def test_a_move_whose_destination_was_away_goes_on_when_it_is_back(alone: Lab) -> None:
    node = stopped(await filled(alone))
    path = node.paths[1]
    await begin(node, path)
    node.log_dirs[path].fail("append", OSError(5, "broken"))
    assert await node.dir_of(is_future=True) is None
    await node.bring_back(path, ReturnRule())
    assert await node.dir_of(is_future=True) == path
    assert node.engine.gauges().move_count == 1
    assert node.state.log_dir_states.log_count(path) == 1
