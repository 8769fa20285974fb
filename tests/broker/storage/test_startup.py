"""Opening and loading all log dirs: who owns them, which are offline, what stops the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.layout import render_partition_metadata
from broker.storage.log_dir import LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.meta_properties import MetaProperties, parse_meta_properties
from broker.storage.recovery import LoadProgress, StartupRefused
from broker.storage.startup import LoadOptions, Owner, load_log_dirs, open_log_dirs
from protocol.ports import Disk
from tests.broker.storage.builders import (
    Config,
    Failures,
    batches,
    faulty,
    filled_log,
    inline_log_dir,
    log_on,
)

TOPIC_ID = bytes(range(1, 17))
IDS = [bytes([number]) * 16 for number in range(1, 9)]


def owner(broker_id: int = 1, cluster_id: str = "jbod-demo", first: int = 0) -> Owner:
    ids = iter(IDS[first:])
    return Owner(broker_id=broker_id, cluster_id=cluster_id, new_directory_id=lambda: next(ids))


def options() -> LoadOptions:
    return LoadOptions(configs=lambda _: Config(), now_ms=0, progress=lambda _path, _progress: None)


async def opened(disks: list[Disk], by: Owner, failures: Failures | None = None) -> list[LogDir]:
    log_dirs = [inline_log_dir(disk, on_failed=failures) for disk in disks]
    await open_log_dirs(log_dirs, by)
    return log_dirs


@pytest.mark.scenario(22)
async def test_new_dirs_are_locked_identified_and_stamped() -> None:
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    log_dirs = await opened([*disks], owner())
    assert [log_dir.directory_id for log_dir in log_dirs] == IDS[:2]
    for disk, directory_id in zip(disks, IDS, strict=False):
        content = parse_meta_properties(disk.read_file("meta.properties"))
        assert content == MetaProperties(0, 1, "jbod-demo", directory_id)
        with pytest.raises(BlockingIOError):
            disk.lock()


@pytest.mark.kafka_bug("KAFKA-15633")
@pytest.mark.scenario(29)
async def test_a_directory_keeps_its_id_and_one_of_kafka_gets_one() -> None:
    disk = MemoryDisk()
    disk.write_file("meta.properties", b"#\n#a date\nbroker.id=1\nversion=0\n")
    await opened([disk], owner())
    disk.kill()
    (log_dir,) = await opened([disk], owner(first=4))
    assert log_dir.directory_id == IDS[0]


@pytest.mark.scenario(17, 271)
async def test_a_locked_dir_stops_the_start_and_is_named(tmp_path: Path) -> None:
    holder = FileDisk(str(tmp_path / "d1"))
    holder.prepare()
    holder.lock()
    with pytest.raises(StartupRefused, match=r"d1 is in use"):
        await opened([FileDisk(str(tmp_path / "d1"))], owner())


@pytest.mark.scenario(16)
async def test_one_dir_named_twice_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "d1").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "d1")
    disks: list[Disk] = [FileDisk(f"{tmp_path}/d1/"), FileDisk(str(tmp_path / "link"))]
    with pytest.raises(StartupRefused, match="names it twice"):
        await opened(disks, owner())


@pytest.mark.scenario(23)
async def test_a_dir_of_another_broker_stops_the_start() -> None:
    disk = MemoryDisk()
    await opened([disk], owner(broker_id=2))
    disk.kill()
    message = "^Stored node id 2 doesn't match previous node id 1"
    with pytest.raises(StartupRefused, match=message):
        await opened([disk], owner(broker_id=1))


@pytest.mark.scenario(25)
async def test_a_dir_of_another_cluster_stops_the_start() -> None:
    disk = MemoryDisk()
    await opened([disk], owner(cluster_id="other"))
    disk.kill()
    with pytest.raises(StartupRefused, match="belongs to the cluster other"):
        await opened([disk], owner())


async def test_a_dir_of_kraft_is_opened_and_stays_one_of_kraft() -> None:
    disk = MemoryDisk()
    disk.write_file("meta.properties", b"version=1\nnode.id=1\ncluster.id=jbod-demo\n")
    (log_dir,) = await opened([disk], owner())
    stored = parse_meta_properties(disk.read_file("meta.properties"))
    assert stored == MetaProperties(1, 1, "jbod-demo", log_dir.directory_id)


@pytest.mark.scenario(27)
@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (b"version=1\nnode.id=2\ncluster.id=jbod-demo\n", "Stored node id 2 doesn't match"),
        (b"version=1\nnode.id=1\ncluster.id=other\n", "belongs to the cluster other"),
        (b"version=0\nbroker.id=2\n", "Stored node id 2 doesn't match"),
        (b"cluster.id=other\n", "belongs to the cluster other"),
    ],
)
async def test_identity_is_checked_in_every_version(content: bytes, refusal: str) -> None:
    disk = MemoryDisk()
    disk.write_file("meta.properties", content)
    with pytest.raises(StartupRefused, match=refusal):
        await opened([disk], owner())


@pytest.mark.parametrize("content", [b"version=2\n", b"version=1\nnode.id=1\n", b"version=x\n"])
async def test_identity_that_cannot_be_read_is_the_failure_of_its_dir(content: bytes) -> None:
    disk = MemoryDisk()
    disk.write_file("meta.properties", content)
    (log_dir,) = await opened([disk], owner())
    assert not log_dir.is_online


async def test_a_copied_dir_stops_the_start() -> None:
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    for disk in disks:
        await opened([disk], owner())
        disk.kill()
    with pytest.raises(StartupRefused, match=r"/d1 and /d2 have the same directory\.id"):
        await opened([*disks], owner())


@pytest.mark.kafka_bug("KAFKA-6697", "KAFKA-15490", "KAFKA-17310")
@pytest.mark.scenario(12, 14, 19, 28, 30)
@pytest.mark.parametrize(
    "problem", ["file", "nul byte", "no parent", "lock", "garbage", "read only"]
)
async def test_a_broken_dir_is_offline_and_the_others_start(problem: str, tmp_path: Path) -> None:
    bad = faulty(FileDisk(str(tmp_path / "d1")))
    match problem:
        case "file":
            (tmp_path / "d1").write_bytes(b"")
        case "nul byte":
            bad = faulty(FileDisk(str(tmp_path / "d\0")))
        case "no parent":
            (tmp_path / "p").write_bytes(b"")
            bad = faulty(FileDisk(str(tmp_path / "p" / "d1")))
        case "lock":
            (tmp_path / "d1" / ".lock").mkdir(parents=True)
        case "garbage":
            (tmp_path / "d1").mkdir()
            (tmp_path / "d1" / "meta.properties").write_bytes(b"version=7\n")
        case _:
            bad.set_fault("read_only")
    failures = Failures()
    good = FileDisk(str(tmp_path / "d2"))
    log_dirs = await opened([bad, good], owner(), failures)
    assert [log_dir.is_online for log_dir in log_dirs] == [False, True]
    assert [failure.log_dir for failure in failures.seen] == [bad.root]
    assert list(await load_log_dirs(log_dirs, options())) == [good.root]


@pytest.mark.scenario(43)
async def test_an_error_while_loading_costs_that_dir_alone() -> None:
    memories = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    disks = [faulty(memory) for memory in memories]
    for memory in memories:
        filled_log(memory, 5)
    memories[1].rename("orders-0", "orders-1")
    disks[0].set_fault("eio", from_nth=4)
    log_dirs = [inline_log_dir(disk) for disk in disks]
    loaded = await load_log_dirs(log_dirs, options())
    assert list(loaded) == ["/d2"]
    assert [log_dir.is_online for log_dir in log_dirs] == [False, True]


async def test_progress_names_the_dir() -> None:
    disk = MemoryDisk("/d1")
    half_made(disk, TOPIC_ID)
    told: list[tuple[str, LoadProgress]] = []
    note = LoadOptions(
        configs=lambda _: Config(),
        now_ms=0,
        progress=lambda path, done: told.append((path, done)),
    )
    await load_log_dirs([inline_log_dir(disk)], note)
    steps = [LoadProgress(0, 1), LoadProgress(0, 1, 1), LoadProgress(1, 1)]
    assert told == [("/d1", step) for step in steps]


def half_made(disk: MemoryDisk, topic_id: bytes | None) -> None:
    disk.make_dir("orders-0")
    if topic_id is not None:
        disk.write_file("orders-0/partition.metadata", render_partition_metadata(topic_id))


@pytest.mark.parametrize("topic_id", [None, TOPIC_ID], ids=["no topic id", "the same topic id"])
@pytest.mark.parametrize("number", [0, 1])
async def test_an_empty_log_that_a_breaking_dir_left_gives_way_to_its_twin(
    topic_id: bytes | None, number: int
) -> None:
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    half_made(disks[number], topic_id)
    filled_log(disks[1 - number], 3).write_partition_metadata(TOPIC_ID)
    loaded = await load_log_dirs([inline_log_dir(disk) for disk in disks], options())
    assert [len(found.logs) for found in loaded.values()] == ([0, 1] if number == 0 else [1, 0])
    assert not disks[number].exists("orders-0")
    assert disks[1 - number].exists("orders-0")


async def test_of_two_empty_twins_one_stays() -> None:
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2"), MemoryDisk("/d3")]
    for disk in disks:
        half_made(disk, TOPIC_ID)
    loaded = await load_log_dirs([inline_log_dir(disk) for disk in disks], options())
    assert [len(found.logs) for found in loaded.values()] == [1, 0, 0]


@pytest.mark.parametrize(
    ("first", "second", "later"),
    [((2, 0), (3, 0), 1), ((3, 0), (2, 0), 0), ((5, 0), (2, 1), 1)],
    ids=["the longer one", "the longer one, first", "the later epoch"],
)
async def test_of_two_logs_of_one_topic_the_later_stays_and_the_other_is_set_aside(
    first: tuple[int, int], second: tuple[int, int], later: int
) -> None:
    """One was made while the other one's log dir was away, and the broker started again since."""
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    for disk, (end, epoch) in zip(disks, (first, second), strict=True):
        log = log_on(disk)
        log.append(batches(0, end, epoch=epoch), now_ms=0)
        log.write_partition_metadata(TOPIC_ID)
    loaded = await load_log_dirs(await opened([*disks], owner()), options())
    assert [len(found.logs) for found in loaded.values()] == ([0, 1] if later else [1, 0])
    older = disks[1 - later]
    (stray,) = loaded[older.root].strays
    assert stray == f"orders-0.{IDS[1 - later].hex()}-stray"
    assert older.exists(f"{stray}/00000000000000000000.log")
    assert not older.exists("orders-0")


async def test_an_empty_log_of_another_topic_with_that_name_stops_the_start() -> None:
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    half_made(disks[0], bytes(16))
    filled_log(disks[1], 3).write_partition_metadata(TOPIC_ID)
    with pytest.raises(StartupRefused, match="two logs of orders-0"):
        await load_log_dirs([inline_log_dir(disk) for disk in disks], options())


@pytest.mark.parametrize("newest", [0, 1])
async def test_of_two_future_logs_the_newest_stays(newest: int) -> None:
    """A move got another destination, and a crash came before the first future log was gone."""
    disks = [MemoryDisk("/d1"), MemoryDisk("/d2")]
    filled_log(disks[0], 3).write_partition_metadata(TOPIC_ID)
    names = [f"orders-0.{digit * 32}-future" for digit in "ab"]
    disks.append(MemoryDisk("/d3"))
    for number, disk in enumerate(disks[1:]):
        disk.clock_ms = 1_000 + (number == newest)
        disk.make_dir(names[number])
        disk.write_file(f"{names[number]}/partition.metadata", render_partition_metadata(TOPIC_ID))
    loaded = await load_log_dirs([inline_log_dir(disk) for disk in disks], options())
    kept, gone = loaded[f"/d{newest + 2}"], loaded[f"/d{3 - newest}"]
    assert [log.log.name for log in kept.logs] == [names[newest]]
    assert gone.logs == []
    assert gone.to_delete == [names[1 - newest].replace("-future", "-delete")]
    assert disks[2 - newest].exists(gone.to_delete[0])
