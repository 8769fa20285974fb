"""Which shards a broker has, and which key goes to which."""

from __future__ import annotations

import asyncio

import pytest

from broker.coordinators.coordinator_log import CoordinatorLog
from broker.coordinators.shard_host import HostPorts
from broker.coordinators.shards import Shards
from broker.core.coordination import Decided, Shard, partition_for
from broker.core.groups.group_shard import GroupShard
from broker.engine.serve.produce import BegunProduce
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.coordinators.asking import commit, fetch, until, until_loaded
from tests.broker.coordinators.conftest import OFFSETS
from tests.broker.coordinators.paced_host import Ledger, PacedLog, turns
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, update_metadata
from tests.broker.engine.node import Node


async def test_each_group_belongs_to_the_partition_of_its_name(lab: Lab) -> None:
    other = OFFSETS._replace(partition=1)
    await lab.create(other, replicas=[2, 3, 1], cleanup_policy="compact")
    await until_loaded(lab[1])
    await until_loaded(lab[2])
    for group in ("a", "b", "c", "d"):
        home = lab[1 + partition_for(group, 2)]
        codes = {node.id: await commit(node, 1, group=group) for node in lab.nodes.values()}
        assert [node_id for node_id, code in codes.items() if code is ErrorCode.NONE] == [home.id]
        assert lab[1].groups.partition_of(group).partition == home.id - 1


async def test_a_broker_that_knows_no_such_topic_is_no_coordinator() -> None:
    async with Lab.running(broker_count=1, dir_count=1) as lab:
        assert await commit(lab[1], 1) is ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
            lab[1].groups.partition_of("g")


async def test_offsets_of_a_deleted_topic_are_forgotten_by_whoever_coordinates(lab: Lab) -> None:
    await until_loaded(lab[1])
    assert await commit(lab[1], 5) is ErrorCode.NONE
    gone = update_metadata({ORDERS: Led([1, 2, 3], -2, [1, 2, 3])}, list(lab.nodes))
    for node in lab.nodes.values():
        node.engine.leadership.update_metadata(gone)
    assert (await fetch(lab[1])).offset == -1
    assert list(next(lab[1].groups.shards()).offsets.group_ids()) == []


async def test_a_partition_that_is_stopped_is_unloaded(lab: Lab) -> None:
    await until_loaded(lab[1])
    lab.led[OFFSETS].leader_epoch += 1
    code = await lab.stop_replica(1, OFFSETS, delete=True, leader_epoch=5)
    assert code == ErrorCode.NONE
    assert list(lab[1].groups.hosts()) == []


class _Unreadable(CoordinatorLog):
    def __init__(self) -> None:
        """Nothing is needed."""

    async def load(self, shard: Shard) -> BegunProduce:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)


async def test_a_partition_that_cannot_be_loaded_has_no_groups_to_tell_of(lab: Lab) -> None:
    state, config = lab[1].engine.state, broker_config({})
    shards = Shards(
        CONSUMER_OFFSETS,
        state.metadata,
        lambda _tp: _Unreadable(),
        lambda _log: GroupShard(config, lambda: 1_000_000, state.metadata),
        HostPorts(now_ms=state.now_ms, wall_ms=state.wall_ms, timeout_ms=5_000),
    )
    async with asyncio.TaskGroup() as tasks:
        shards.run(tasks)
        shards.lead(OFFSETS, 1)
        (host,) = shards.hosts()
        await until(lambda: host.is_unreadable)
        assert list(shards.shards()) == []
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            await shards.ask("g", lambda _shard, _waiter, _now, _wall: Decided())
        shards.stop()


def paced_shards(node: Node, made: list[PacedLog]) -> Shards[Ledger]:
    """Return shards whose logs are kept in ``made``."""
    state = node.engine.state

    def new_log(_tp: object) -> PacedLog:
        made.append(PacedLog(node))
        return made[-1]

    return Shards(
        CONSUMER_OFFSETS,
        state.metadata,
        new_log,
        lambda _log: Ledger(),
        HostPorts(now_ms=state.now_ms, wall_ms=state.wall_ms, timeout_ms=5_000),
    )


async def test_nobody_leads_before_the_broker_has_begun_or_when_it_ends(lab: Lab) -> None:
    made: list[PacedLog] = []
    shards = paced_shards(lab[1], made)
    shards.lead(OFFSETS, 1)
    assert list(shards.hosts()) == []
    shards.run(lab.group)
    shards.lead(OFFSETS, 1)
    (host,) = shards.hosts()
    await turns()
    assert list(shards.shards()) == [host.shard]
    shards.stop()
    shards.lead(OFFSETS, 2)
    assert (list(shards.hosts()), len(made)) == ([], 1)


async def test_a_later_epoch_of_the_same_leader_keeps_its_shard(lab: Lab) -> None:
    made: list[PacedLog] = []
    shards = paced_shards(lab[1], made)
    shards.run(lab.group)
    for leader_epoch in (1, 2):
        shards.lead(OFFSETS, leader_epoch)
        await turns()
    (host,) = shards.hosts()
    assert (len(made), host.leader_epoch) == (1, 2)
    shards.resign(OFFSETS._replace(partition=1))
    assert list(shards.hosts()) == [host]
    shards.resign(OFFSETS)
    assert not host.is_loaded
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        shards.shard_of("g")


async def test_while_a_shard_is_loaded_its_marker_is_left_to_the_log(lab: Lab) -> None:
    made: list[PacedLog] = []
    shards = paced_shards(lab[1], made)
    shards.run(lab.group)
    shards.lead(OFFSETS, 1)
    shards.transaction_ended(OFFSETS, 7, is_commit=True)
    shards.transaction_ended(OFFSETS._replace(partition=1), 7, is_commit=True)
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        list(shards.shards())
    await turns()
    (ledger,) = shards.shards()
    shards.transaction_ended(OFFSETS, 7, is_commit=False)
    assert ledger.ended == [(7, False)]
    shards.stop()
