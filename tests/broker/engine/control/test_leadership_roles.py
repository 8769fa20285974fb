"""What changes with a role, who is told, and where new logs go when log dirs fail meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import pytest

from broker.core.hosted import Role
from broker.engine.types import DeletedRecords, FetchParams
from broker.storage.checkpoints import parse_leader_epochs
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.control import LeaderAndIsrLiveLeader
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.fetched import as_follower, now_s, part
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, leader_and_isr, topic_id_of
from tests.broker.engine.moved import held
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE
OTHER = TopicPartition("other", 0)


def delete(node: Node, offset: int) -> Any:
    return node.engine.record_deletions.delete([(ORDERS, offset)], timeout_ms=20_000)


# Who is told.


async def test_new_topics_are_told_once_and_known_ones_not_at_all(alone: Lab) -> None:
    told: list[list[str]] = []
    alone[1].events.topics_seen = told.append  # type: ignore[method-assign]
    await alone.create(replicas=[1])
    await alone.create(ORDERS._replace(partition=1), replicas=[1])
    await alone.elect(ORDERS, 1, [1])
    assert told == [["orders"]]
    alone.led[OTHER] = Led([1], 1, [1])
    await alone.tell(ORDERS, OTHER, is_new=True)
    assert told == [["orders"], ["other"]]


async def test_leaders_that_the_metadata_does_not_name_yet_are_named_by_leader_and_isr(
    alone: Lab,
) -> None:
    request = leader_and_isr({ORDERS: Led([1, 8], 8, [8])})
    request.live_leaders = [LeaderAndIsrLiveLeader(broker_id=8, host_name="host", port=99)]
    await alone[1].engine.leadership.leader_and_isr(request)
    assert alone[1].state.leader_addresses == {8: ("host", 99)}


async def test_leaders_take_their_roles_before_followers_do_and_each_role_is_witnessed(
    alone: Lab,
) -> None:
    seen: list[tuple[Enum, Enum]] = []

    def witness(before: Enum, after: Enum) -> None:
        if isinstance(after, Role):
            seen.append((before, after))

    for tp in (ORDERS, OTHER):
        await alone.create(tp, replicas=[1])
    alone[1].state.ports = replace(alone[1].state.ports, witness=witness)
    for tp, leader in ((ORDERS, 2), (OTHER, 1)):
        alone.led[tp].replicas, alone.led[tp].leader = [1, 2], leader
        alone.led[tp].leader_epoch = 1
    await alone.tell(ORDERS, OTHER, to=[1])
    assert seen == [(Role.LEADER, Role.LEADER), (Role.LEADER, Role.FOLLOWER)]


async def test_coordinators_hear_of_roles_of_their_partitions(lab: Lab) -> None:
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    await lab.create(offsets, cleanup_policy="compact")
    assert [len(list(lab[number].groups.hosts())) for number in (1, 2, 3)] == [1, 0, 0]
    await lab.elect(offsets, 2, [1, 2, 3])
    assert [len(list(lab[number].groups.hosts())) for number in (1, 2, 3)] == [0, 1, 0]


# What changes with the role.


async def test_a_stopped_replica_is_none_any_more_in_its_next_role(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.stop_replica(1, ORDERS, delete=False)
    assert alone[1].replica().is_stopped
    await alone.elect(ORDERS, 1, [1])
    assert not alone[1].replica().is_stopped


async def test_a_leader_writes_its_epoch_and_is_no_replica_that_is_rebuilt(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node, path = alone[1], alone[1].replica().log_dir
    node.state.rebuilds.begin(path, (ORDERS,), 1_000)
    assert node.state.rebuilds.quota_of(ORDERS) is not None
    await alone.elect(ORDERS, 1, [1])
    await asyncio.sleep(0)
    assert node.state.rebuilds.quota_of(ORDERS) is None
    epochs = node.memory[path].read_file("orders-0/leader-epoch-checkpoint")
    assert parse_leader_epochs(epochs) == [(1, 0)]


async def test_what_a_smaller_isr_has_is_committed_when_its_leader_is_elected(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("a"))
    reading = lab.begin(lab[1].fetch(0, max_wait_ms=20_000))
    await asyncio.sleep(0.1)
    begun_s = now_s()
    await lab.elect(ORDERS, 1, [1])
    assert (await waiting).error_code == NONE
    assert len((await reading).records) == 1
    assert now_s() == begun_s


async def test_a_deletion_waits_no_more_for_who_is_no_replica_any_more(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(1)
    lab[3].is_reachable = False
    waiting = lab.begin(delete(lab[1], 1))
    await asyncio.sleep(1)
    assert not waiting.done()
    begun_s = now_s()
    lab.led[ORDERS].replicas = [1]
    await lab.elect(ORDERS, 1, [1])
    assert await waiting == [DeletedRecords(NONE, 1)]
    assert now_s() == begun_s


async def test_a_deletion_waits_no_more_for_a_follower_whose_broker_is_gone(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(1)
    lab[3].is_reachable = False
    await lab.elect(ORDERS, 1, [1, 2])
    await asyncio.sleep(1)
    waiting = lab.begin(delete(lab[1], 1))
    await asyncio.sleep(1)
    assert not waiting.done()
    begun_s, gone = now_s(), lab.nodes.pop(3)
    lab.tell_metadata()
    assert await waiting == [DeletedRecords(NONE, 1)]
    assert now_s() == begun_s
    lab.nodes[3] = gone


async def test_followers_that_wait_hear_of_a_new_epoch_at_once(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone.led[ORDERS].replicas = [1, 8]
    alone.led[ORDERS].leader_epoch = 1
    await alone.tell(ORDERS, to=[1])
    params = FetchParams(replica_id=8, max_wait_ms=20_000, min_bytes=1)
    asked = [as_follower(0, epoch=1)]
    waiting = alone.begin(alone[1].engine.fetches.fetch(params, asked))
    await asyncio.sleep(1)
    begun_s = now_s()
    alone.led[ORDERS].leader_epoch = 2
    await alone.tell(ORDERS, to=[1])
    (result,) = await waiting
    assert (result.error_code, now_s()) == (ErrorCode.FENCED_LEADER_EPOCH, begun_s)


async def test_a_follower_keeps_nothing_in_memory_that_its_leader_may_not_have(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    await lab[1].produce("a")
    assert lab[1].replica().tail.size_bytes > 0
    lab[2].is_reachable = False
    await lab.elect(ORDERS, 2, [1, 2])
    assert lab[1].replica().tail.size_bytes == 0


async def test_a_move_is_checked_again_under_a_new_leader_epoch(alone: Lab) -> None:
    node = await held(alone)
    await alone.elect(ORDERS, 1, [1])
    future = node.replica().future
    assert future is not None
    assert future.move.leader_epoch == 1


async def test_a_log_that_was_found_at_the_start_takes_its_role(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    node = await alone.restart(1)
    assert await alone.tell(ORDERS) == {1: NONE}
    assert (await node.fetch(0)).error_code == NONE


async def test_an_order_without_topic_ids_takes_none_away_and_one_with_them_gives_them(
    lab: Lab,
) -> None:
    await lab.create()
    for number in (1, 2):
        node = lab[number]
        for is_given in (False, True):
            led = lab.led[ORDERS]
            led.leader_epoch += 1
            if is_given:
                node.replica().topic_id = node.replica().log.topic_id = ZERO_UUID
            request = leader_and_isr({ORDERS: led})
            if not is_given:
                request.topic_states[0].topic_id = ZERO_UUID
            await node.engine.leadership.leader_and_isr(request)
            assert node.replica().topic_id == topic_id_of("orders")
            assert node.replica().log.topic_id == topic_id_of("orders")


# Log dirs that fail meanwhile.


async def test_who_is_offline_when_all_is_done_has_a_storage_error(alone: Lab) -> None:
    await alone.create(replicas=[1])
    here = alone[1].replica().log_dir
    other = next(path for path in alone[1].paths if path != here)
    alone.led[OTHER] = Led([1], 1, [1])
    alone.tell_metadata()
    for path in alone[1].paths:
        alone[1].workers[path].delay_s = 1
    alone.led[ORDERS].leader_epoch = 1
    telling = alone.begin(alone.tell(OTHER, ORDERS))
    await asyncio.sleep(0.5)
    assert other != here
    alone[1].log_dirs[here].fail("test", OSError("broken"))
    assert await telling == {1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert (await alone[1].fetch(0, tp=OTHER)).error_code == NONE


async def test_a_new_log_whose_log_dir_fails_just_as_it_is_made_is_made_elsewhere(
    alone: Lab,
) -> None:
    node = alone[1]
    path = node.paths[0]
    run = node.workers[path].run

    def run_and_fail(jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        def done_and_failed(results: list[Any]) -> None:
            done(results)
            node.log_dirs[path].fail("test", OSError("broken"))

        run(jobs, done_and_failed)

    node.workers[path].run = run_and_fail  # type: ignore[method-assign]
    tps = [ORDERS._replace(partition=index) for index in range(4)]
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    alone.tell_metadata()
    assert await alone.tell(*tps, is_new=True) == {1: NONE}
    assert {node.replica(tp).log_dir for tp in tps} == set(node.paths[1:])


async def test_replicas_that_are_found_nowhere_are_told_of_in_the_log(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    await alone.create(replicas=[1])
    here = alone[1].replica().log_dir
    node = alone[1]
    node.log_dirs[here].fail("test", OSError("broken"))
    lost = TopicPartition("lost", 0)
    alone.led[lost] = Led([1], 1, [1])
    alone.tell_metadata()
    code = (await alone.tell(lost))[1]
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert any("1 replicas not found while" in message for message in caplog.messages)


async def test_a_wish_is_fulfilled_by_the_log_that_is_made_there_and_by_no_other(
    alone: Lab,
) -> None:
    node = alone[1]
    await node.engine.moves.alter([(ORDERS, node.paths[2])])
    told = node.events.moves_ended_count
    await alone.create(OTHER, replicas=[1])
    assert node.events.moves_ended_count == told
    await alone.create(replicas=[1])
    assert (node.replica().log_dir, node.events.moves_ended_count) == (node.paths[2], told + 1)


async def test_a_consumer_reads_from_a_follower_that_has_become_one(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await lab.elect(ORDERS, 2, [1, 2, 3])
    await asyncio.sleep(1)
    params = FetchParams(leader_only=False)
    (result,) = await lab[1].engine.fetches.fetch(params, [part()])
    assert (result.error_code, len(result.records)) == (NONE, 1)
