"""LeaderAndIsr and UpdateMetadata as the controller sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from broker.storage.layout import render_partition_metadata
from protocol.errors import ErrorCode
from protocol.ids import LEADER_DURING_DELETE, TopicPartition
from tests.broker.engine.fetched import now_s
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import (
    BROKER_EPOCH,
    ORDERS,
    Led,
    leader_and_isr,
    offsets_of,
    topic_id_of,
    update_metadata,
)
from tests.broker.engine.moved import begin, filled, names, stopped

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHER = TopicPartition("other", 0)


async def test_new_logs_spread_over_the_log_dirs(alone: Lab) -> None:
    tps = [TopicPartition("orders", number) for number in range(9)]
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    await alone.tell(*tps, is_new=True)
    dirs = [await alone[1].dir_of(tp) for tp in tps]
    assert sorted(map(dirs.count, alone[1].paths)) == [3, 3, 3]
    assert alone[1].events.topics == ["orders"]


@pytest.mark.kafka_bug("KAFKA-16234")
@pytest.mark.scenario(84)
async def test_a_log_dir_offline_allows_new_replicas_and_refuses_unknown_old_ones(
    alone: Lab,
) -> None:
    alone[1].log_dirs[alone[1].paths[0]].fail("test", OSError("broken"))
    alone.led[ORDERS] = Led([1], 1, [1])
    assert await alone.tell(ORDERS) == {1: STORAGE}
    assert alone[1].engine.gauges().offline_replica_count == 1
    alone.led[OTHER] = Led([1], 1, [1])
    assert await alone.tell(OTHER, is_new=True) == {1: ErrorCode.NONE}
    assert await alone[1].dir_of(OTHER) in alone[1].paths[1:]


@pytest.mark.scenario(84)
async def test_an_old_replica_without_a_log_is_made_when_all_log_dirs_are_good(
    alone: Lab,
) -> None:
    alone.led[ORDERS] = Led([1], 1, [1])
    assert await alone.tell(ORDERS) == {1: ErrorCode.NONE}
    assert await alone[1].dir_of() is not None


@pytest.mark.scenario(85)
async def test_the_probe_of_healthy_partitions_is_answered_with_a_stale_epoch(lab: Lab) -> None:
    await lab.create()
    await lab.create(OTHER)
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("test", OSError("broken"))
    assert await lab.tell(ORDERS, to=[1]) == {1: STORAGE}
    assert await lab.tell(OTHER, to=[1]) == {1: ErrorCode.STALE_CONTROLLER_EPOCH}


@pytest.mark.scenario(86)
async def test_an_old_broker_epoch_is_refused_everywhere(alone: Lab) -> None:
    led = {ORDERS: Led([1], 1, [1])}
    old = leader_and_isr(led, broker_epoch=BROKER_EPOCH - 1)
    answer = await alone[1].engine.leadership.leader_and_isr(old)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert answer.topics[0].partition_errors[0].error_code == ErrorCode.STALE_BROKER_EPOCH
    for accepted in (-1, BROKER_EPOCH + 1):
        led[ORDERS].leader_epoch += 1
        request = leader_and_isr(led, broker_epoch=accepted)
        answer = await alone[1].engine.leadership.leader_and_isr(request)
        assert answer.topics[0].partition_errors[0].error_code == ErrorCode.NONE


async def test_an_old_controller_is_refused(alone: Lab) -> None:
    led = {ORDERS: Led([1], 1, [1])}
    await alone[1].engine.leadership.leader_and_isr(leader_and_isr(led, controller_epoch=3))
    answer = await alone[1].engine.leadership.leader_and_isr(
        leader_and_isr(led, controller_epoch=2)
    )
    assert answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    refused = update_metadata(alone.led, [1])
    assert (
        alone[1].engine.leadership.update_metadata(refused).error_code
        == ErrorCode.STALE_CONTROLLER_EPOCH
    )


@pytest.mark.scenario(83)
async def test_another_topic_id_is_inconsistent(alone: Lab) -> None:
    await alone.create(replicas=[1])
    request = leader_and_isr({ORDERS: Led([1], 1, [1], leader_epoch=1)})
    request.topic_states[0].topic_id = b"z" * 16
    answer = await alone[1].engine.leadership.leader_and_isr(request)
    assert answer.topics[0].partition_errors[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID


@pytest.mark.parametrize(
    ("told", "is_new"), [(Led([1], 1, [1]), True), (Led([1, 2], 2, [2], leader_epoch=7), False)]
)
async def test_a_topic_made_anew_over_logs_keeps_them_as_strays(
    alone: Lab, told: Led, *, is_new: bool
) -> None:
    await alone.create(replicas=[1])
    old_id = alone[1].engine.state.hosted.view(ORDERS).topic_id

    assert await told_of_another(alone, told, is_new=is_new) == ErrorCode.NONE

    view = alone[1].engine.state.hosted.view(ORDERS)
    assert (view.topic_id, old_id != view.topic_id) == (b"z" * 16, True)
    assert [name.startswith("orders-0.") for name in strays(alone)] == [True]


@pytest.mark.parametrize(
    "told",
    [
        Led([1], 1, [1], leader_epoch=1),
        Led([1, 2], 2, [1, 2], leader_epoch=1),
        Led([1, 2], -1, [2], leader_epoch=1),
        Led([2, 3], 2, [2, 3], leader_epoch=1),
    ],
)
async def test_a_log_of_another_id_stays_where_its_broker_does_not_begin_to_follow(
    alone: Lab, told: Led
) -> None:
    await alone.create(replicas=[1])
    assert await told_of_another(alone, told) == ErrorCode.INCONSISTENT_TOPIC_ID
    assert strays(alone) == []


async def told_of_another(alone: Lab, told: Led, *, is_new: bool = False) -> int:
    """Tell the broker of a topic of the same name and another id; return the partition's code."""
    request = leader_and_isr({ORDERS: told})
    request.topic_states[0].topic_id = b"z" * 16
    request.topic_states[0].partition_states[0].is_new = is_new
    answer = await alone[1].engine.leadership.leader_and_isr(request)
    return answer.topics[0].partition_errors[0].error_code


def strays(alone: Lab) -> list[str]:
    dirs = alone[1].engine.state.log_dirs.values()
    names = [name for log_dir in dirs for name in log_dir.disk.list_dir("")]
    return [name for name in names if name.endswith("-stray")]


@pytest.mark.scenario(83)
async def test_an_id_that_comes_late_is_written_beside_the_log(alone: Lab) -> None:
    request = leader_and_isr({ORDERS: Led([1], 1, [1])}, is_new=True)
    request.topic_states[0].topic_id = bytes(16)
    await alone[1].engine.leadership.leader_and_isr(request)
    answer = await alone[1].engine.leadership.leader_and_isr(
        leader_and_isr({ORDERS: Led([1], 1, [1])})
    )
    assert answer.topics[0].partition_errors[0].error_code == ErrorCode.NONE
    await asyncio.sleep(0)
    disk = alone[1].memory[await alone[1].dir_of() or ""]
    assert b"topic_id" in disk.read_file("orders-0/partition.metadata")


@pytest.mark.kafka_bug("KAFKA-8526")
@pytest.mark.scenario(87)
async def test_a_log_that_cannot_be_made_goes_to_the_next_log_dir(alone: Lab) -> None:
    """KAFKA-8526: the chosen log dir breaks just then; the others of the request are untouched."""
    tps = [TopicPartition("orders", number) for number in range(6)]
    alone[1].disks[alone[1].paths[0]].set_fault("eio")
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    answer = await alone[1].engine.leadership.leader_and_isr(
        leader_and_isr({tp: alone.led[tp] for tp in tps}, is_new=True)
    )
    codes = [row.error_code for row in answer.topics[0].partition_errors]
    assert codes == [ErrorCode.NONE] * 6
    assert {await alone[1].dir_of(tp) for tp in tps} == set(alone[1].paths[1:])
    assert len(alone[1].events.failed) == 1


@pytest.mark.scenario(76, 106)
async def test_without_a_candidate_the_partition_is_offline(alone: Lab) -> None:
    await alone[1].engine.moves.alter([(ORDERS, alone[1].paths[0])])
    alone[1].log_dirs[alone[1].paths[0]].fail("test", OSError("broken"))
    alone.led[ORDERS] = Led([1], 1, [1])
    assert await alone.tell(ORDERS, is_new=True) == {1: STORAGE}
    assert (await alone[1].produce("a")).error_code == STORAGE
    offline = alone[1].state.hosted.offline_replica(ORDERS)
    assert offline is not None
    assert offline.topic_id == topic_id_of("orders")


async def test_a_hung_disk_delays_only_the_new_logs_on_it(alone: Lab) -> None:
    await alone.create(OTHER, replicas=[1])
    hung = next(path for path in alone[1].paths if path != alone[1].paths[0])
    alone[1].workers[hung].hangs = True
    tps = [TopicPartition("orders", number) for number in range(6)]
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    alone.led[OTHER].leader_epoch = 1
    telling = alone.begin(alone.tell(OTHER, *tps, is_new=True))
    await asyncio.sleep(0.1)
    assert not telling.done()
    produced = [(await alone[1].produce("a", tp=tp, acks=1)).error_code for tp in (OTHER, *tps)]
    assert produced.count(ErrorCode.NONE) == 5
    await telling
    assert len(alone[1].events.failed) == 1, "the deadline ended the wait"
    produced = [(await alone[1].produce("a", tp=tp, acks=1)).error_code for tp in tps]
    assert produced == [ErrorCode.NONE] * 6


async def test_a_caller_that_gives_up_does_not_cut_a_request_in_half(alone: Lab) -> None:
    alone.led[ORDERS] = Led([1], 1, [1])
    telling = alone.begin(alone.tell(ORDERS, is_new=True))
    await asyncio.sleep(0)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    assert await alone.tell(ORDERS, is_new=True) == {1: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert (await alone[1].produce("a")).error_code == ErrorCode.NONE


async def test_a_leader_that_nobody_is_leaves_a_follower_without_source(lab: Lab) -> None:
    await lab.create()
    await lab.elect(ORDERS, -1, [1])
    assert (await lab[1].produce("a")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not lab[2].following.source_ids


async def test_who_waits_at_a_leader_that_follows_from_now_on_is_told_at_once(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("a"))
    await asyncio.sleep(0.05)
    before_s = asyncio.get_running_loop().time()
    await lab.elect(ORDERS, 2, [1, 2, 3])
    result = await waiting
    assert (result.error_code, result.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, (2, 1))
    assert asyncio.get_running_loop().time() - before_s < 1


async def test_a_thousand_partitions_take_their_roles_quickly(alone: Lab) -> None:
    tps = [TopicPartition("orders", number) for number in range(1_000)]
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    await alone.tell(*tps, is_new=True)
    for tp in tps:
        alone.led[tp].leader_epoch += 1
    await alone.tell(*tps)
    assert alone[1].engine.gauges().leader_count == 1_000


async def test_a_leader_that_becomes_a_follower_sends_waiting_consumers_away(lab: Lab) -> None:
    await lab.create()
    waiting = lab.begin(lab[1].fetch(0, max_wait_ms=5_000))
    await asyncio.sleep(0.01)
    await lab.elect(ORDERS, 2, [1, 2, 3])
    result = await waiting
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result.current_leader == (2, 1)


async def test_metadata_of_a_newer_controller_deposes_the_older_one(alone: Lab) -> None:
    newer = update_metadata(alone.led, [1])
    newer.controller_epoch = 3
    leadership = alone[1].engine.leadership
    assert leadership.update_metadata(newer).error_code == ErrorCode.NONE
    answer = await leadership.leader_and_isr(leader_and_isr({ORDERS: Led([1], 1, [1])}))
    assert answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH


async def test_metadata_has_logs_removed_that_are_of_no_replica_here(alone: Lab) -> None:
    """The future log of a move, and one that was made just as its log dir failed."""
    node = stopped(await filled(alone))
    await begin(node, node.paths[1])
    empty = TopicPartition("empty", 0)
    metadata = render_partition_metadata(topic_id_of(empty.topic))
    node.memory[node.paths[2]].make_dir(str(empty))
    node.memory[node.paths[2]].write_file(f"{empty}/partition.metadata", metadata)
    alone.led.clear()

    node = await alone.restart(1)  # It is told what there is.

    await asyncio.sleep(0.1)
    endings = [name.rpartition("-")[2] for path in node.paths[1:] for name in names(node, path)]
    assert endings == ["delete", "delete"]


class FakeCoordinators:
    """Remembers what it was told of deleted partitions."""

    def __init__(self) -> None:
        self.deleted: list[TopicPartition] = []
        self.told_count = 0

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        raise NotImplementedError

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        raise NotImplementedError

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        self.told_count += 1
        self.deleted += tps


async def test_coordinators_hear_of_partitions_that_are_being_deleted_and_of_no_others(
    alone: Lab,
) -> None:
    coordinators = FakeCoordinators()
    alone[1].events.coordinators = coordinators
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    assert coordinators.told_count == 0
    alone.led[ORDERS].leader = LEADER_DURING_DELETE
    alone.tell_metadata()
    assert (coordinators.deleted, coordinators.told_count) == ([ORDERS], 1)


async def test_who_waits_for_a_replica_of_a_broker_that_is_gone_goes_on_with_that_news(
    lab: Lab,
) -> None:
    """It was about to join the Isr again, so that what it had not got was not committed."""
    await lab.create()
    lab[3].is_reachable = False
    await lab.elect(ORDERS, 1, [1, 2])
    lab.isr_code = ErrorCode.INELIGIBLE_REPLICA
    lab[3].is_reachable = True
    await lab.tell(ORDERS, to=[3])
    await asyncio.sleep(1)
    lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("a", timeout_ms=120_000))
    await asyncio.sleep(2)
    assert not waiting.done()
    begun_s = now_s()
    lab[1].engine.leadership.update_metadata(update_metadata(lab.led, [1, 2]))
    assert (await waiting).error_code == ErrorCode.NONE
    assert now_s() == begun_s


async def test_a_new_leader_serves_what_it_writes_from_memory(lab: Lab) -> None:
    """And one that leads on in another epoch keeps there what it had."""
    await lab.create(replicas=[1, 2])
    await lab[1].produce("a")
    await lab.elect(ORDERS, 2, [1, 2])
    await lab[2].produce("b")
    await lab.elect(ORDERS, 2, [1, 2])
    lab[2].workers[lab[2].replica().log_dir].hangs = True
    begun_s = now_s()
    assert offsets_of(await lab[2].fetch(1)) == [1]
    assert now_s() == begun_s


async def test_a_future_log_found_at_the_start_goes_if_its_partition_was_deleted(
    alone: Lab,
) -> None:
    """Seed 410395: the broker ended before the log dir came back, so nothing remembers it."""
    node = stopped(await filled(alone))
    path = node.paths[1]
    await begin(node, path)
    node.log_dirs[path].fail("append", OSError(5, "broken"))
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    del alone.led[ORDERS]

    after = await alone.restart(1)

    await after.log_dirs[path].queue.submit("wait", lambda: None)
    assert [name.rpartition("-")[2] for name in names(after, path)] == ["delete"]
    assert after.state.orphan_future_logs == {}


@pytest.mark.parametrize("leader_epoch", [0, 1])
async def test_a_follower_whose_topic_is_given_its_id_late_is_fetched_by_that_alone(
    lab: Lab, leader_epoch: int
) -> None:
    """A leader is asked for topics by their ids."""
    leadership, following = lab[2].engine.leadership, lab[2].following
    without = leader_and_isr({ORDERS: Led([1, 2], 1, [1, 2])}, is_new=True)
    without.topic_states[0].topic_id = bytes(16)
    await leadership.leader_and_isr(without)
    assert following.unsettled == {1: [(bytes(16), 0)]}
    led = Led([1, 2], 1, [1, 2], leader_epoch)
    await leadership.leader_and_isr(leader_and_isr({ORDERS: led}))
    assert following.unsettled == {1: [(topic_id_of("orders"), 0)]}
