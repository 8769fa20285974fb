"""What happens to replicas on a broker while a node crashes, one short story per operation.

Before ``begin`` a story sets the scene; from then on each disk operation is a moment for a crash.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from simulation.matrix.scene import SECOND, THIRD, Scene

Story: TypeAlias = Callable[[Scene], Awaitable[None]]


async def create(scene: Scene) -> None:
    """Two topics are created and written to."""
    scene.begin()
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(3)
    await scene.produce(2, SECOND)


async def move(scene: Scene) -> None:
    """A replica goes to another log dir and is written to meanwhile and there."""
    await scene.create()
    await scene.produce(14)
    scene.begin()
    await scene.move(scene.other_path())
    await scene.produce(2)
    await scene.moves_end()
    await scene.produce(2)
    await scene.rest(500)


async def swap(scene: Scene) -> None:
    """Two replicas change their places."""
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(10)
    await scene.produce(8, SECOND)
    first, second = scene.path_of(), scene.path_of(SECOND)
    scene.begin()
    await scene.move(second)
    await scene.move(first, SECOND)
    await scene.moves_end()
    await scene.produce(2)
    await scene.produce(2, SECOND)


async def cancel(scene: Scene) -> None:
    """A move is taken back when a part is copied."""
    await scene.create()
    await scene.produce(14)
    await scene.slow_moves()
    before = scene.path_of()
    scene.begin()
    await scene.move(scene.other_path())
    await scene.rest(1500)
    await scene.produce(2)
    await scene.move(before)
    await scene.produce(2)
    await scene.rest(500)


async def redirect(scene: Scene) -> None:
    """A move gets another destination when a part is copied."""
    await scene.create()
    await scene.produce(14)
    await scene.slow_moves()
    first, second = scene.other_path(), scene.other_path(1)
    scene.begin()
    await scene.move(first)
    await scene.rest(1500)
    await scene.move(second)
    await scene.produce(2)
    await scene.moves_end()
    await scene.produce(2)
    await scene.rest(500)


async def delete(scene: Scene) -> None:
    """A topic is deleted, its files go, another one stays."""
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(12)
    await scene.produce(3, SECOND)
    scene.begin()
    await scene.delete()
    await scene.produce(3, SECOND)
    await scene.rest(500)


async def create_again(scene: Scene) -> None:
    """A deleted topic, whose first records were deleted before, gets a successor at once."""
    await scene.create()
    await scene.produce(12)
    await scene.delete_records(8)
    await scene.rest(2500)
    scene.begin()
    if not await scene.delete():
        return
    await scene.create()
    await scene.produce(4)
    await scene.rest(500)


async def replace(scene: Scene) -> None:
    """An empty disk takes the place of a log dir; its replica is copied from its leader."""
    await scene.create()
    await scene.produce(8)
    path = scene.path_of()
    scene.begin()
    await scene.replace(path)
    await scene.reassigned((1, 2, 3))
    await scene.produce(2)


async def reassign(scene: Scene) -> None:
    """A partition comes to the broker, to the log dir that was ordered before, and goes again."""
    await scene.create(replicas=(2, 3))
    await scene.produce(8)
    scene.begin()
    await scene.move("/b1/d3")
    await scene.reassign((1, 2))
    await scene.reassigned((1, 2))
    await scene.produce(2)
    await scene.reassign((3, 2))
    await scene.reassigned((3, 2))
    await scene.produce(2)
    await scene.rest(500)


async def stop(scene: Scene) -> None:
    """The broker is stopped cleanly and starts again."""
    await scene.create()
    await scene.produce(12)
    scene.begin()
    await scene.restart()
    await scene.produce(2)


async def retention(scene: Scene) -> None:
    """Old segments go while records come in."""
    await scene.create(retention_bytes="1500")
    await scene.produce(8)
    scene.let_go(keep=6)
    scene.begin()
    await scene.produce(12)
    await scene.rest(1200)
    await scene.produce(2)
    await scene.rest(500)


async def delete_records(scene: Scene) -> None:
    """Records are deleted, first some, then all; retention removes the files."""
    await scene.create()
    await scene.produce(16)
    scene.begin()
    await scene.delete_records(9)
    await scene.rest(1500)
    await scene.delete_records(-1)
    await scene.produce(3)
    await scene.rest(2500)


async def compact(scene: Scene) -> None:
    """A log is compacted while records come in."""
    await scene.create(cleanup_policy="compact")
    await scene.produce(16)
    scene.begin()
    await scene.rest(1200)
    await scene.produce(4)
    await scene.rest(1000)


async def fail(scene: Scene) -> None:
    """A disk fails, is repaired, and its log dir is restarted while the broker lives (KIP-18)."""
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(8)
    await scene.produce(2, SECOND)
    path = scene.path_of()
    scene.begin()
    await scene.fail(path)
    await scene.produce(3)
    await scene.bring_back(path)
    await scene.reassigned((1, 2, 3))
    await scene.produce(2)
    await scene.produce(2, SECOND)
    await scene.rest(500)


async def cordon(scene: Scene) -> None:
    """A log dir is cordoned and emptied by a move, a new replica goes elsewhere (KIP-1066)."""
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(8)
    path = scene.path_of()
    scene.begin()
    await scene.cordon(path)
    await scene.move(scene.other_path(1))
    await scene.produce(2)
    await scene.moves_end()
    await scene.create(THIRD)
    await scene.produce(2, THIRD)
    await scene.cordon("")
    await scene.rest(500)


async def start(scene: Scene) -> None:
    """A controller that was killed in the middle of a line starts again and goes on."""
    await scene.create()
    await scene.produce(2)
    scene.tear_journal()
    scene.begin()
    await scene.start_controller()
    await scene.create(SECOND)
    await scene.produce(2)
    await scene.produce(2, SECOND)


STORIES: Final[tuple[Story, ...]] = (
    create,
    move,
    swap,
    cancel,
    redirect,
    delete,
    create_again,
    replace,
    reassign,
    stop,
    retention,
    delete_records,
    compact,
    fail,
    cordon,
    start,
)

_WITHOUT_DECISIONS: Final = (move, swap, retention, delete_records, compact)

CASTS: Final[dict[str, tuple[Story, ...]]] = {
    "broker-1": tuple(story for story in STORIES if story is not start),
    "broker-2": (create, replace, reassign),
    "controller": tuple(story for story in STORIES if story not in _WITHOUT_DECISIONS),
}
"""Who crashes in which stories.

Broker 2 follows in ``create`` and is copied from in ``replace`` and ``reassign``. The controller
writes nothing while a broker moves, cleans up or deletes records by itself.
"""
