"""What a broker does to its disks, one short story per operation.

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


async def delete_records(world: World) -> None:
    """Records are deleted within the log, then all there are; retention removes the files."""
    await world.create()
    await world.produce(20)
    await world.checkpoint()
    await world.delete_records(9)
    await world.produce(2)
    await world.write_log_starts()
    await world.retain(keep=12)
    await world.produce(3)
    await world.delete_records(-1)
    await world.write_log_starts()
    await world.produce(3)
    await world.retain(keep=3)
    await world.wait_for_deletions()


async def move_deleted(world: World) -> None:
    """A log whose first records were deleted goes to another log dir, and back."""
    await world.create()
    await world.produce(20)
    await world.delete_records(5)
    await world.write_log_starts()
    before = world.path_of()
    await world.move_slowly(world.other_path())
    await world.delete_records(10)
    await world.write_log_starts()
    await world.move_ends()
    await world.produce(3)
    await world.delete_records(14)
    await world.write_log_starts()
    await world.move(before)
    await world.move_ends()
    await world.produce(2)
    await world.wait_for_deletions()


async def move_back_deleted(world: World) -> None:
    """A log whose first records were deleted goes away and comes back, and was emptied there."""
    await world.create()
    await world.produce(20)
    await world.delete_records(12)
    await world.checkpoint()
    await world.write_log_starts()
    before = world.path_of()
    await world.move(world.other_path())
    await world.move_ends()
    await world.restart_at(2)
    await world.lead_all()
    await world.produce(3)
    await world.move(before)
    await world.move_ends()
    await world.produce(3)
    await world.wait_for_deletions()


async def restart_down(world: World) -> None:
    """A log whose first records were deleted is emptied and goes on further down."""
    await world.create()
    await world.produce(20)
    await world.delete_records(12)
    await world.checkpoint()
    await world.write_log_starts()
    await world.restart_at(5)
    await world.lead_all()
    await world.produce(3)
    await world.flush()
    await world.produce(3)
    await world.write_log_starts()
    await world.produce(1)


async def retain_deleted(world: World) -> None:
    """The files of deleted records go and the log start is written again: nothing comes back."""
    await world.create()
    await world.produce(20)
    await world.checkpoint()
    await world.delete_records(9)
    await world.write_log_starts()
    await world.retain(keep=12)
    await world.write_log_starts()
    await world.produce(3)
    await world.wait_for_deletions()


async def retention(world: World) -> None:
    """Old segments go by size, more than once; their files go while records come in."""
    await world.create(retention_bytes="1500")
    await world.produce(24)
    await world.checkpoint()
    await world.retain(keep=12)
    await world.produce(8)
    await world.write_log_starts()
    await world.retain(keep=12)
    await world.produce(3)
    await world.wait_for_deletions()
    await world.produce(2)


async def move_retained(world: World) -> None:
    """Old segments go while a log moves."""
    await world.create(retention_bytes="1500")
    await world.produce(24)
    await world.checkpoint()
    await world.move_slowly(world.other_path())
    await world.retain(keep=12)
    await world.produce(8)
    await world.move_ends()
    await world.retain(keep=12)
    await world.produce(2)
    await world.wait_for_deletions()


async def compact(world: World) -> None:
    """A log is compacted twice, tombstones among its records."""
    await world.create(cleanup_policy="compact", delete_retention_ms="0")
    await world.produce_keyed(20)
    await world.compact()
    await world.produce_keyed(8)
    await world.produce_keyed(2, is_tombstone=True)
    await world.produce_keyed(16)
    await world.compact()
    await world.wait_for_deletions()
    await world.checkpoint()
    await world.produce_keyed(2)


async def move_compacted(world: World) -> None:
    """A compacted log goes to another log dir and is compacted there."""
    await world.create(cleanup_policy="compact")
    await world.produce_keyed(20)
    await world.compact()
    await world.move(world.other_path())
    await world.produce_keyed(3)
    await world.move_ends()
    await world.produce_keyed(12)
    await world.compact()
    await world.wait_for_deletions()


async def truncate_compacted(world: World) -> None:
    """A compacted log is cut in what was compacted, and goes on with other records."""
    await world.create(cleanup_policy="compact")
    await world.produce_keyed(24)
    await world.compact()
    await world.produce_keyed(4)
    await world.truncate(26)
    await world.lead_all()
    await world.produce_keyed(12)
    await world.compact()
    await world.wait_for_deletions()


STORIES: Final[tuple[Story, ...]] = (
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
    delete_records,
    move_deleted,
    move_back_deleted,
    restart_down,
    retain_deleted,
    retention,
    move_retained,
    compact,
    move_compacted,
    truncate_compacted,
)
