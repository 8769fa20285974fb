"""What makes logs smaller: deleted records, retention, compaction; also while they move.

As `stories`: no judgement, and an end also when a disk breaks on the way.
"""

from __future__ import annotations

from typing import Final

from tests.crash.stories import REPLICA_STORIES, Story
from tests.crash.world import World


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
    *REPLICA_STORIES,
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
