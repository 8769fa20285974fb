"""Moments come with every operation; a copy that would be like another one is not made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import pytest
import pytest_asyncio

from simulation.core.history import History
from simulation.core.plan import ClusterPlan
from simulation.matrix.crash_points import TORN_DRAWS, CrashPoints, chance_of
from simulation.matrix.forks import Forks
from simulation.matrix.outcome import Crash, CrashPoint
from simulation.simulated_run import simulated_spec
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from simulation.world.node import BrokerNode


class OrderedCluster:
    """A cluster whose first broker crashes, and who gives it orders."""

    def __init__(self, loop: SimLoop) -> None:
        spec = simulated_spec(ClusterPlan())
        self.sim = SimCluster(loop, spec)
        self.victim: BrokerNode = self.sim.brokers[1]
        self.client = ClusterClient(addresses_of(spec), "tests")
        self.created: list[str] = []
        """The topics whose creation was answered: what is promised here."""
        self._admin = Admin(self.client, History(lambda: loop.now_us))

    def promised(self) -> bytes:
        return repr(self.created).encode()

    async def create(self, topic: str) -> None:
        await self._admin.create_topic(topic, assignment=[[1, 2, 3]])
        self.created.append(topic)

    async def restart(self) -> None:
        self.victim.ask_to_end()
        await self.sim.until(lambda: not self.victim.is_running, 10_000)
        self.victim.start()
        await self.sim.until(self.sim.is_up, 10_000)


@pytest_asyncio.fixture
async def cluster() -> AsyncGenerator[OrderedCluster]:
    """A cluster that is up."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    made = OrderedCluster(loop)
    await made.sim.start()
    yield made
    made.client.close()
    if made.sim.is_up():
        await made.sim.stop()


class Told(dict[CrashPoint, list[str]]):
    """What the copies told, by moment."""


def told_by(told: Told) -> list[str]:
    return [text for texts in told.values() for text in texts]


async def watched(
    cluster: OrderedCluster, *crashes: Crash, look: Callable[[], None] | None = None
) -> tuple[Told, list[tuple[CrashPoint, CrashPoint]]]:
    """Create a topic, start the broker again; every copy ends at once.

    ``look`` is called before every change, before the watch hears of it.
    """
    told, same = Told(), list[tuple[CrashPoint, CrashPoint]]()

    class Ending(Forks[CrashPoint]):
        def fork(self, label: CrashPoint) -> bool:
            if super().fork(label):
                self.tell(label.before)
            return False

    forks = Ending(2, told.__setitem__)
    watch = CrashPoints(
        [cluster.victim],
        crashes,
        forks,
        promised=cluster.promised,
        break_disk=lambda _path: None,
        on_same=lambda moment, like: same.append((moment, like)),
    )
    watch.begin()
    if look is not None:
        look_before_changes(cluster, look)
    await cluster.create("orders")
    await cluster.restart()
    watch.end()
    await cluster.create("later")
    forks.finish()
    return told, same


def look_before_changes(cluster: OrderedCluster, look: Callable[[], None]) -> None:
    for drive in cluster.victim.drives.values():
        watch = drive.before_change
        assert watch is not None

        def both(operation: str, name: str, watch: Callable[[str, str], None] = watch) -> None:
            look()
            watch(operation, name)

        drive.before_change = both


class Cut(NamedTuple):
    """One way in which the power may go before a change."""

    number: int
    """Of the change, from 1."""
    crash: Crash
    draw: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """What a power cut leaves, and what was promised by then: all that a copy can differ in."""

    files: Mapping[str, bytes | None]
    """By path; None: a directory."""
    promised: bytes


def left_by(cluster: OrderedCluster, cut: Cut) -> Left:
    """Cut the power of copies of the victim's disks."""
    files: dict[str, bytes | None] = {}
    for path, drive in cluster.victim.drives.items():
        disk = drive.disk.memory.copy()
        disk.power_cut(chance_of(CrashPoint(cut.number, cut.crash, path, "", cut.draw)))
        for name in disk.names_below():
            files[f"{path}/{name}"] = None if disk.is_dir(name) else disk.read_file(name)
    return Left(files, cluster.promised())


def cut_of(moment: CrashPoint) -> Cut:
    return Cut(moment.number, moment.crash, moment.draw)


async def test_a_process_is_killed_before_every_change(cluster: OrderedCluster) -> None:
    told, same = await watched(cluster, Crash.KILL)
    numbers = sorted(moment.number for moment in [*told, *(moment for moment, _ in same)])
    assert numbers == list(range(1, len(numbers) + 1))
    assert any(text.startswith("make dir orders-0") for text in told_by(told))
    assert not any("later-0" in text for text in told_by(told)), "that came after the end"


async def test_power_goes_exactly_where_it_leaves_something_new_or_more_was_promised(
    cluster: OrderedCluster,
) -> None:
    """What each moment leaves is found out by the test itself, and compared byte by byte."""
    ways = [Cut(0, Crash.POWER_CUT), *(Cut(0, Crash.TORN, draw) for draw in range(TORN_DRAWS))]
    every: list[tuple[Cut, Left]] = []

    def look() -> None:
        number = len(every) // len(ways) + 1
        cuts = [way._replace(number=number) for way in ways]
        every.extend((cut, left_by(cluster, cut)) for cut in cuts)

    told, same = await watched(cluster, Crash.POWER_CUT, Crash.TORN, look=look)

    first = [next(cut for cut, like in every if like == left) for _, left in every]
    expected = {cut: like for (cut, _), like in zip(every, first, strict=True) if cut != like}
    assert {cut_of(moment): cut_of(like) for moment, like in same} == expected
    tried = {cut_of(moment) for moment in told}
    assert tried == {cut for cut, _ in every} - set(expected)
    plain = [left for cut, left in every if cut.crash is Crash.POWER_CUT]
    changes = [
        (before.files != after.files, before.promised != after.promised)
        for before, after in pairwise(plain)
    ]
    assert {(False, False), (True, False), (False, True)} <= set(changes), "the story has each"


async def test_a_disk_fails_also_where_nothing_changes(cluster: OrderedCluster) -> None:
    told, _ = await watched(cluster, Crash.ERROR)
    assert {"make_dir", "look", "read"} <= set(told_by(told))


@pytest.mark.parametrize("crash", [Crash.POWER_CUT, Crash.TORN])
async def test_the_power_is_cut_as_it_was_foreseen(cluster: OrderedCluster, crash: Crash) -> None:
    watch = CrashPoints(
        [cluster.victim],
        [crash],
        Forks(1, lambda _moment, _texts: None),
        promised=cluster.promised,
        break_disk=lambda _path: None,
        on_same=lambda _one, _two: None,
    )
    drive = next(iter(cluster.victim.drives.values()))
    memory = drive.disk.memory
    memory.write_file("never synced", b"x" * 5000)
    moment = CrashPoint(3, crash, "", "")
    watch.cut_power(moment)
    assert not cluster.victim.is_running
    if crash is Crash.POWER_CUT:
        assert not memory.exists("never synced")
    cluster.victim.start()
