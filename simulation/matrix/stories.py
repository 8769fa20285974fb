"""What happens to replicas on a broker while a node crashes, one short story per operation.

Before ``begin`` a story prepares the cluster; from then on each disk operation is a crash point.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from simulation.matrix.matrix_cluster import SECOND, THIRD, MatrixCluster
from simulation.matrix.outcome import Crash

Story: TypeAlias = Callable[[MatrixCluster], Awaitable[None]]


async def create(cluster: MatrixCluster) -> None:
    """Two topics are created and written to."""
    cluster.begin()
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(3)
    await cluster.produce(2, SECOND)


async def move(cluster: MatrixCluster) -> None:
    """A replica goes to another log dir and is written to meanwhile and there."""
    await cluster.create()
    await cluster.produce(14)
    cluster.begin()
    await cluster.move(cluster.other_path())
    await cluster.produce(2)
    await cluster.moves_end()
    await cluster.produce(2)
    await cluster.rest(500)


async def swap(cluster: MatrixCluster) -> None:
    """Two replicas change their places."""
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(10)
    await cluster.produce(8, SECOND)
    first, second = cluster.path_of(), cluster.path_of(SECOND)
    cluster.begin()
    await cluster.move(second)
    await cluster.move(first, SECOND)
    await cluster.moves_end()
    await cluster.produce(2)
    await cluster.produce(2, SECOND)


async def cancel(cluster: MatrixCluster) -> None:
    """A move is taken back when a part is copied."""
    await cluster.create()
    await cluster.produce(14)
    await cluster.slow_moves()
    before = cluster.path_of()
    cluster.begin()
    await cluster.move(cluster.other_path())
    await cluster.rest(1500)
    await cluster.produce(2)
    await cluster.move(before)
    await cluster.produce(2)
    await cluster.rest(500)


async def redirect(cluster: MatrixCluster) -> None:
    """A move gets another destination when a part is copied."""
    await cluster.create()
    await cluster.produce(14)
    await cluster.slow_moves()
    first, second = cluster.other_path(), cluster.other_path(1)
    cluster.begin()
    await cluster.move(first)
    await cluster.rest(1500)
    await cluster.move(second)
    await cluster.produce(2)
    await cluster.moves_end()
    await cluster.produce(2)
    await cluster.rest(500)


async def delete(cluster: MatrixCluster) -> None:
    """A topic is deleted, its files go, another one stays."""
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(12)
    await cluster.produce(3, SECOND)
    cluster.begin()
    await cluster.delete()
    await cluster.produce(3, SECOND)
    await cluster.rest(500)


async def create_again(cluster: MatrixCluster) -> None:
    """A deleted topic, whose first records were deleted before, gets a successor at once."""
    await cluster.create()
    await cluster.produce(12)
    await cluster.delete_records(8)
    await cluster.rest(2500)
    cluster.begin()
    if not await cluster.delete():
        return
    await cluster.create()
    await cluster.produce(4)
    await cluster.rest(500)


async def replace(cluster: MatrixCluster) -> None:
    """An empty disk takes the place of a log dir; its replica is copied from its leader."""
    await cluster.create()
    await cluster.produce(8)
    path = cluster.path_of()
    cluster.begin()
    await cluster.replace(path)
    await cluster.reassigned((1, 2, 3))
    await cluster.produce(2)


async def reassign(cluster: MatrixCluster) -> None:
    """A partition comes to the broker, to the log dir that was ordered before, and goes again."""
    await cluster.create(replicas=(2, 3))
    await cluster.produce(8)
    cluster.begin()
    await cluster.move("/b1/d3")
    await cluster.reassign((1, 2))
    await cluster.reassigned((1, 2))
    await cluster.produce(2)
    await cluster.reassign((3, 2))
    await cluster.reassigned((3, 2))
    await cluster.produce(2)
    await cluster.rest(500)


async def stop(cluster: MatrixCluster) -> None:
    """The broker is stopped cleanly and starts again."""
    await cluster.create()
    await cluster.produce(12)
    cluster.begin()
    await cluster.restart()
    await cluster.produce(2)


async def retention(cluster: MatrixCluster) -> None:
    """Old segments go while records come in."""
    await cluster.create(retention_bytes="1500")
    await cluster.produce(8)
    cluster.let_go(keep=6)
    cluster.begin()
    await cluster.produce(12)
    await cluster.rest(1200)
    await cluster.produce(2)
    await cluster.rest(500)


async def delete_records(cluster: MatrixCluster) -> None:
    """Records are deleted, first some, then all; retention removes the files."""
    await cluster.create()
    await cluster.produce(16)
    cluster.begin()
    await cluster.delete_records(9)
    await cluster.rest(1500)
    await cluster.delete_records(-1)
    await cluster.produce(3)
    await cluster.rest(2500)


async def compact(cluster: MatrixCluster) -> None:
    """A log is compacted while records come in."""
    await cluster.create(cleanup_policy="compact")
    await cluster.produce(16)
    cluster.begin()
    await cluster.rest(1200)
    await cluster.produce(4)
    await cluster.rest(1000)


async def fail(cluster: MatrixCluster) -> None:
    """A disk fails, is repaired, and its log dir is restarted while the broker lives (KIP-18)."""
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(8)
    await cluster.produce(2, SECOND)
    path = cluster.path_of()
    cluster.begin()
    await cluster.fail(path)
    await cluster.produce(3)
    await cluster.bring_back(path)
    await cluster.reassigned((1, 2, 3))
    await cluster.produce(2)
    await cluster.produce(2, SECOND)
    await cluster.rest(500)


async def cordon(cluster: MatrixCluster) -> None:
    """A log dir is cordoned and emptied by a move, a new replica goes elsewhere (KIP-1066)."""
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(8)
    path = cluster.path_of()
    cluster.begin()
    await cluster.cordon(path)
    await cluster.move(cluster.other_path(1))
    await cluster.produce(2)
    await cluster.moves_end()
    await cluster.create(THIRD)
    await cluster.produce(2, THIRD)
    await cluster.cordon("")
    await cluster.rest(500)


async def start(cluster: MatrixCluster) -> None:
    """A controller that was killed in the middle of a line starts again and goes on."""
    await cluster.create()
    await cluster.produce(2)
    cluster.tear_journal()
    cluster.begin()
    await cluster.start_controller()
    await cluster.create(SECOND)
    await cluster.produce(2)
    await cluster.produce(2, SECOND)


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
    "broker-3": (create, delete, reassign),
    "controller": tuple(story for story in STORIES if story not in _WITHOUT_DECISIONS),
    "broker-1+broker-2": (create, move, replace, reassign, fail),
    "broker-1+controller": (create, delete, create_again, replace, reassign),
    "controller+broker-1": (delete, reassign, fail),
}
"""Who crashes in which stories; of two at once the first at its disk operations.

Broker 2 follows in ``create`` and is copied from in ``replace`` and ``reassign``; broker 3 is taken
away by ``reassign`` and comes back as the leader. The controller writes nothing while a broker
moves, cleans up or deletes records by itself.
"""


def crashes_of(node: str) -> tuple[Crash, ...]:
    """Return the kinds of crashes that a node of ``CASTS`` can have.

    A controller has no log dir to restart. Where two nodes go at once the second is killed, and a
    disk that fails would leave it time. Two brokers are both killed: an Isr of these two loses
    records when one of them loses power and the other one is given up first (KIP-966).
    """
    if "+" not in node:
        return tuple(each for each in Crash if each is not Crash.RETURN or node != "controller")
    return (Crash.KILL, Crash.POWER_CUT, Crash.TORN) if "controller" in node else (Crash.KILL,)
