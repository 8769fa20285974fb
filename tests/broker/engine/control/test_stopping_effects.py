"""What a StopReplica ends beside the replica, and what becomes of files that cannot be renamed."""

from __future__ import annotations

import asyncio

from broker.core.hosted import ReturnRule
from broker.storage.recovery import LoadedLogDir
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, leader_and_isr
from tests.broker.engine.moved import abandoned, begin, filled, held, names, unretired
from tests.broker.engine.node import Node

NONE = ErrorCode.NONE
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHER = TopicPartition("other", 0)


def kinds(node: Node) -> dict[str, list[str]]:
    """Return what the names of directories end with, by log dir."""
    return {
        path: [name.rpartition("-")[2] for name in names(node, path)]
        for path in node.paths
        if names(node, path)
    }


async def test_the_controller_epoch_of_an_order_to_stop_is_the_newest_from_then_on(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    alone[1].state.controller_epoch = 0
    await alone.stop_replica(1, ORDERS, delete=False)
    assert alone[1].state.controller_epoch == 1


async def test_a_topic_that_was_made_anew_leaves_its_former_log_as_a_stray(alone: Lab) -> None:
    node = await filled(alone)
    alone.led[ORDERS].leader_epoch = 0
    request = leader_and_isr({ORDERS: Led([1], 1, [1])}, is_new=True)
    request.topic_states[0].topic_id = b"N" * 16
    answer = await node.engine.leadership.leader_and_isr(request)
    assert answer.topics[0].partition_errors[0].error_code == NONE
    found = [kind for each in kinds(node).values() for kind in each]
    assert sorted(found) == ["0", "stray"]
    assert node.replica().partition.log_end_offset == 0


async def test_an_order_that_is_refused_or_of_no_replica_here_ends_nothing(lab: Lab) -> None:
    await lab.create()
    await lab.elect(ORDERS, 1, [1, 2, 3])
    code = await lab.stop_replica(2, ORDERS, delete=False, leader_epoch=0)
    assert code == ErrorCode.FENCED_LEADER_EPOCH
    assert not lab[2].replica().is_stopped
    assert lab[2].following.source_ids == [1]
    for delete in (False, True):
        assert await lab.stop_replica(2, OTHER, delete=delete) == NONE


async def test_a_move_rests_while_its_replica_is_stopped(alone: Lab) -> None:
    node = await held(alone)
    assert node.moves.active_count == 1
    await alone.stop_replica(1, ORDERS, delete=False)
    assert node.moves.active_count == 0
    assert node.replica().future is not None


async def test_a_deleted_replica_takes_its_move_and_its_rate_along(alone: Lab) -> None:
    node = await held(alone)
    node.state.rebuilds.begin(node.paths[0], (ORDERS,), 1_000)
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert kinds(node) == {node.paths[0]: ["delete"], node.paths[1]: ["delete"]}
    assert not node.state.is_moving
    assert node.state.rebuilds.quota_of(ORDERS) is None


async def test_files_of_a_replica_that_nobody_named_yet_are_deleted(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = await alone.restart(1)
    node.state.rebuilds.begin(node.paths[0], (ORDERS,), 1_000)
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert kinds(node) == {node.paths[0]: ["delete"]}
    assert node.state.hosted.idle_replica(ORDERS) is None
    assert node.state.rebuilds.quota_of(ORDERS) is None


async def test_a_future_log_whose_current_one_is_gone_is_deleted_with_its_replica(
    lab: Lab,
) -> None:
    node = await abandoned(lab)
    path = await node.dir_of(is_future=True)
    assert path is not None
    assert await lab.stop_replica(2, ORDERS, delete=True) == NONE
    assert kinds(node) == {path: ["delete"]}
    assert node.state.orphan_future_logs == {}


async def test_a_replica_that_cannot_be_renamed_is_offline(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone.create(OTHER, replicas=[1])
    assert alone[1].replica().log_dir != alone[1].replica(OTHER).log_dir
    await alone[1].replica().log.dir.close()
    assert await alone.stop_replica(1, ORDERS, delete=True) == STORAGE
    assert alone[1].state.hosted.is_offline(ORDERS)
    alone[1].disks[alone[1].replica(OTHER).log_dir].set_fault("eio")
    assert await alone.stop_replica(1, OTHER, delete=True) == STORAGE
    assert alone[1].state.hosted.is_offline(OTHER)


async def test_a_replica_whose_log_dir_failed_while_its_swap_was_waited_for_is_not_deleted(
    alone: Lab,
) -> None:
    """It would be there again, and nobody would ask for its deletion any more (seed 1151593)."""
    node = await filled(alone)
    swapping = node.replica().log.swapping
    swapping.begin()
    deletion = alone.begin(alone.stop_replica(1, ORDERS, delete=True))
    await asyncio.sleep(1)
    assert not deletion.done()
    node.log_dirs[node.paths[0]].fail("test", OSError("broken"))
    swapping.end()
    assert await deletion == STORAGE
    assert kinds(node) == {node.paths[0]: ["0"]}
    await node.bring_back(node.paths[0], ReturnRule())
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert "0" not in [kind for each in kinds(node).values() for kind in each]


async def test_of_logs_that_nobody_named_the_empty_ones_of_no_replica_here_are_removed(
    lab: Lab,
) -> None:
    tps = [TopicPartition("orders", index) for index in range(3)]
    for tp in tps:
        await lab.create(tp, replicas=[2])
    await lab[2].produce("a", tp=tps[2])
    elsewhere = lab.led[tps[1]], lab.led[tps[2]]
    for led in elsewhere:
        led.replicas, led.leader, led.isr = [1], 1, [1]
    node = await lab.restart(2)
    await asyncio.sleep(0.1)
    found = sorted(name.split(".")[0] for path in node.paths for name in names(node, path))
    assert found == ["orders-0", "orders-1", "orders-2"]
    assert sorted(kind for each in kinds(node).values() for kind in each) == ["0", "2", "delete"]
    assert [node.state.hosted.idle_replica(tp) is None for tp in tps] == [False, True, False]


async def test_a_log_that_a_cut_swap_left_of_no_replica_here_stays_as_a_stray(lab: Lab) -> None:
    await lab.create(replicas=[2])
    await lab[2].produce("a")
    lab.led[ORDERS].replicas, lab.led[ORDERS].leader, lab.led[ORDERS].isr = [1], 1, [1]

    def leave_over(loaded: dict[str, LoadedLogDir]) -> None:
        for found in loaded.values():
            for log in found.logs:
                log.is_left_over = True

    node = await lab.restart(2, change=leave_over)
    await asyncio.sleep(0.1)
    assert [kind for each in kinds(node).values() for kind in each] == ["stray"]


async def test_a_move_that_was_ordered_for_a_deleted_replica_is_told_as_its_end(
    alone: Lab,
) -> None:
    node = await held(alone)
    told = node.events.moves_ended_count
    await alone.stop_replica(1, ORDERS, delete=True)
    assert node.events.moves_ended_count == told + 1
    assert await begin(node, node.paths[2]) == ErrorCode.REPLICA_NOT_AVAILABLE


async def test_not_all_is_deleted_while_the_log_that_a_move_replaced_is_out_of_reach(
    alone: Lab,
) -> None:
    """Its log dir failed before the log was set aside: it would be there again (seed 1064586)."""
    node = await unretired(alone)
    for _ in range(2):
        assert await alone.stop_replica(1, ORDERS, delete=True) == STORAGE
    await node.bring_back(node.paths[0], ReturnRule())
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert [kind for each in kinds(node).values() for kind in each if kind == "0"] == []
