"""What limits of replication promise where they are asked: of followers, leaders and moves.

Source: ReplicaManager.scala shouldLeaderThrottle, ReplicaFetcherThread.scala
shouldFollowerThrottle, ReplicaAlterLogDirsThread.scala; KIP-73, KIP-113.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from typing import Final

from broker.core.future_log import MoveState
from broker.core.partition import Partition
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow.followed import ALL_BYTES, Followed
from broker.engine.follow.follower_throttle import Division, FollowerThrottle
from broker.engine.move.moving import MovingLog
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.leader_throttle import WAITS, LeaderThrottle
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchResult
from protocol.ids import BrokerId
from simulation.contracts.contract import Broken, of_method

_PART_OF_A_BYTE: Final = 1


def _quota_of(throttle: FollowerThrottle, entry: Followed) -> ReplicationQuota | None:
    """Return what the bytes of a partition count against; None: they are not limited."""
    rebuild = throttle._rebuilds.quota_of(entry.replica.tp)  # noqa: SLF001 -- nothing public has it
    if rebuild is not None:
        return rebuild
    quota = throttle._quota  # noqa: SLF001 -- as above
    return quota if quota.is_limited and entry.replica.is_throttled else None


@of_method(FollowerThrottle, "divide")
def divide(
    throttle: FollowerThrottle, ready: Iterable[Followed], partition_max_bytes: int
) -> Generator[None, Division, Broken]:
    """All that a follower asks for under a limit is no more than that lets through.

    What is not limited, and who is in sync, is asked for as always.
    """
    assert isinstance(ready, Collection), "it is asked twice"
    now_ms = throttle._now_ms()  # noqa: SLF001 -- as above
    limits = {id(one): _quota_of(throttle, one) for one in ready if not one.is_in_sync}
    division = yield
    held = [id(one) for one in division.held]
    asked: dict[ReplicationQuota, int] = {}
    for one in ready:
        quota = limits.get(id(one))
        if (id(one) in held) is not (quota is not None and quota.is_exceeded(now_ms)):
            return f"{one.replica.tp} is held: {id(one) in held}, under {quota}"
        if quota is None and one.share_bytes != ALL_BYTES:
            return f"{one.replica.tp} is asked for {one.share_bytes} bytes, and has no limit"
        if quota is not None and id(one) not in held:
            asked[quota] = asked.get(quota, 0) + min(one.share_bytes, partition_max_bytes)
    for quota, size_bytes in asked.items():
        most = quota.room_bytes(now_ms) + quota.burst_bytes
        if size_bytes > most:
            return f"{size_bytes} bytes are asked for, {most} may be"
    return None


@of_method(FollowerThrottle, "fetched")
def fetched(
    throttle: FollowerThrottle, entry: Followed, size_bytes: int, leader_high_watermark: int
) -> Generator[None, None, Broken]:
    """What a follower was given of a throttled partition is paid for.

    One that is rebuilt and has all that is committed is limited no more.
    """
    quota, now_ms = _quota_of(throttle, entry), throttle._now_ms()  # noqa: SLF001 -- as above
    room = None if quota is None else quota.room_bytes(now_ms)
    yield
    if quota is None or room is None:
        return None
    replica, rebuilds = entry.replica, throttle._rebuilds  # noqa: SLF001 -- as above
    is_behind = replica.position().fetch_offset < leader_high_watermark
    if not is_behind and rebuilds.quota_of(replica.tp) is not None:
        return f"{replica.tp} is in sync at {leader_high_watermark}, and limited still"
    return _unpaid(quota, now_ms, room, size_bytes)


def _unpaid(quota: ReplicationQuota, now_ms: int, room: int, size_bytes: int) -> Broken:
    """Say that a transfer was not counted; of long debts a part is forgotten."""
    limit = quota.limit_bytes_per_second
    if not quota.is_limited or size_bytes <= 0 or limit < 1:
        return None
    deepest = -limit * quota._window_ms // 1000  # noqa: SLF001 -- as above
    after = quota.room_bytes(now_ms)
    is_paid = after <= max(room - size_bytes, deepest) + _PART_OF_A_BYTE
    return None if is_paid else f"{size_bytes} bytes leave {after} of {room}"


@of_method(LeaderThrottle, "most_bytes")
def most_bytes(
    throttle: LeaderThrottle, partition: Partition, replica_id: int, max_bytes: int
) -> Generator[None, int, Broken]:
    """Who is in the Isr gets all it asks for, others what the limit lets through, or nothing."""
    quota, state = throttle._quota, throttle._state  # noqa: SLF001 -- as above
    most = yield
    wanted = max_bytes
    if quota.is_limited and BrokerId(replica_id) not in partition.isr.isr:
        is_exceeded = quota.is_exceeded(state.now_ms())
        wanted = WAITS if is_exceeded else min(max_bytes, quota.burst_bytes)
    return (
        None if most == wanted else f"{replica_id} may get {most} of {partition.tp}, not {wanted}"
    )


@of_method(MovingLog, "_on_written")
def on_copied(
    moving: MovingLog,
    end_offset: int,
    size_bytes: int,
    counts: bool,  # noqa: FBT001 -- as the rule has it
) -> Generator[None, None, Broken]:
    """What a move has copied is paid for, and the copy has no more committed than its log."""
    quota, log = moving._tools.throttle, moving._future.log  # noqa: SLF001 -- as above
    now_ms = moving._state.now_ms()  # noqa: SLF001 -- as above
    room = quota.room_bytes(now_ms)
    before = 0 if log is None else log.positions.high_watermark
    yield
    committed = moving._replica.partition.high_watermark  # noqa: SLF001 -- as above
    if log is not None and log.positions.high_watermark > max(committed, before):
        return f"{moving.tp} has {committed} committed, its copy {log.positions.high_watermark}"
    return _unpaid(quota, now_ms, room, size_bytes)


@of_method(MovingLog, "_copy")
def copy_step(moving: MovingLog, _: MoveState) -> Generator[None, int, Broken]:
    """A step of a move says what it has copied: the next one comes when there is nothing more."""
    before = moving._future.copied_bytes  # noqa: SLF001 -- as above
    copied = yield
    count = moving._future.copied_bytes - before  # noqa: SLF001 -- as above
    return None if copied == count else f"{count} bytes of {moving.tp} are copied, told {copied}"


@of_method(MovingLog, "copy")
def copy(moving: MovingLog) -> Generator[None, None, Broken]:
    """A move copies nothing while more was copied than the limit lets through."""
    quota = moving._tools.throttle  # noqa: SLF001 -- as above
    is_exceeded = quota.is_exceeded(moving._state.now_ms())  # noqa: SLF001 -- as above
    yield
    return f"{moving.tp} is copied over the limit of moves" if is_exceeded else None


@of_method(Fetches, "_read")
def read(
    fetches: Fetches, reading: Reading, replica: Replica, index: int
) -> Generator[None, FetchResult, Broken]:
    """What followers are given of a throttled replica is paid for, and waits while it cannot be."""
    quota, state = fetches._state.quotas.leader, fetches._state  # noqa: SLF001 -- as above
    is_throttled = replica.is_leader_throttled and reading.is_follower and quota.is_limited
    is_member = BrokerId(reading.params.replica_id) in replica.partition.isr.isr
    waits = is_throttled and not is_member and quota.is_exceeded(state.now_ms())
    before = quota.room_bytes(state.now_ms()) if is_throttled else 0
    result = yield
    if not is_throttled:
        return None
    begun = sum(one.reserved_bytes for one in reading.disk if one.part_index == index)
    size_bytes = result.records_size_bytes + begun
    if waits:
        return (
            f"{size_bytes} bytes of {replica.tp} are given over the limit" if size_bytes else None
        )
    return _unpaid(quota, state.now_ms(), before, size_bytes)
