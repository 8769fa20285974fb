"""What is found on a log dir, at the start or when it comes back: logs, copies and remains."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from broker.storage.checkpoints import render_offsets
from broker.storage.recovery import LoadedLogDir
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.records.build import BatchOptions
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled, held, let_go, names, unretired, until_moved
from tests.broker.engine.node import Node

OTHER = TopicPartition("other", 0)
HIGH_WATERMARKS = "replication-offset-checkpoint"


def counts(node: Node) -> list[int]:
    return [node.state.log_dir_states.log_count(path) for path in node.paths]


async def broken(lab: Lab, *, count: int = 1) -> Node:
    """Return a broker whose first log dir, with ``orders-0`` on it, has failed."""
    node = await filled(lab, count=count)
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    return node


async def test_logs_and_copies_that_are_found_count_where_they_lie(alone: Lab) -> None:
    await held(alone)
    await alone.create(OTHER, replicas=[1])
    node = await alone.restart(1)
    assert counts(node) == [1, 1, 1]
    assert list(node.state.orphan_future_logs) == [ORDERS]
    assert node.state.hosted.idle_replica(ORDERS) is not None
    assert node.state.left_over == {}


async def test_what_waits_for_its_deletion_at_a_start_goes_after_the_delay(alone: Lab) -> None:
    node = await filled(alone)
    await alone.stop_replica(1, ORDERS, delete=True)
    node = await alone.restart(1)
    path = node.paths[0]
    assert [name.endswith("-delete") for name in names(node, path)] == [True]
    await asyncio.sleep(59)
    assert len(names(node, path)) == 1
    await asyncio.sleep(2)
    assert names(node, path) == []


async def test_what_waits_for_its_deletion_in_a_log_dir_that_comes_back_goes_as_well(
    alone: Lab,
) -> None:
    node = await filled(alone)
    path = node.paths[0]
    await alone.stop_replica(1, ORDERS, delete=True)
    node.log_dirs[path].fail("test", OSError("broken"))
    await node.bring_back(path, ReturnRule())
    assert [name.endswith("-delete") for name in names(node, path)] == [True]
    await asyncio.sleep(61)
    assert names(node, path) == []


async def test_a_log_that_lies_elsewhere_by_now_is_not_lost_where_checkpoints_name_it_still(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = await filled(alone)
    node.memory[node.paths[1]].write_atomic(HIGH_WATERMARKS, render_offsets({ORDERS: 3}))
    await node.checkpoints.close()
    node.memory[node.paths[1]].write_atomic(HIGH_WATERMARKS, render_offsets({ORDERS: 3}))
    node = await alone.restart(1, is_clean=False)
    assert not node.state.hosted.is_offline(ORDERS)
    assert not any("are gone that" in message for message in caplog.messages)
    assert (await alone.tell(ORDERS))[1] == ErrorCode.NONE


async def test_a_log_that_is_gone_is_to_be_made_anew_where_it_was_and_nobody_ordered_that(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = await filled(alone)
    await asyncio.sleep(6)
    node.memory[node.paths[0]].remove_tree("orders-0")
    node = await alone.restart(1, is_clean=False)
    assert node.state.hosted.is_offline(ORDERS)
    states = node.state.log_dir_states
    assert states.preferred(ORDERS) == node.paths[0]
    assert not states.forget_preference(ORDERS), "it ends no move"
    assert any("the logs of 1 replicas are gone" in message for message in caplog.messages)


async def test_producers_that_are_expired_at_a_start_are_not_known(alone: Lab) -> None:
    await alone.create(replicas=[1])
    options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
    await alone[1].produce("a", options=options)

    async def known_after_a_start() -> int:
        node = await alone.restart(1)
        idle = node.state.hosted.idle_replica(ORDERS)
        assert idle is not None
        return len(idle.positions.producers.states)

    assert await known_after_a_start() == 1
    alone[1].state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
    assert await known_after_a_start() == 0


async def test_a_log_without_a_topic_id_has_none(alone: Lab) -> None:
    await alone.create(replicas=[1])

    def take_ids(loaded: dict[str, LoadedLogDir]) -> None:
        for found in loaded.values():
            for log in found.logs:
                log.topic_id = None

    node = await alone.restart(1, change=take_ids)
    idle = node.state.hosted.idle_replica(ORDERS)
    assert idle is not None
    assert idle.topic_id == ZERO_UUID


# A log dir that comes back.


async def test_logs_that_come_back_count_there_again_and_strays_do_not(alone: Lab) -> None:
    node = await broken(alone)
    await node.bring_back(node.paths[0], ReturnRule())
    assert counts(node) == [1, 0, 0]
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    assert counts(node) == [0, 0, 0]


@pytest.mark.parametrize("rate", [None, 1_000])
async def test_lost_replicas_are_rebuilt_at_a_rate_where_one_is_named(
    lab: Lab, rate: int | None
) -> None:
    await lab.create()
    path = lab[2].replica().log_dir
    lab[2].log_dirs[path].fail("test", OSError("broken"))
    rule = ReturnRule() if rate is None else ReturnRule(rate_bytes_per_second=rate)
    returned = await lab[2].bring_back(path, rule, is_empty=True)
    assert returned.lost == (ORDERS,)
    rebuilds = lab[2].state.rebuilds
    assert bool(rebuilds) is (rate is not None)
    assert (rebuilds.quota_of(ORDERS) is None) is (rate is None)


async def test_a_copy_that_comes_back_without_its_current_log_waits_for_it(alone: Lab) -> None:
    node = await held(alone)
    for path in node.paths[:2]:
        node.log_dirs[path].fail("test", OSError("broken"))
    returned = await node.bring_back(node.paths[1], ReturnRule())
    assert returned.found == ()
    assert list(node.state.orphan_future_logs) == [ORDERS]
    assert counts(node)[1] == 1
    await node.bring_back(node.paths[0], ReturnRule())
    let_go(node)
    assert (await alone.elect(ORDERS, 1, [1]))[1] == ErrorCode.NONE
    await until_moved(node, node.paths[1])


async def test_a_copy_that_comes_back_is_gone_on_with(alone: Lab) -> None:
    node = await held(alone)
    node.log_dirs[node.paths[1]].fail("test", OSError("broken"))
    assert node.replica().future is None
    returned = await node.bring_back(node.paths[1], ReturnRule())
    assert (returned.found, returned.strays) == ((), ())
    assert node.replica().future is not None
    let_go(node)
    await until_moved(node, node.paths[1])


async def test_a_copy_of_a_replica_that_moves_elsewhere_by_now_is_set_aside(alone: Lab) -> None:
    node = await held(alone)
    node.log_dirs[node.paths[1]].fail("test", OSError("broken"))
    node.state.log_dir_states.revive(node.paths[1])  # Else nothing may be moved.
    assert await begin(node, node.paths[2]) == ErrorCode.NONE
    node.state.log_dir_states.fail(node.paths[1])
    await node.bring_back(node.paths[1], ReturnRule())
    await asyncio.sleep(0.01)
    (name,) = names(node, node.paths[1])
    assert name.endswith("-delete"), "it is empty"
    await asyncio.sleep(61)
    assert names(node, node.paths[1]) == []
    future = node.replica().future
    assert future is not None
    assert future.dir.path == node.paths[2]


async def test_a_log_of_a_replica_that_was_deleted_meanwhile_stays_as_a_stray(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(1)
    path = lab[2].replica().log_dir
    lab[2].log_dirs[path].fail("test", OSError("broken"))
    lab[2].state.hosted._offline.clear()  # pyright: ignore[reportPrivateUsage] - as after a deletion
    await lab.create(OTHER)
    returned = await lab[2].bring_back(path, ReturnRule(is_unread=False))
    assert returned.strays == (ORDERS,)
    await asyncio.sleep(0.01)
    kinds = [name.rpartition("-")[2] for name in names(lab[2], path)]
    assert "stray" in kinds
    assert lab[2].checkpoints.before_new_log(lab[2].log_dirs[path], ORDERS), "it has left"
    await asyncio.sleep(61)
    assert "stray" in [name.rpartition("-")[2] for name in names(lab[2], path)]


async def test_a_log_that_a_move_had_replaced_takes_nobodys_place_while_that_is_away(
    alone: Lab,
) -> None:
    """It lacks what was written since, and there would be two of them (seed 1065239)."""
    node = await unretired(alone)
    source, target = node.paths[:2]
    await node.produce("since")
    node.log_dirs[target].fail("append", OSError(5, "Input/output error"))
    assert ORDERS in (await node.bring_back(source, ReturnRule())).strays
    assert await node.dir_of() is None
    assert ORDERS in (await node.bring_back(target, ReturnRule())).found
    await alone.elect(ORDERS, 1, [1])
    assert await node.dir_of() == target
    assert node.replica().partition.log_end_offset == 21
