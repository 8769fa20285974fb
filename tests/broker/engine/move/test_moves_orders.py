"""Orders to move replicas: who else has turns, what cannot be made, what is told of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import Enum

import pytest

from broker.core.future_log import MoveState
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled, move_rows, stopped, until_moved

NONE = ErrorCode.NONE


async def test_others_have_a_turn_before_each_four_orders(alone: Lab) -> None:
    await alone.create(replicas=[1])
    path = await alone[1].dir_of() or ""

    async def turns_until_answered(count: int) -> int:
        orders = [(TopicPartition("orders", index), path) for index in range(count)]
        ordering, turns = alone.begin(alone[1].moves.alter(orders)), 0
        while not ordering.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    one, four, five, nine = [await turns_until_answered(count) for count in (1, 4, 5, 9)]
    assert one == four
    assert (five - four, nine - five) == (1, 1)


async def test_a_move_to_a_log_dir_that_is_closed_already_does_not_begin(alone: Lab) -> None:
    node = await filled(alone)
    await node.log_dirs[node.paths[1]].close()
    told = node.events.moves_ended_count
    async with asyncio.timeout(1):
        assert await begin(node, node.paths[1]) == ErrorCode.KAFKA_STORAGE_ERROR
    assert node.replica().future is None
    assert (node.state.is_moving, node.events.moves_ended_count) == (False, told + 1)


async def test_a_move_that_cannot_begin_is_told_of_in_the_log_and_one_that_can_is_not(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = await filled(alone)
    assert await begin(node, node.paths[2]) == NONE
    assert not any("does not move" in message for message in caplog.messages)
    node.disks[node.paths[1]].set_fault("eio")
    assert await begin(node, node.paths[1]) == ErrorCode.KAFKA_STORAGE_ERROR
    assert f"orders-0 does not move to {node.paths[1]}: KAFKA_STORAGE_ERROR" in caplog.messages


async def test_each_state_of_a_move_is_witnessed(alone: Lab) -> None:
    node = await filled(alone)
    seen: list[Enum] = []

    def witness(before: Enum, _event: Enum) -> None:
        seen.append(before)

    node.state.ports = replace(node.state.ports, witness=witness)
    assert await begin(node, node.paths[1]) == NONE
    await until_moved(node, node.paths[1])
    assert [one for one in seen if isinstance(one, MoveState)] == [
        MoveState.TRUNCATING,
        MoveState.COPYING,
        MoveState.SWAPPING,
    ]


async def test_a_future_log_counts_where_new_replicas_are_placed_until_it_is_given_up(
    alone: Lab,
) -> None:
    node = stopped(await filled(alone))
    here, there = node.replica().log_dir, node.paths[1]
    assert await begin(node, there) == NONE
    others = [TopicPartition("others", index) for index in range(2)]
    await alone.create(others[0], replicas=[1])
    assert node.replica(others[0]).log_dir == node.paths[2]
    assert await begin(node, here) == NONE
    await alone.create(others[1], replicas=[1])
    assert node.replica(others[1]).log_dir == there


async def test_what_was_set_while_a_future_log_was_made_holds_for_it(alone: Lab) -> None:
    node = stopped(await filled(alone))
    node.workers[node.paths[1]].delay_s = 1
    ordering = alone.begin(begin(node, node.paths[1]))
    await asyncio.sleep(0.5)
    node.topic_configs["orders"] = {"segment.bytes": "12345"}
    node.engine.topic_configs_changed(["orders"])
    assert await ordering == NONE
    future = node.replica().future
    assert future is not None
    assert future.log is not None
    assert future.log.files.config.segment_bytes == 12_345


async def test_a_move_is_paused_while_its_replica_is_stopped_and_goes_on_under_a_new_leader(
    alone: Lab,
) -> None:
    node = stopped(await filled(alone))
    assert await begin(node, node.paths[1]) == NONE
    assert await alone.stop_replica(1, ORDERS, delete=False) == NONE
    assert node.moves.active_count == 0
    node.set_move_limit(2**63 - 1)
    await asyncio.sleep(5)
    assert await node.dir_of(is_future=True) == node.paths[1]
    assert (await alone.elect(ORDERS, 1, [1]))[1] == NONE
    await until_moved(node, node.paths[1])


async def test_future_logs_of_no_replica_here_go_whatever_becomes_of_the_first(lab: Lab) -> None:
    node = lab[2]
    tps = [TopicPartition("orders", index) for index in range(2)]
    for tp in tps:
        await lab.create(tp, replicas=[2])
    stopped(node)
    for tp in tps:
        path = next(path for path in node.paths if path != node.replica(tp).log_dir)
        assert await begin(node, path, tp) == NONE
    node = await lab.restart(2)
    first, second = node.state.orphan_future_logs.values()
    assert first.dir is not second.dir
    await first.dir.close()
    for led in lab.led.values():
        led.replicas = led.isr = [1]
        led.leader = 1
    lab.tell_metadata()
    assert list(node.state.orphan_future_logs.values()) == [first]


async def test_the_rows_of_a_move_tell_its_limit_and_what_there_is_to_copy(alone: Lab) -> None:
    node = await filled(alone)
    size_bytes = node.replica().log.files.size_bytes
    assert await begin(node, node.paths[1]) == NONE
    await until_moved(node, node.paths[1])
    assert {row.throttle_bytes_per_s for row in move_rows(node)} == {-1}
    assert move_rows(node)[0].total_bytes == size_bytes
    node.rows.clear()
    node.set_move_limit(1_000_000)
    assert await begin(node, node.paths[2]) == NONE
    await until_moved(node, node.paths[2])
    assert {row.throttle_bytes_per_s for row in move_rows(node)} == {1_000_000}
