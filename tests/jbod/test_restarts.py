"""What a broker finds when it starts on disks that changed, or with less than it had."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from broker.storage.checkpoints import parse_offsets
from broker.storage.disk import FileDisk
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from broker.storage.meta_properties import parse_meta_properties
from broker.storage.recovery import StartupRefused
from broker.storage.startup import LoadOptions, Owner, load_log_dirs, open_log_dirs
from protocol.errors import ErrorCode
from protocol.faults.model import FileClass
from protocol.ids import TopicPartition
from protocol.ports import Disk
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, offsets_of
from tests.broker.storage.builders import (
    Config,
    Failures,
    batches,
    faulty,
    filled_log,
    inline_log_dir,
)

NONE = ErrorCode.NONE


def owner(first: int = 1) -> Owner:
    ids = iter(bytes([number]) * 16 for number in range(first, first + 8))
    return Owner(broker_id=1, cluster_id="lab", new_directory_id=lambda: next(ids))


OPTIONS = LoadOptions(configs=lambda _: Config(), now_ms=0, progress=lambda _path, _progress: None)


@pytest.mark.scenario(20)
async def test_checkpoints_are_found_however_the_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = filled_log(prepared(f"{tmp_path}/d1/"), 10)
    log.flush()
    log.append(batches(10, 15), now_ms=0)
    log.close()
    disk = FileDisk(f"{tmp_path}/d1/")
    disk.write_atomic("recovery-point-offset-checkpoint", b"0\n1\norders 0 10\n")
    for written in (f"{tmp_path}/d1", f"{tmp_path}/d1/", "d1", "./d1/", "d2/../d1"):
        (tmp_path / "d2").mkdir(exist_ok=True)
        loaded = await load_log_dirs([inline_log_dir(FileDisk(written))], OPTIONS)
        ((found,),) = [one.logs for one in loaded.values()]
        assert (found.log.recovery_point, found.log.log_end_offset) == (10, 15)
        found.log.close()
        assert parse_offsets(disk.read_file("recovery-point-offset-checkpoint")) == {ORDERS: 10}


def prepared(root: str) -> FileDisk:
    disk = FileDisk(root)
    disk.prepare()
    return disk


@pytest.mark.scenario(26)
async def test_of_several_log_dirs_each_is_empty_broken_or_valid() -> None:
    empty, broken, valid = (MemoryDisk(f"/d{number}") for number in (1, 2, 3))
    broken.write_file("meta.properties", b"version=7\n")
    known = b"version=0\nbroker.id=1\ncluster.id=lab\ndirectory.id=AAAAAAAAAAAAAAAAAAABZA\n"
    valid.write_file("meta.properties", known)
    log_dirs = [inline_log_dir(disk) for disk in (empty, broken, valid)]
    await open_log_dirs(log_dirs, owner())
    assert [log_dir.is_online for log_dir in log_dirs] == [True, False, True]
    stamped = parse_meta_properties(empty.read_file("meta.properties"))
    assert (stamped.node_id, stamped.cluster_id, stamped.directory_id) == (
        1,
        "lab",
        bytes([1] * 16),
    )
    assert valid.read_file("meta.properties") == known
    assert broken.read_file("meta.properties") == b"version=7\n"


@pytest.mark.kafka_bug("KAFKA-15375")
@pytest.mark.scenario(32)
async def test_loading_that_is_cut_off_leaves_no_clean_marker() -> None:
    disk = MemoryDisk("/d1")
    filled_log(disk, 5).close()
    filled_log(MemoryDisk("/d2"), 5)
    disk.write_file(".kafka_cleanshutdown", b'{"version":0,"brokerEpoch":1}')
    slow = faulty(disk)
    slow.set_fault("eio", from_nth=12)
    await load_log_dirs([inline_log_dir(slow)], OPTIONS)
    assert not disk.exists(".kafka_cleanshutdown")


@pytest.mark.kafka_bug("KAFKA-16814")
async def test_a_log_without_partition_metadata_is_loaded() -> None:
    disk = MemoryDisk("/d1")
    filled_log(disk, 5).close()
    loaded = await load_log_dirs([inline_log_dir(disk)], OPTIONS)
    (log,) = loaded["/d1"].logs
    assert (log.topic_id, log.log.log_end_offset) == (None, 5)


async def test_a_log_dir_that_fails_at_any_point_of_its_recovery_is_offline_alone() -> None:
    """Whatever operation is the first to fail, the other log dir is served."""
    total = (await recovered(10_000))[0]
    assert total > 20
    for nth in range(1, total + 1):
        _, online, offsets = await recovered(nth)
        assert online == [False, True], f"operation {nth}"
        assert offsets == {"/d2": 5}


@pytest.mark.parametrize("seed", range(30))
async def test_a_read_that_ends_early_takes_the_log_dir_offline_and_cuts_nothing(
    seed: int,
) -> None:
    """To take it for the end of the log would cut off what was never synced but is there."""
    memory = MemoryDisk("/d1")
    size_bytes = filled_log(memory, 5).size_bytes
    memory.write_file("recovery-point-offset-checkpoint", b"0\n0\n")
    disk = FaultyDisk(memory, chance=random.Random(seed))
    rule = disk.set_fault("short_read", files=(FileClass.LOG,))
    log_dir = inline_log_dir(disk, on_failed=Failures())
    await open_log_dirs([log_dir], owner())
    await load_log_dirs([log_dir], OPTIONS)
    assert rule.hits > 0
    assert not log_dir.is_online
    assert memory.size("orders-0/00000000000000000000.log") == size_bytes


async def recovered(nth: int) -> tuple[int, list[bool], dict[str, int]]:
    """Recover two log dirs, of which the first fails from its ``nth`` operation on."""
    memories = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    for memory in memories:
        filled_log(memory, 5)
    memories[1].rename("orders-0", "orders-1")
    disks: list[FaultyDisk] = [faulty(memory) for memory in memories]
    rule = disks[0].set_fault("eio", from_nth=nth)
    log_dirs = [inline_log_dir(disk, on_failed=Failures()) for disk in disks]
    await open_log_dirs(log_dirs, owner())
    loaded = await load_log_dirs(log_dirs, OPTIONS)
    ends = {path: one.logs[0].log.log_end_offset for path, one in loaded.items()}
    if not log_dirs[0].is_online:
        assert not memories[0].exists(".kafka_cleanshutdown")
    return rule.matches, [log_dir.is_online for log_dir in log_dirs], ends


async def test_a_copied_log_dir_is_refused_and_both_are_named(tmp_path: Path) -> None:
    disks: list[Disk] = [prepared(f"{tmp_path}/d1"), prepared(f"{tmp_path}/d2")]
    first = [inline_log_dir(disks[0])]
    await open_log_dirs(first, owner())
    disks[0].unlock()
    disks[1].write_file("meta.properties", disks[0].read_file("meta.properties"))
    log_dirs = [inline_log_dir(FileDisk(disk.root)) for disk in disks]
    with pytest.raises(StartupRefused, match=r"d1 and .*d2 have the same directory\.id"):
        await open_log_dirs(log_dirs, owner(3))


@pytest.mark.scenario(68)
async def test_without_a_log_dir_its_replicas_are_made_anew_in_the_others(lab: Lab) -> None:
    tps = [TopicPartition("orders", number) for number in range(4)]
    for tp in tps:
        await lab.create(tp, replicas=[2, 1, 3])
        await lab[2].produce(["a", "b"], tp=tp)
    _, kept = lab[1].memory.values()
    node = await lab.restart(1, disks=[kept])
    for tp in tps:
        assert (await lab.elect(tp, 2, [2, 3]))[1] == NONE
    await asyncio.sleep(3)
    for tp in tps:
        assert await node.dir_of(tp) == kept.root
        assert node.disk_bytes(tp) == lab[2].disk_bytes(tp)
        assert 1 in lab.led[tp].isr
    assert node.engine.gauges().offline_replica_count == 0


@pytest.mark.scenario(69)
async def test_a_lone_replica_on_an_emptied_disk_begins_anew_and_only_offsets_tell(
    alone: Lab,
) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce(["a", "b", "c"])
    roots = list(alone[1].memory)
    node = await alone.restart(1, disks=[MemoryDisk(root) for root in roots])
    assert await alone.elect(ORDERS, 1, [1]) == {1: NONE}
    assert await node.log_end() == 0
    assert (await node.fetch(3)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await node.fetch(0)).error_code == NONE
    assert (await node.produce("new")).base_offset == 0
    assert node.events.failed == []


@pytest.mark.scenario(107)
async def test_a_restart_forgets_where_a_replica_was_wished(alone: Lab) -> None:
    other = TopicPartition("other", 0)
    await alone.create(other, replicas=[1])
    wished, expected = alone[1].paths[2], alone[1].paths[1]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await alone[1].engine.moves.alter([(ORDERS, wished)]) == {ORDERS: unknown}
    node = await alone.restart(1)
    await alone.elect(other, 1, [1])
    await alone.create(replicas=[1])
    assert await node.dir_of() == expected, "the first one with the fewest logs"


@pytest.mark.kafka_bug("KAFKA-10282")
@pytest.mark.scenario(221)
async def test_a_log_made_anew_before_the_old_one_is_gone_has_its_own_rows(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    assert await alone.stop_replica(1, ORDERS, delete=True) == NONE
    assert alone[1].engine.describe.replica_rows(1, 1) == []
    alone.led.pop(ORDERS)
    await alone.create(replicas=[1])
    await alone[1].produce(["b", "c"])
    for wait_s in (0, 61):
        await asyncio.sleep(wait_s)
        (row,) = alone[1].engine.describe.replica_rows(1, 1)
        assert (row.log_end_offset, row.is_leader) == (2, True)
    assert offsets_of(await alone[1].fetch(0)) == [0]


@pytest.mark.kafka_bug("locks-at-shutdown")
async def test_a_stop_after_a_failure_frees_every_good_log_dir(alone: Lab) -> None:
    await alone.create(replicas=[1])
    node = alone[1]
    node.disks[node.paths[0]].set_fault("eio")
    await node.produce("a")
    await node.engine.stop()
    for path in node.paths[1:]:
        assert not node.memory[path].exists(".lock")
        assert node.memory[path].exists(".kafka_cleanshutdown")
