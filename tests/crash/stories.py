"""What a broker does with replicas on its disks, one short story per operation.

A story holds no judgement; it must also get to its end when a disk breaks on the way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from protocol.ids import TopicPartition
from tests.crash.world import World

Story: TypeAlias = Callable[[World], Awaitable[None]]
SECOND: Final = TopicPartition("second", 0)


async def create(world: World) -> None:
    """Two partitions appear."""
    await world.create()
    await world.create(SECOND)
    await world.settle()


async def append(world: World) -> None:
    """Records come in; nothing is synced."""
    await world.create()
    await world.produce(6)


async def roll(world: World) -> None:
    """Segments fill up."""
    await world.create()
    await world.produce(20)
    await world.lead_all()
    await world.produce(6)


async def flush(world: World) -> None:
    """A log is synced between records."""
    await world.create()
    await world.produce(4)
    await world.flush()
    await world.produce(8)
    await world.flush()
    await world.produce(2)


async def checkpoint(world: World) -> None:
    """Sealed segments are synced and the checkpoints of all log dirs written."""
    await world.create()
    await world.create(SECOND)
    await world.produce(12)
    await world.produce(3, SECOND)
    await world.checkpoint()
    await world.lead_all()
    await world.produce(12)
    await world.checkpoint()


async def truncate(world: World) -> None:
    """A synced and checkpointed log is cut in an earlier segment and goes on with other records."""
    await world.create()
    await world.produce(20)
    await world.flush()
    await world.checkpoint()
    await world.truncate(3)
    await world.lead_all()
    await world.produce(22)
    await world.checkpoint()


async def restart_at(world: World) -> None:
    """A log is emptied and goes on further up."""
    await world.create()
    await world.produce(12)
    await world.flush()
    await world.checkpoint()
    await world.restart_at(40)
    await world.produce(3)
    await world.checkpoint()


async def stop(world: World) -> None:
    """A clean stop, a start on what it left, and a stop again."""
    await world.create()
    await world.create(SECOND)
    await world.produce(12)
    await world.stop()
    await world.start()
    await world.lead_all()
    await world.produce(3)
    await world.stop()


async def recover(world: World) -> None:
    """The process is killed twice; each start finds an unclean log dir."""
    await world.create()
    await world.produce(12)
    await world.flush()
    await world.checkpoint()
    await world.produce(12)
    await world.kill()
    await world.start()
    await world.lead_all()
    await world.produce(3)
    await world.kill()
    await world.start()


async def move(world: World) -> None:
    """A replica goes to another log dir and is written to there."""
    await world.create()
    await world.produce(14)
    await world.checkpoint()
    await world.move(world.other_path())
    await world.produce(3)
    await world.move_ends()
    await world.produce(3)
    await world.checkpoint()
    await world.wait_for_deletions()


async def cancel(world: World) -> None:
    """A move is taken back, another one gets a new target on the way."""
    await world.create()
    await world.produce(14)
    before = world.path_of()
    await world.move(world.other_path())
    await world.move(before)
    await world.produce(2)
    await world.move(world.other_path())
    await world.move(world.other_path(1))
    await world.move_ends()
    await world.produce(2)
    await world.wait_for_deletions()


async def move_back(world: World) -> None:
    """A replica goes to another log dir and comes back, checkpoints between."""
    await world.create()
    await world.produce(14)
    before = world.path_of()
    await world.move(world.other_path())
    await world.move_ends()
    await world.checkpoint()
    await world.produce(3)
    await world.move(before)
    await world.move_ends()
    await world.produce(3)


async def resume(world: World) -> None:
    """The process is killed while a move copies; the next one goes on with it."""
    await world.create()
    await world.produce(14)
    await world.move(world.other_path())
    await world.kill()
    await world.start()
    await world.lead_all()
    await world.produce(2)
    await world.move_ends()
    await world.produce(2)


async def delete(world: World) -> None:
    """A partition is deleted while another one stays."""
    await world.create()
    await world.create(SECOND)
    await world.produce(12)
    await world.produce(3, SECOND)
    await world.delete()
    await world.produce(3, SECOND)
    await world.wait_for_deletions()


async def create_again(world: World) -> None:
    """A deleted partition gets a successor of the same name before its files are gone."""
    await world.create()
    await world.produce(12)
    await world.flush()
    await world.checkpoint()
    if not await world.delete():
        return  # The controller makes no successor before that.
    await world.create()
    await world.produce(4)
    await world.wait_for_deletions()
    await world.checkpoint()


async def create_anew(world: World) -> None:
    """A deleted partition, its records deleted before, gets a successor when its files are gone."""
    await world.create()
    await world.produce(12)
    await world.flush()
    await world.checkpoint()
    await world.delete_records(8)
    await world.write_log_starts()
    if not await world.delete():
        return  # The controller makes no successor before that.
    await world.wait_for_deletions()
    await world.create()
    await world.produce(4)
    await world.write_log_starts()
    await world.produce(2)


async def cancel_late(world: World) -> None:
    """A move is taken back, and another one redirected, when a part is copied."""
    await world.create()
    await world.produce(14)
    before = world.path_of()
    await world.move_slowly(world.other_path())
    await world.produce(2)
    await world.move(before)
    await world.produce(2)
    await world.move_slowly(world.other_path())
    await world.checkpoint()
    await world.move_slowly(world.other_path(1))
    await world.produce(2)
    await world.move_ends()
    await world.produce(2)
    await world.wait_for_deletions()


async def delete_moving(world: World) -> None:
    """A partition is deleted while it moves, and gets a successor."""
    await world.create()
    await world.produce(14)
    await world.move_slowly(world.other_path())
    await world.checkpoint()
    if not await world.delete():
        return
    await world.create()
    await world.produce(3)
    await world.wait_for_deletions()


async def truncate_moving(world: World) -> None:
    """A log is cut below what its move has copied, and goes on with other records."""
    await world.create()
    await world.produce(20)
    await world.checkpoint()
    await world.move_slowly(world.other_path())
    await world.truncate(3)
    await world.lead_all()
    await world.produce(6)
    await world.move_ends()
    await world.produce(3)
    await world.checkpoint()


REPLICA_STORIES: Final[tuple[Story, ...]] = (
    create,
    append,
    roll,
    flush,
    checkpoint,
    truncate,
    restart_at,
    stop,
    recover,
    move,
    cancel,
    move_back,
    resume,
    delete,
    create_again,
    create_anew,
    cancel_late,
    delete_moving,
    truncate_moving,
)
