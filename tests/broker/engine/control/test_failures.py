"""A log dir fails: exactly its replicas go, once, and everybody who waits is told."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition, failure_id
from protocol.metrics.rows import FailoverEventRow, FailoverStep
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import BROKER_EPOCH, ORDERS, Led
from tests.broker.engine.moved import begin, filled, stopped

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR


def broken() -> OSError:
    return OSError(5, "Input/output error")


async def three_partitions(lab: Lab) -> dict[str, TopicPartition]:
    """On broker 1: leads ``lead``, follows ``follow``, and ``move`` is on its way out."""
    tps = {name: TopicPartition(name, 0) for name in ("lead", "pad1", "follow", "pad2", "move")}
    for name, tp in tps.items():
        await lab.create(tp, replicas=[2, 1, 3] if name == "follow" else [1, 2, 3])
    for number in range(20):
        await lab[1].produce("x" * 100 + str(number), tp=tps["move"])
    lab[1].set_move_limit(1)
    return tps


@pytest.mark.scenario(58, 119, 149)
async def test_leader_follower_and_moving_replica_of_a_failed_dir_all_go_offline(lab: Lab) -> None:
    tps = await three_partitions(lab)
    first, second = lab[1].paths
    dirs = {name: await lab[1].dir_of(tp) for name, tp in tps.items()}
    assert dirs == {"lead": first, "pad1": second, "follow": first, "pad2": second, "move": first}
    lab[1].workers[second].hangs = False
    begun = await lab[1].engine.moves.alter([(tps["move"], second)])
    assert begun == {tps["move"]: ErrorCode.NONE}
    lab[1].moves.suspend(lab[1].replica(tps["move"]))
    lab[1].log_dirs[first].fail("append", broken())
    codes = {
        name: (await lab[1].produce("a", tp=tp, acks=1)).error_code for name, tp in tps.items()
    }
    assert codes["lead"] == codes["follow"] == codes["move"] == STORAGE
    assert codes["pad1"] == codes["pad2"] == ErrorCode.NONE
    gauges = lab[1].engine.gauges()
    assert (gauges.offline_replica_count, gauges.partition_count, gauges.leader_count) == (3, 5, 2)
    failed, good = lab[1].engine.describe.log_dirs(None)
    assert (failed.error_code, failed.total_bytes, failed.replicas) == (STORAGE, -1, [])
    left = [(r.tp, r.offset_lag) for r in good.replicas if r.is_future]
    assert left == [(tps["move"], -1)]


async def test_a_move_into_a_log_dir_that_fails_is_over_at_once_and_its_replica_stays(
    alone: Lab,
) -> None:
    node = stopped(await filled(alone))
    target = node.paths[1]
    assert await begin(node, target) is ErrorCode.NONE
    node.log_dirs[target].fail("append", broken())
    assert (node.moves.active_count, node.metrics.counters.moves_failed.value) == (0, 1)
    assert await node.dir_of(is_future=True) is None
    assert (await node.produce("a")).error_code is ErrorCode.NONE


async def test_a_log_dir_that_fails_takes_no_future_log_on_another_one_along(alone: Lab) -> None:
    """One whose current log is away: its move goes on when that is back."""
    node = stopped(await filled(alone))
    source, target, other = node.paths
    assert await begin(node, target) is ErrorCode.NONE
    node.log_dirs[source].fail("append", broken())
    node.log_dirs[other].fail("append", broken())
    assert await node.dir_of(is_future=True) == target
    node.log_dirs[target].fail("append", broken())
    assert await node.dir_of(is_future=True) is None


async def test_a_log_that_could_not_be_compacted_is_tried_again_on_a_log_dir_that_came_back(
    alone: Lab,
) -> None:
    node = await filled(alone)
    path, offsets = node.paths[0], node.state.cleaner_offsets
    offsets.mark_uncleanable(path, ORDERS)
    node.log_dirs[path].fail("append", broken())
    await node.bring_back(path, ReturnRule())
    assert not offsets.is_uncleanable(path, ORDERS)


async def test_a_follower_that_is_back_in_its_epoch_is_told_of_the_high_watermark_again(
    lab: Lab,
) -> None:
    """A fetch session tells it once, and a leader goes on without a new epoch (seed 1064117)."""
    await lab.create(replicas=[1, 2])
    await lab.create(TopicPartition("other", 0), replicas=[1, 2])
    await lab[1].produce("a")
    await asyncio.sleep(1)
    node, path = lab[2], await lab[2].dir_of() or ""
    assert node.replica().partition.high_watermark == 1
    node.log_dirs[path].fail("append", broken())
    await node.bring_back(path, ReturnRule())
    await lab.tell(ORDERS, to=[2])
    assert node.replica().partition.high_watermark == 0
    await asyncio.sleep(1)
    assert node.replica().partition.high_watermark == 1


@pytest.mark.scenario(56, 74)
async def test_a_failure_is_told_once_however_often_it_is_met(lab: Lab) -> None:
    await lab.create()
    path = await lab[1].dir_of() or ""
    log_dir = lab[1].log_dirs[path]
    for _ in range(3):
        log_dir.fail("append", broken())
        assert log_dir.failure is not None
        lab[1].failures.on_log_dir_failed(log_dir.failure)
    (told,) = lab[1].events.failed
    assert (told.path, told.operation, told.offline_replica_count) == (path, "append", 1)
    assert told.directory_id == log_dir.directory_id
    assert lab[1].state.log_dir_states.offline_paths == (path,)
    (row,) = [row for row in lab[1].rows if isinstance(row, FailoverEventRow)]
    assert row.step is FailoverStep.LOG_DIR_FAILED
    assert row.failure_id == failure_id(1, log_dir.directory_id, BROKER_EPOCH)
    assert (row.topic_count, row.partition_count) == (1, 1)


@pytest.mark.scenario(57)
async def test_the_last_log_dir_ends_the_broker_and_is_no_news_for_the_controller(
    lab: Lab,
) -> None:
    for log_dir in lab[1].log_dirs.values():
        log_dir.fail("append", broken())
    assert [told.path for told in lab[1].events.failed] == [lab[1].paths[0]]
    assert [told.path for told in lab[1].events.last_failed] == [lab[1].paths[1]]


@pytest.mark.scenario(66)
async def test_a_disk_that_works_again_stays_offline(alone: Lab) -> None:
    await alone.create(replicas=[1])
    path = await alone[1].dir_of() or ""
    alone[1].disks[path].set_fault("eio")
    assert (await alone[1].produce("a")).error_code == STORAGE
    alone[1].disks[path].clear()
    await asyncio.sleep(30)
    assert (await alone[1].produce("a")).error_code == STORAGE
    assert (await alone[1].fetch(0)).error_code == STORAGE


@pytest.mark.scenario(75)
async def test_offline_replicas_count_as_partitions_but_not_as_leaders(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("append", broken())
    gauges = lab[1].engine.gauges()
    assert (gauges.partition_count, gauges.leader_count) == (1, 0)
    assert (gauges.under_replicated_count, gauges.offline_log_dir_count) == (0, 1)


@pytest.mark.scenario(63)
async def test_every_question_about_an_offline_replica_is_a_storage_error(lab: Lab) -> None:
    await lab.create()
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("append", broken())
    engine = lab[1].engine
    listed = await engine.offsets.list_offsets(
        ORDERS, -1, current_leader_epoch=-1, isolation_level=0, replica_id=-1
    )
    epoch = engine.offsets.offset_for_leader_epoch(
        ORDERS, current_leader_epoch=-1, leader_epoch=0, replica_id=-1
    )
    assert listed == (STORAGE, -1, -1, -1)
    assert epoch == (STORAGE, -1, -1)
    moved = await engine.moves.alter([(ORDERS, lab[1].paths[1])])
    assert moved == {ORDERS: STORAGE}


async def test_a_hung_disk_is_a_failed_disk_after_its_deadline(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].workers[await alone[1].dir_of() or ""].hangs = True
    started_s = asyncio.get_running_loop().time()
    result = await alone[1].produce("a", acks=1)
    assert result.error_code == STORAGE
    assert asyncio.get_running_loop().time() - started_s == pytest.approx(10, abs=0.1)


async def test_a_dir_renamed_away_is_noticed_although_descriptors_go_on_working(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    assert (await alone[1].produce("a")).error_code == ErrorCode.NONE
    alone[1].memory[await alone[1].dir_of() or ""].detach()
    alone.begin(alone[1].produce("b", acks=0))
    await asyncio.sleep(0.6)
    assert (await alone[1].produce("c")).error_code == STORAGE


@pytest.mark.kafka_bug("KAFKA-9016")
async def test_replicas_that_are_not_found_while_a_log_dir_is_offline_are_named(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a start with a broken disk: nobody knows what lay there until it is asked for."""
    path = alone[1].paths[0]
    alone[1].log_dirs[path].fail("open", broken())
    alone.led[ORDERS] = Led([1], 1, [1])
    assert await alone.tell(ORDERS) == {1: STORAGE}
    assert f"1 replicas not found while {path} is offline: orders-0" in caplog.text


async def test_a_failed_log_dir_has_no_space_and_no_replica_that_is_rebuilt(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node, path = alone[1], alone[1].replica().log_dir
    node.state.rebuilds.begin(path, (ORDERS,), 1_000)
    assert path in node.state.usage
    node.log_dirs[path].fail("test", OSError("broken"))
    assert path not in node.state.usage
    assert node.state.rebuilds.quota_of(ORDERS) is None


async def test_a_cause_without_words_is_told_by_its_kind(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    await alone.create(replicas=[1])
    path = alone[1].replica().log_dir
    alone[1].log_dirs[path].fail("test", TimeoutError())
    (failed,) = alone[1].events.failed
    assert failed.cause == "TimeoutError"
    told = f"log dir {path}: online -> offline: test: TimeoutError; 1 replicas offline: orders-0"
    assert told in caplog.messages


async def test_a_replica_that_is_taken_offline_ends(lab: Lab) -> None:
    await lab.create()
    node, replica = lab[2], lab[2].replica()
    assert node.following.source_ids == [1]
    node.failures.take_offline(ORDERS, replica.topic_id)
    assert (replica.is_ended, node.state.hosted.is_offline(ORDERS)) == (True, True)
    node.following.prune()
    assert node.following.source_ids == []
    node.failures.take_offline(ORDERS, replica.topic_id)


async def test_a_coordinator_ends_with_the_log_dir_of_its_partition(lab: Lab) -> None:
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    await lab.create(offsets, cleanup_policy="compact")
    assert len(list(lab[1].groups.hosts())) == 1
    lab[1].log_dirs[lab[1].replica(offsets).log_dir].fail("test", OSError("broken"))
    assert list(lab[1].groups.hosts()) == []


async def test_where_no_replica_is_missing_nothing_is_told(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    alone[1].failures.tell_missing([])
    assert caplog.messages == []
    alone[1].failures.tell_missing([ORDERS])
    assert len(caplog.messages) == 1
