"""Moments come with every operation; a copy that would be like another one is not made."""

from __future__ import annotations

import pytest

from simulation.matrix.forks import Forks
from simulation.matrix.outcome import Crash, Moment
from simulation.matrix.scene import Scene
from simulation.matrix.watch import TORN_DRAWS, Watch


class Told(dict[Moment, list[str]]):
    """What the copies told, by moment."""


def told_by(told: Told) -> list[str]:
    return [text for texts in told.values() for text in texts]


async def watched(scene: Scene, *crashes: Crash) -> tuple[Told, list[tuple[Moment, Moment]]]:
    """Create a topic, start the broker again; every copy ends at once."""
    told, same = Told(), list[tuple[Moment, Moment]]()

    class Ending(Forks[Moment]):
        def fork(self, label: Moment) -> bool:
            if super().fork(label):
                self.tell(label.before)
            return False

    forks = Ending(2, told.__setitem__)
    watch = Watch(scene, forks, crashes, lambda moment, like: same.append((moment, like)))
    watch.begin()
    await scene.create()
    await scene.restart()
    watch.end()
    await scene.produce(1)
    forks.finish()
    return told, same


async def test_a_process_is_killed_before_every_change(scene: Scene) -> None:
    told, same = await watched(scene, Crash.KILL)
    numbers = sorted(moment.number for moment in [*told, *(moment for moment, _ in same)])
    assert numbers == list(range(1, len(numbers) + 1))
    assert any(text.startswith("make dir orders-0") for text in told_by(told))
    assert not any("append orders" in text for text in told_by(told)), "that came after the end"


async def test_power_that_goes_where_nothing_became_durable_is_tried_once(scene: Scene) -> None:
    told, same = await watched(scene, Crash.POWER_CUT, Crash.TORN)
    assert 2 * len(same) > len(told), "little of what changes is made durable at once"
    for moment, like in same:
        assert like in told
        assert {moment.crash, like.crash} <= {Crash.POWER_CUT, Crash.TORN}
    draws = [moment.draw for moment in [*told, *dict(same)] if moment.crash is Crash.TORN]
    assert [draws.count(draw) for draw in range(TORN_DRAWS)] == [len(draws) // TORN_DRAWS] * 2


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
