"""KIP-112, whole: a log dir fails in the middle of whatever its broker was doing with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode
from protocol.faults.model import FileClass, Operation
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, offsets_of
from tests.broker.engine.moved import begin, names, stopped
from tests.broker.engine.node import Node
from tests.broker.engine.transactions import end, write

NONE = ErrorCode.NONE
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
OTHER = TopicPartition("other", 0)


def breaks(node: Node, path: str, operation: Operation, *classes: FileClass) -> None:
    """Let one kind of operation fail in a log dir from now on, and nothing else."""
    node.disks[path].set_fault(
        "eio",
        operations=(operation,),
        files=classes or None,
    )


async def two_partitions(lab: Lab) -> Node:
    """Broker 1 leads ``orders-0`` in its first log dir and ``other-0`` in its second."""
    await lab.create(replicas=[n for n in (1, 2, 3) if n in lab.nodes], segment_bytes="1024")
    await lab.create(OTHER, replicas=[n for n in (1, 2, 3) if n in lab.nodes])
    node = lab[1]
    assert [await node.dir_of(tp) for tp in (ORDERS, OTHER)] == node.paths[:2]
    for tp in (ORDERS, OTHER):
        assert (await node.produce("a" * 300, tp=tp)).error_code == NONE
    return node


async def first_log_dir_alone_is_offline(node: Node) -> None:
    """What must hold after every failure of the first log dir."""
    assert [told.path for told in node.events.failed] == node.paths[:1]
    assert node.events.last_failed == []
    assert (await node.produce("b")).error_code == STORAGE
    assert (await node.fetch(0)).error_code == STORAGE
    assert (await node.produce("b", tp=OTHER)).error_code == NONE
    assert offsets_of(await node.fetch(0, tp=OTHER)) == [0, 1]
    gauges = node.engine.gauges()
    assert (gauges.offline_log_dir_count, gauges.offline_replica_count) == (1, 1)


@pytest.mark.scenario(55)
@pytest.mark.kafka_bug("KAFKA-16195", "offline-replica-count")
async def test_the_first_log_dir_is_one_like_any_other(alone: Lab) -> None:
    node = await two_partitions(alone)
    node.disks[node.paths[0]].set_fault("eio")
    assert (await node.produce("b")).error_code == STORAGE
    await first_log_dir_alone_is_offline(node)


async def roll(node: Node) -> None:
    for _ in range(4):
        await node.produce("b" * 300, acks=1)


async def checkpoint(_node: Node) -> None:
    await asyncio.sleep(61)


async def delete(node: Node) -> None:
    await node.engine.moves.alter([])
    node.logs.raise_log_start(node.replica(), 1)
    await asyncio.sleep(0.1)


WORKS: dict[str, tuple[Operation, tuple[FileClass, ...], Callable[[Node], Awaitable[None]]]] = {
    "a segment rolls": (Operation.OPEN, (FileClass.LOG,), roll),
    "an index is opened": (Operation.OPEN, (FileClass.INDEX,), roll),
    "a producer snapshot is written": (Operation.WRITE, (FileClass.SNAPSHOT,), roll),
    "a checkpoint is written": (Operation.WRITE, (FileClass.CHECKPOINT,), checkpoint),
    "leader epochs are written": (Operation.WRITE, (FileClass.LEADER_EPOCHS,), delete),
    "nothing is done": (Operation.LOOK, (), checkpoint),
    "records are written": (Operation.APPEND, (FileClass.LOG,), roll),
}


@pytest.mark.parametrize("work", WORKS)
async def test_a_log_dir_fails_while(alone: Lab, work: str) -> None:
    node = await two_partitions(alone)
    operation, classes, act = WORKS[work]
    breaks(node, node.paths[0], operation, *classes)
    await act(node)
    assert node.disks[node.paths[0]].hits > 0
    await first_log_dir_alone_is_offline(node)


@pytest.mark.kafka_bug("KAFKA-7313")
@pytest.mark.parametrize("operation", [Operation.RENAME, Operation.LOOK])
async def test_a_log_dir_fails_while_its_topic_is_deleted(alone: Lab, operation: Operation) -> None:
    """The failed replica is a storage error, and stays listed until its log dir is back."""
    node = await two_partitions(alone)
    breaks(node, node.paths[0], operation)
    if operation is Operation.LOOK:
        await asyncio.sleep(1)
    assert await alone.stop_replica(1, ORDERS, delete=True) == STORAGE
    assert await alone.stop_replica(1, OTHER, delete=True) == NONE
    assert await alone.stop_replica(1, ORDERS, delete=True) == STORAGE
    assert [told.path for told in node.events.failed] == node.paths[:1]
    assert node.engine.gauges().offline_replica_count == 1


@pytest.mark.parametrize("operation", [Operation.MAKE_DIR, Operation.WRITE])
async def test_a_log_dir_fails_while_topics_are_created(alone: Lab, operation: Operation) -> None:
    """New replicas go to the other log dirs in the same request."""
    node = alone[1]
    breaks(node, node.paths[0], operation)
    tps = [TopicPartition("orders", number) for number in range(9)]
    for tp in tps:
        alone.led[tp] = Led([1], 1, [1])
    assert await alone.tell(*tps, is_new=True) == {1: NONE}
    assert {await node.dir_of(tp) for tp in tps} == set(node.paths[1:])
    assert len(node.events.failed) == 1
    for tp in tps:
        assert (await node.produce("a", tp=tp)).error_code == NONE
    left = [name for name in names(node, node.paths[0]) if name.startswith("orders")]
    node = await alone.restart(1)
    for tp in tps:
        await alone.elect(tp, 1, [1])
        assert offsets_of(await node.fetch(0, tp=tp)) == [0], f"{left} were left on the broken disk"


@pytest.mark.scenario(53)
async def test_after_an_append_that_failed_half_way_nothing_touches_the_log(alone: Lab) -> None:
    """The marker of an aborted transaction is in the log, its index entry could not be written."""
    node = await two_partitions(alone)
    path = node.paths[0]
    await write(node, 7, 0)
    node.disks[path].set_fault(
        "eio",
        operations=(Operation.OPEN, Operation.APPEND),
        files=(FileClass.INDEX,),
    )
    assert (await end(node, 7, commit=False)).error_code == STORAGE
    node.disks[path].clear()
    before = node.disks[path].operations_count
    for _ in range(2):
        assert (await node.produce("b")).error_code == STORAGE
        assert (await node.fetch(0)).error_code == STORAGE
        await asyncio.sleep(10)
    assert node.disks[path].operations_count == before
    await first_log_dir_alone_is_offline(node)


async def test_two_log_dirs_fail_at_once(alone: Lab) -> None:
    node = await two_partitions(alone)
    for path in node.paths[:2]:
        node.disks[path].set_fault("eio")
    results = await asyncio.gather(node.produce("b"), node.produce("b", tp=OTHER))
    assert [result.error_code for result in results] == [STORAGE, STORAGE]
    assert sorted(told.path for told in node.events.failed) == node.paths[:2]
    gauges = node.engine.gauges()
    assert (gauges.offline_log_dir_count, gauges.offline_replica_count) == (2, 2)
    await alone.create(TopicPartition("more", 0), replicas=[1])
    assert await node.dir_of(TopicPartition("more", 0)) == node.paths[2]


@pytest.mark.kafka_bug("failure-thread-dies")
async def test_a_failure_that_cannot_be_told_does_not_hide_the_next_one(alone: Lab) -> None:
    """In Kafka one exception ended the thread that handles failures."""
    node = await two_partitions(alone)
    told = node.events.log_dir_failed
    raised: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: raised.append(context["message"]))

    def refuse(failed: object) -> None:
        del failed
        raise RuntimeError("the controller cannot be told")

    node.events.log_dir_failed = refuse  # type: ignore[method-assign]
    node.disks[node.paths[0]].set_fault("eio")
    assert (await node.produce("b")).error_code == STORAGE
    node.events.log_dir_failed = told  # type: ignore[method-assign]
    node.disks[node.paths[1]].set_fault("eio")
    assert (await node.produce("b", tp=OTHER)).error_code == STORAGE
    assert [failed.path for failed in node.events.failed] == [node.paths[1]]
    assert len(raised) == 1


@pytest.mark.kafka_bug("KAFKA-9016")
async def test_the_log_tells_which_log_dir_stops_and_what_was_on_it(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = await two_partitions(alone)
    node.disks[node.paths[0]].set_fault("enospc")
    await node.produce("b")
    (line,) = [r for r in caplog.records if "online -> offline" in r.getMessage()]
    assert line.levelno == logging.ERROR
    assert line.getMessage().startswith("log dir /b1/d1: online -> offline: append")
    assert "No space left on device" in line.getMessage()
    assert line.getMessage().endswith("; 1 replicas offline: orders-0")


@pytest.mark.scenario(110)
async def test_a_move_that_a_storage_error_refuses_is_in_the_log(
    alone: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    node = await two_partitions(alone)
    node.log_dirs[node.paths[2]].fail("append", OSError(5, "broken"))
    caplog.clear()
    assert await begin(node, node.paths[2]) == STORAGE
    (line,) = [record for record in caplog.records if "orders-0" in record.getMessage()]
    assert line.levelno == logging.WARNING
    assert "/b1/d3" in line.getMessage()
    assert "KAFKA_STORAGE_ERROR" in line.getMessage()


@pytest.mark.kafka_bug("KAFKA-7837")
async def test_an_offline_leader_proposes_no_isr(lab: Lab) -> None:
    node = await two_partitions(lab)
    lab[2].is_reachable = lab[3].is_reachable = False
    node.disks[node.paths[0]].set_fault("eio")
    for tp in (ORDERS, OTHER):
        await node.produce("b", tp=tp, acks=1)
    await asyncio.sleep(90)
    asked = {topic.topic_id for request in lab.alter_requests for topic in request.topics}
    assert node.replica(OTHER).topic_id in asked
    assert len(asked) == 1


@pytest.mark.kafka_bug("KAFKA-10371")
async def test_a_follower_that_is_stopped_in_the_middle_of_a_fetch_harms_nobody(lab: Lab) -> None:
    await two_partitions(lab)
    for number in range(20):
        produced = [lab.begin(lab[1].produce("b", tp=tp, acks=1)) for tp in (ORDERS, OTHER)]
        if number == 10:
            assert await lab.stop_replica(2, ORDERS, delete=True) == NONE
        await asyncio.gather(*produced)
    await asyncio.sleep(2)
    assert lab[2].disk_bytes(OTHER) == lab[1].disk_bytes(OTHER)
    assert lab[2].events.failed == []
    assert await lab[2].dir_of() is None


async def test_a_dir_fails_on_the_only_member_of_the_isr_and_nobody_else_leads(lab: Lab) -> None:
    """Clean elections: the partition waits for the log dir; unclean: the others' data is taken."""
    node = await two_partitions(lab)
    for broker_id in (2, 3):
        lab[broker_id].is_reachable = False
    await lab.elect(ORDERS, 1, [1])
    assert (await node.produce("alone")).error_code == NONE
    for broker_id in (2, 3):
        lab[broker_id].is_reachable = True
    node.disks[node.paths[0]].set_fault("eio")
    assert (await node.produce("b")).error_code == STORAGE
    await lab.elect(ORDERS, -1, [1])
    unavailable = (await lab[2].produce("c")).error_code
    assert unavailable == ErrorCode.NOT_LEADER_OR_FOLLOWER
    node.disks[node.paths[0]].clear()
    node = await lab.restart(1)
    await lab.elect(ORDERS, 1, [1])
    assert offsets_of(await node.fetch(0)) == [0, 1], "nothing acknowledged is missing"


async def test_a_repaired_log_dir_with_old_data_follows_what_was_written_meanwhile(
    lab: Lab,
) -> None:
    node = await two_partitions(lab)
    await lab.elect(ORDERS, 1, [1])
    for broker_id in (2, 3):
        lab[broker_id].is_reachable = False
    await node.produce(["only here"] * 3)
    lab[2].is_reachable = lab[3].is_reachable = True
    node.disks[node.paths[0]].set_fault("eio")
    await node.produce("b")
    await lab.elect(ORDERS, 2, [2])  # An unclean election.
    for _ in range(5):
        assert (await lab[2].produce("new")).error_code == NONE
    node.disks[node.paths[0]].clear()
    node = await lab.restart(1)
    await lab.elect(ORDERS, 2, lab.led[ORDERS].isr)
    await lab.tell(OTHER, to=[1])
    await asyncio.sleep(3)
    assert node.disk_bytes() == lab[2].disk_bytes()
    assert 1 in lab.led[ORDERS].isr


async def test_swapped_log_dirs_serve_the_same_replicas(alone: Lab) -> None:
    """The paths of two disks changed places: the directory ids tell, the records are all there."""
    node = await two_partitions(alone)
    before = [log_dir.directory_id for log_dir in node.log_dirs.values()]
    trees = list(node.memory.values())
    await node.engine.stop()
    node.is_reachable = False
    first, second, third = (MemoryDisk(path) for path in node.paths)
    for disk, source in zip((first, second, third), (trees[1], trees[0], trees[2]), strict=True):
        copy_disk(source, disk)
    node = await alone.restart(1, is_clean=False, disks=[first, second, third])
    after = [log_dir.directory_id for log_dir in node.log_dirs.values()]
    assert after == [before[1], before[0], before[2]]
    for tp, path in ((ORDERS, node.paths[1]), (OTHER, node.paths[0])):
        await alone.elect(tp, 1, [1])
        assert await node.dir_of(tp) == path
        assert offsets_of(await node.fetch(0, tp=tp)) == [0]


def copy_disk(source: MemoryDisk, target: MemoryDisk, folder: str = "") -> None:
    for name in source.list_dir(folder):
        path = f"{folder}/{name}" if folder else name
        if source.is_dir(path):
            target.make_dir(path)
            copy_disk(source, target, path)
        elif name != ".lock":
            target.write_file(path, source.read_file(path))


async def test_a_source_and_a_destination_that_fail_together_cost_one_replica(alone: Lab) -> None:
    node = stopped(await two_partitions(alone))
    await begin(node, node.paths[2])
    for path in (node.paths[2], node.paths[0]):
        node.log_dirs[path].fail("append", OSError(5, "broken"))
    assert (await node.produce("b")).error_code == STORAGE
    assert (await node.produce("b", tp=OTHER)).error_code == NONE
    gauges = node.engine.gauges()
    assert (gauges.move_count, gauges.offline_replica_count) == (0, 1)
    assert node.state.cleaning_pauses.count(ORDERS) == 0
