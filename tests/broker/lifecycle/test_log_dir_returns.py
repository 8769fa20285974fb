"""What can come back, what cannot, and in which order things happen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from broker.core.hosted import Loss, OfflineReplica, ReturnedReplicas, ReturnRule
from broker.lifecycle.log_dir_returns import (
    LogDirReturns,
    Return,
    ReturnPorts,
    ReturnRefusedError,
    ReturnRequest,
    ReturnState,
)
from broker.storage.disk import FileDisk
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.recovery import LoadedLogDir
from broker.storage.startup import LoadOptions, Owner
from broker.storage.worker import InlineDiskWorker
from protocol.ids import TopicPartition
from protocol.ports import Disk
from tests.broker.storage.builders import Config
from tests.deadlines import DEADLINE_S

T0 = TopicPartition("t", 0)


class Fakes:
    """Log dirs of memory, an engine with its concerns and a session that remember."""

    def __init__(self) -> None:
        self.state = self.hosted = self.loaded_log_dirs = self.describe = self
        self.told: list[tuple[str, object]] = []
        self.offline: dict[TopicPartition, OfflineReplica] = {}
        self.lone: dict[str, list[TopicPartition]] = {}
        self.registered: asyncio.Queue[int] = asyncio.Queue()
        self.disks: dict[str, Disk] = {path: MemoryDisk(path) for path in ("/d1", "/d2")}
        self.log_dirs = {path: self.open(path, False) for path in self.disks}
        self.owner = Owner(
            broker_id=1, cluster_id="c", new_directory_id=iter(map(bytes, ids())).__next__
        )
        self.returns = LogDirReturns(
            ReturnPorts(
                log_dirs=lambda: list(self.log_dirs.values()),
                open_anew=self.open,
                adopt=self.adopt,
                owner=lambda: self.owner,
                load_options=lambda: LoadOptions(
                    configs=lambda _topic: Config(), now_ms=0, progress=lambda _path, _done: None
                ),
                journal_found=lambda _found: None,
            ),
            lambda: self,  # pyright: ignore[reportArgumentType] - the part of both that is used
            self,  # pyright: ignore[reportArgumentType]
            ask_again_ms=1,
        )

    def open(self, path: str, is_empty: bool) -> LogDir:
        if is_empty:
            self.disks[path] = MemoryDisk(path)
        loop = asyncio.get_running_loop()
        return LogDir(
            path=path,
            disk=self.disks[path],
            workers=DirWorkers(InlineDiskWorker(loop), InlineDiskWorker(loop)),
            deadline_ms=1_000,
            queue_depth_max=10,
            on_failed=lambda failed: self.told.append(("failed", failed.log_dir)),
        )

    def adopt(self, log_dir: LogDir) -> None:
        self.log_dirs[log_dir.path] = log_dir
        self.told.append(("adopted", log_dir.path))

    async def bring_back(
        self, log_dir: LogDir, _found: LoadedLogDir, rule: ReturnRule
    ) -> ReturnedReplicas:
        self.told.append(("brought back", (log_dir.path, rule)))
        return ReturnedReplicas((T0,), (), ())

    def iterate_offline(self) -> Iterator[tuple[TopicPartition, OfflineReplica]]:
        return iter(self.offline.items())

    async def release(self, tps: list[TopicPartition], *, accepts_loss: bool) -> ReturnedReplicas:
        self.told.append(("loss accepted" if accepts_loss else "released", tps))
        return ReturnedReplicas(tuple(tps), (), ())

    def last_copies(self, path: str) -> list[TopicPartition]:
        return self.lone.get(path, [])

    async def log_dirs_returned(self, old: list[bytes]) -> None:
        self.told.append(("registered", old))
        self.registered.put_nowait(len(self.told))

    async def serve(self, request: ReturnRequest) -> Return:
        asked = self.returns.ask(request)
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.returns.run())
            await asked.ended.wait()
            running.cancel()
        return asked


def ids() -> list[bytes]:
    return [bytes([n]) * 16 for n in range(1, 9)]


@pytest.fixture
async def fakes() -> Fakes:
    return Fakes()


def broken(fakes: Fakes, path: str) -> None:
    fakes.log_dirs[path].fail("append", OSError(5, "broken"))
    fakes.told.clear()


async def test_a_repaired_log_dir_is_loaded_brought_back_and_registered(fakes: Fakes) -> None:
    broken(fakes, "/d1")
    asked = await fakes.serve(ReturnRequest("/d1"))
    assert (asked.state, asked.found_count) == (ReturnState.DONE, 1)
    assert fakes.told == [
        ("adopted", "/d1"),
        ("brought back", ("/d1", ReturnRule())),
        ("registered", [bytes(16)]),
    ]
    assert fakes.log_dirs["/d1"].is_online


async def test_a_log_dir_that_works_is_replaced_by_force_only(fakes: Fakes) -> None:
    with pytest.raises(ReturnRefusedError, match="/d1 works; only by force"):
        fakes.returns.ask(ReturnRequest("/d1", is_replaced=True, accepts_loss=True))
    fakes.lone["/d1"] = [TopicPartition("lone", number) for number in range(7)]
    with pytest.raises(ReturnRefusedError, match=r"nobody else has lone-0, .* and 2 more in sync"):
        fakes.returns.ask(ReturnRequest("/d1", is_replaced=True))
    assert fakes.told == []
    request = ReturnRequest("/d1", is_replaced=True, accepts_loss=True, is_forced=True)
    asked = await fakes.serve(request)
    assert asked.state is ReturnState.DONE
    assert fakes.told[0] == ("failed", "/d1")
    assert ("brought back", ("/d1", ReturnRule(Loss.ACCEPTED))) in fakes.told


async def test_the_rate_of_a_replacement_reaches_the_engine(fakes: Fakes) -> None:
    broken(fakes, "/d1")
    await fakes.serve(ReturnRequest("/d1", is_replaced=True, rate_bytes_per_second=7))
    assert ("brought back", ("/d1", ReturnRule(rate_bytes_per_second=7))) in fakes.told


async def test_one_partition_of_a_log_dir_that_is_back_is_released(fakes: Fakes) -> None:
    assert (await fakes.serve(ReturnRequest("/d1", only=T0))).state is ReturnState.DONE
    assert fakes.told == [("released", [T0]), ("registered", [bytes(16)])]


async def test_the_loss_of_one_partition_is_accepted_in_a_log_dir_that_works(fakes: Fakes) -> None:
    asked = await fakes.serve(ReturnRequest("/d1", only=T0, accepts_loss=True))
    assert asked.state is ReturnState.DONE
    assert fakes.told == [("loss accepted", [T0]), ("registered", [bytes(16)])]


async def test_it_is_loading_while_its_content_is_looked_through(fakes: Fakes) -> None:
    assert not fakes.returns.is_loading("/d1")
    asked = fakes.returns.ask(ReturnRequest("/d1", only=T0))
    assert not fakes.returns.is_loading("/d1")
    asked.state = ReturnState.LOADING
    assert fakes.returns.is_loading("/d1")


async def test_a_log_dir_of_another_broker_is_refused_and_stays_offline(fakes: Fakes) -> None:
    broken(fakes, "/d1")
    fakes.disks["/d1"].write_file("meta.properties", b"version=0\nbroker.id=7\ncluster.id=c\n")
    asked = await fakes.serve(ReturnRequest("/d1"))
    assert asked.state is ReturnState.REFUSED
    assert "belongs to another broker" in asked.detail
    assert not fakes.log_dirs["/d1"].is_online
    assert fakes.disks["/d1"].exists("meta.properties")


async def test_a_disk_that_still_does_not_work_is_refused(fakes: Fakes) -> None:
    broken(fakes, "/d1")
    fakes.disks["/d1"] = FileDisk("/proc/none/d1")
    asked = await fakes.serve(ReturnRequest("/d1"))
    assert asked.state is ReturnState.REFUSED
    assert "repair it, or put an empty disk there" in asked.detail


async def test_wishes_that_make_no_sense_are_refused_at_once(fakes: Fakes) -> None:
    with pytest.raises(ReturnRefusedError, match="is none of /d1, /d2"):
        fakes.returns.ask(ReturnRequest("/d3"))
    with pytest.raises(ReturnRefusedError, match="nothing to bring back"):
        fakes.returns.ask(ReturnRequest("/d1"))
    broken(fakes, "/d2")
    with pytest.raises(ReturnRefusedError, match="the last log dir that works"):
        fakes.returns.ask(ReturnRequest("/d1", is_replaced=True))
    fakes.returns.ask(ReturnRequest("/d2"))
    with pytest.raises(ReturnRefusedError, match="already on its way: waiting"):
        fakes.returns.ask(ReturnRequest("/d2"))


async def test_the_controller_is_asked_again_while_lost_replicas_wait(fakes: Fakes) -> None:
    """They begin empty only out of the Isr, which takes the controller a moment."""
    fakes.offline[T0] = OfflineReplica(bytes(16), "/d1", Loss.REBUILD)
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(fakes.returns.run())
        await fakes.returns.ask(ReturnRequest("/d1", is_replaced=True, is_forced=True)).ended.wait()
        for _ in range(3):
            await fakes.registered.get()
        running.cancel()

    assert fakes.told[-2:] == [("registered", [])] * 2


async def test_nobody_is_asked_again_when_nothing_is_lost(fakes: Fakes) -> None:
    fakes.offline[T0] = OfflineReplica(bytes(16), "/d1")
    await fakes.serve(ReturnRequest("/d1", is_replaced=True, is_forced=True))
    assert fakes.told.count(("registered", [])) == 0
