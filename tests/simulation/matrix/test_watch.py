"""Moments come with every operation; a copy that would be like another one is not made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import pytest

from simulation.matrix.forks import Forks
from simulation.matrix.outcome import Crash, Moment
from simulation.matrix.scene import Scene
from simulation.matrix.watch import TORN_DRAWS, Watch, chance_of


class Told(dict[Moment, list[str]]):
    """What the copies told, by moment."""


def told_by(told: Told) -> list[str]:
    return [text for texts in told.values() for text in texts]


async def watched(
    scene: Scene, *crashes: Crash, look: Callable[[], None] | None = None
) -> tuple[Told, list[tuple[Moment, Moment]]]:
    """Create a topic, start the broker again; every copy ends at once.

    ``look`` is called before every change, before the watch hears of it.
    """
    told, same = Told(), list[tuple[Moment, Moment]]()

    class Ending(Forks[Moment]):
        def fork(self, label: Moment) -> bool:
            if super().fork(label):
                self.tell(label.before)
            return False

    forks = Ending(2, told.__setitem__)
    watch = Watch(scene, forks, crashes, lambda moment, like: same.append((moment, like)))
    watch.begin()
    if look is not None:
        look_before_changes(scene, look)
    await scene.create()
    await scene.restart()
    watch.end()
    await scene.produce(1)
    forks.finish()
    return told, same


def look_before_changes(scene: Scene, look: Callable[[], None]) -> None:
    for drive in scene.victim.drives.values():
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
    promises: tuple[object, ...]


def left_by(scene: Scene, cut: Cut) -> Left:
    """Cut the power of copies of the victim's disks."""
    files: dict[str, bytes | None] = {}
    for path, drive in scene.victim.drives.items():
        disk = drive.disk.memory.copy()
        disk.power_cut(chance_of(Moment(cut.number, cut.crash, path, "", cut.draw)))
        for name in disk.names_below():
            files[f"{path}/{name}"] = None if disk.is_dir(name) else disk.read_file(name)
    promises = deepcopy((scene.promises, scene.deleted, scene.settings))
    return Left(files, promises)


def cut_of(moment: Moment) -> Cut:
    return Cut(moment.number, moment.crash, moment.draw)


async def test_a_process_is_killed_before_every_change(scene: Scene) -> None:
    told, same = await watched(scene, Crash.KILL)
    numbers = sorted(moment.number for moment in [*told, *(moment for moment, _ in same)])
    assert numbers == list(range(1, len(numbers) + 1))
    assert any(text.startswith("make dir orders-0") for text in told_by(told))
    assert not any("append orders" in text for text in told_by(told)), "that came after the end"


async def test_power_goes_exactly_where_it_leaves_something_new_or_more_was_promised(
    scene: Scene,
) -> None:
    """What each moment leaves is found out by the test itself, and compared byte by byte."""
    ways = [Cut(0, Crash.POWER_CUT), *(Cut(0, Crash.TORN, draw) for draw in range(TORN_DRAWS))]
    every: list[tuple[Cut, Left]] = []

    def look() -> None:
        number = len(every) // len(ways) + 1
        cuts = [way._replace(number=number) for way in ways]
        every.extend((cut, left_by(scene, cut)) for cut in cuts)

    told, same = await watched(scene, Crash.POWER_CUT, Crash.TORN, look=look)

    first = [next(cut for cut, like in every if like == left) for _, left in every]
    expected = {cut: like for (cut, _), like in zip(every, first, strict=True) if cut != like}
    assert {cut_of(moment): cut_of(like) for moment, like in same} == expected
    tried = {cut_of(moment) for moment in told}
    assert tried == {cut for cut, _ in every} - set(expected)
    plain = [left for cut, left in every if cut.crash is Crash.POWER_CUT]
    changes = [
        (before.files != after.files, before.promises != after.promises)
        for before, after in pairwise(plain)
    ]
    assert {(False, False), (True, False), (False, True)} <= set(changes), "the story has each"


async def test_a_disk_fails_also_where_nothing_changes(scene: Scene) -> None:
    told, _ = await watched(scene, Crash.ERROR)
    assert {"make_dir", "look", "read"} <= set(told_by(told))


@pytest.mark.parametrize("crash", [Crash.POWER_CUT, Crash.TORN])
async def test_the_power_is_cut_as_it_was_foreseen(scene: Scene, crash: Crash) -> None:
    watch = Watch(scene, Forks(1, lambda _moment, _texts: None), [crash], lambda _one, _two: None)
    await scene.create()
    memory = scene.victim.drives[scene.path_of()].disk.memory
    memory.write_file("never synced", b"x" * 5000)
    moment = Moment(3, crash, "", "")
    watch.cut_power(moment)
    assert not scene.victim.is_running
    if crash is Crash.POWER_CUT:
        assert not memory.exists("never synced")
    scene.victim.start()
