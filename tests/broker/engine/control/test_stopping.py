"""StopReplica as the controller sends it."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from broker.storage.layout import SWAP_NOTE_FILE, render_partition_metadata
from broker.storage.swap import SwapNote, render_swap_note
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import StopReplicaRequest
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import (
    BROKER_EPOCH,
    ORDERS,
    Led,
    leader_and_isr,
    topic_id_of,
)

STORAGE = ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.scenario(78)
async def test_an_old_controller_stops_nothing(alone: Lab) -> None:
    newer = leader_and_isr({ORDERS: Led([1], 1, [1])}, controller_epoch=5)
    await alone[1].engine.leadership.leader_and_isr(newer)
    answer = await alone[1].engine.stopping.stop_replica(
        StopReplicaRequest(controller_id=9, controller_epoch=4, broker_epoch=BROKER_EPOCH)
    )
    assert (answer.error_code, answer.partition_errors) == (ErrorCode.STALE_CONTROLLER_EPOCH, ())


@pytest.mark.kafka_bug("KAFKA-7313")
@pytest.mark.scenario(79, 82)
@pytest.mark.parametrize("delete", [True, False])
async def test_an_offline_replica_answers_storage_error_every_time(
    alone: Lab, delete: bool
) -> None:
    await alone.create(replicas=[1])
    alone[1].log_dirs[await alone[1].dir_of() or ""].fail("test", OSError("broken"))
    codes = [await alone.stop_replica(1, ORDERS, delete=delete) for _ in range(2)]
    assert codes == [STORAGE, STORAGE]


async def test_a_replica_left_out_of_the_return_of_its_log_dir_is_deleted_on_demand(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    path = await alone[1].dir_of() or ""
    alone[1].log_dirs[path].fail("test", OSError("broken"))
    await alone[1].bring_back(path, ReturnRule(only=TopicPartition("others", 0)))
    assert await alone.stop_replica(1, ORDERS, delete=False) == STORAGE
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    assert alone[1].engine.gauges().offline_replica_count == 0
    assert await alone[1].dir_of() is None


@pytest.mark.scenario(80)
async def test_what_is_not_hosted_is_stopped_already(alone: Lab) -> None:
    unknown = TopicPartition("nothing", 0)
    assert await alone.stop_replica(1, unknown, delete=False) == ErrorCode.NONE
    assert await alone.stop_replica(1, unknown, delete=True) == ErrorCode.NONE


@pytest.mark.scenario(80)
async def test_a_log_nobody_named_yet_is_deleted_on_demand(alone: Lab) -> None:
    await alone.create(replicas=[1])
    path = await alone[1].dir_of() or ""
    node = await alone.restart(1)
    assert await alone.stop_replica(1, ORDERS, delete=False) == ErrorCode.NONE
    assert await node.dir_of() == path
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    assert await node.dir_of() is None


async def test_an_older_log_of_one_deleted_before_it_was_named_is_nobodys(alone: Lab) -> None:
    """It lay on a log dir that failed before anybody had named what lies there."""
    others = TopicPartition("others", 0)
    await alone.create(replicas=[1])
    await alone.create(others, replicas=[1])
    node = await alone.restart(1)
    path = await node.dir_of(others) or ""
    node.log_dirs[path].fail("test", OSError("broken"))
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    node.memory[path].make_dir(str(ORDERS))
    node.memory[path].write_file(f"{ORDERS}/partition.metadata", b"")
    assert (await node.bring_back(path, ReturnRule())).strays == (ORDERS,)


@pytest.mark.parametrize(
    ("is_named", "is_written", "is_kept"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
async def test_an_empty_log_of_a_partition_that_is_not_here_goes_with_the_first_metadata(
    alone: Lab, is_named: bool, is_written: bool, is_kept: bool
) -> None:
    """It was made just as its log dir failed, and its replica was deleted on another one."""
    path = alone[1].paths[0]
    if is_written:
        await alone.create(replicas=[1])
        await alone[1].produce("a", acks=1)
        path = await alone[1].dir_of() or ""
    else:
        metadata = render_partition_metadata(topic_id_of(ORDERS.topic))
        alone[1].memory[path].make_dir(str(ORDERS))
        alone[1].memory[path].write_file(f"{ORDERS}/partition.metadata", metadata)
    alone.led = {ORDERS: Led([1], 1, [1])} if is_named else {}
    node = await alone.restart(1)  # It is told what there is.
    await node.log_dirs[path].queue.submit("wait", lambda: None)
    assert (str(ORDERS) in node.memory[path].list_dir("")) is is_kept
    assert (node.state.hosted.idle_replica(ORDERS) is not None) is is_kept


@pytest.mark.parametrize("is_named", [False, True])
async def test_what_a_cut_swap_left_of_a_deleted_replica_is_set_aside_at_the_next_start(
    alone: Lab, *, is_named: bool
) -> None:
    """Its log dir was away while the log was deleted that it had replaced (seed 986350)."""
    await alone.create(replicas=[1])
    await alone[1].produce("a", acks=1)
    path = await alone[1].dir_of() or ""
    other = next(each for each in alone[1].paths if each != path)
    note = render_swap_note(SwapNote(other, f"{ORDERS}.{'d' * 32}-delete"))
    alone[1].memory[path].write_file(f"{ORDERS}/{SWAP_NOTE_FILE}", note)
    alone.led = {ORDERS: Led([1], 1, [1])} if is_named else {}
    node = await alone.restart(1)  # It is told what there is.
    await node.log_dirs[path].queue.submit("wait", lambda: None)
    assert (str(ORDERS) in node.memory[path].list_dir("")) is is_named
    strays = [name for name in node.memory[path].list_dir("") if name.endswith("-stray")]
    assert len(strays) == (0 if is_named else 1)
    assert (node.state.hosted.idle_replica(ORDERS) is not None) is is_named


@pytest.mark.scenario(81)
@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (3, ErrorCode.NONE),
        (2, ErrorCode.NONE),
        (1, ErrorCode.FENCED_LEADER_EPOCH),
        (-1, ErrorCode.NONE),
        (-2, ErrorCode.NONE),
    ],
)
async def test_only_older_leader_epochs_are_fenced(alone: Lab, epoch: int, code: int) -> None:
    await alone.create(replicas=[1])
    for _ in range(2):
        await alone.elect(ORDERS, 1, [1])
    assert await alone.stop_replica(1, ORDERS, delete=True, leader_epoch=epoch) == code
    assert (await alone[1].dir_of() is None) is (code == ErrorCode.NONE)


@pytest.mark.scenario(81)
async def test_a_disk_that_breaks_while_deleting_is_a_storage_error(alone: Lab) -> None:
    await alone.create(replicas=[1])
    alone[1].disks[await alone[1].dir_of() or ""].set_fault("eio")
    assert await alone.stop_replica(1, ORDERS, delete=True) == STORAGE
    assert len(alone[1].events.failed) == 1


async def test_a_stopped_follower_keeps_its_log_and_fetches_no_more(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    assert await lab.stop_replica(2, ORDERS, delete=False) == ErrorCode.NONE
    assert lab[2].following.source_ids == []
    assert await lab[2].dir_of() is not None


async def test_a_stopped_follower_that_is_told_again_fetches_again(lab: Lab) -> None:
    await lab.create()
    await lab.stop_replica(2, ORDERS, delete=False)
    assert await lab.tell(ORDERS, to=[2]) == {2: ErrorCode.NONE}
    assert lab[2].following.source_ids == [1]
    assert await lab.tell(ORDERS, to=[2]) == {2: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert (await lab[1].produce("a")).error_code == ErrorCode.NONE


async def test_a_deleted_replica_answers_those_who_wait(lab: Lab) -> None:
    await lab.create()
    lab[2].is_reachable = lab[3].is_reachable = False
    produce = lab.begin(lab[1].produce("a"))
    fetch = lab.begin(lab[1].fetch(0, max_wait_ms=5_000))
    waiting = lab.begin(lab[1].fetch(1, max_wait_ms=5_000))
    await lab.stop_replica(1, ORDERS, delete=True)
    assert (await produce).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (await fetch).error_code != ErrorCode.NONE
    assert (await waiting).error_code != ErrorCode.NONE


async def test_a_topic_made_again_starts_empty(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("old")
    await alone.stop_replica(1, ORDERS, delete=True)
    del alone.led[ORDERS]
    await alone.create(replicas=[1])
    assert await alone[1].log_end() == 0


async def test_files_of_a_deleted_topic_go_after_the_delay_that_it_had(alone: Lab) -> None:
    """By then nobody knows its settings any more."""
    await alone.create(replicas=[1], file_delete_delay_ms="5000")
    node = alone[1]
    node.topic_configs.clear()
    assert await alone.stop_replica(1, ORDERS, delete=True) == ErrorCode.NONE
    disk, left = node.memory[node.paths[0]], list[int]()
    for _ in range(2):
        await asyncio.sleep(3)
        left.append(sum(disk.is_dir(name) for name in disk.list_dir("")))
    assert left == [1, 0]


@pytest.mark.parametrize("delete", [True, False])
async def test_a_coordinator_s_partition_that_is_stopped_is_a_coordinator_s_no_more(
    alone: Lab, *, delete: bool
) -> None:
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    await alone.create(offsets, replicas=[1])
    assert len(list(alone[1].groups.hosts())) == 1
    await alone.stop_replica(1, offsets, delete=delete)
    assert list(alone[1].groups.hosts()) == []
