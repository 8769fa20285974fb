"""What a follower promises of whom it fetches, and a leader of who fetches from it.

Source: AbstractFetcherThread.scala, ReplicaManager.scala makeFollowers, Partition.scala
updateFollowerFetchState; KIP-101, KIP-497.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator

from broker.core.append import FollowerAppend
from broker.core.control_rules import LeaderAndIsrDecision
from broker.engine.control.leadership import Leadership
from broker.engine.control.stopping import Stopping
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import FetchedRecords, Followed, FollowState
from broker.engine.follow.follower import FollowedLog, Following
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.types import FetchParams, FetchPart
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, BrokerId, TopicPartition
from protocol.messages.control import StopReplicaRequest, StopReplicaResponse
from simulation.contracts.contract import Broken, of_method


def _source_of(following: Following, replica: Replica) -> tuple[int, FollowedLog] | None:
    return following._source_of.get(replica.tp)  # noqa: SLF001 -- nothing public has it


def _entry(following: Following, source: int, replica: Replica) -> Followed | None:
    entries = following._sources[source].fetcher._entries  # noqa: SLF001 -- as above
    return entries.get((replica.topic_id, replica.tp.partition))


@of_method(Leadership, "take_role")
def take_role(
    leadership: Leadership, replica: Replica, decision: LeaderAndIsrDecision
) -> Generator[None, None, Broken]:
    """A leader fetches from nobody, a follower from the leader that it was told, as of its epoch.

    It asks before where the leader's epochs end: what it has beyond is cut.
    """
    following, state = leadership._following, decision.state  # noqa: SLF001 -- as above
    yield
    known = _source_of(following, replica)
    if following._group is None:  # noqa: SLF001 -- as above
        return None
    is_fetched = state.leader not in {-1, replica.partition.broker_id}
    if (known is not None) is not is_fetched or (known and known[0] != state.leader):
        return f"{replica.tp} is led by {state.leader} and fetched from {known and known[0]}"
    entry = None if known is None else _entry(following, known[0], replica)
    if known is None:
        return None
    if entry is None or entry.leader_epoch != state.leader_epoch:
        return f"{replica.tp} is fetched as of {entry and entry.leader_epoch}, told {state}"
    if entry.state is not FollowState.RECONCILING:
        return f"{replica.tp} is {entry.state.name} before its leader was asked"
    return None


@of_method(Following, "unfollow")
def unfollow(following: Following, replica: Replica) -> Generator[None, None, Broken]:
    """A replica that is not followed any more is fetched from nobody."""
    known = _source_of(following, replica)
    yield
    if _source_of(following, replica) is not None:
        return f"{replica.tp} is still followed"
    return None if known is None else _still_fetched(following, known[0], known[1])


def _still_fetched(following: Following, source: int, followed: FollowedLog) -> Broken:
    """Say that a broker is still asked for a replica, or for where its leader epochs end."""
    fetcher = following._sources[source].fetcher  # noqa: SLF001 -- as above
    key = (followed.topic_id, followed.tp.partition)
    tables = (fetcher._entries, fetcher._ready, fetcher.unreconciled)  # noqa: SLF001 -- as above
    left = [one for table in tables if (one := table.get(key)) and one.replica is followed]
    return f"{source} is still asked for {followed.tp}: {left[0].state.name}" if left else None


@of_method(Fetcher, "refused")
def refused(_: Fetcher, entry: Followed, code: int) -> Generator[None, None, Broken]:
    """Who is fenced waits for its next leader epoch, others ask again: of their range, or later."""
    yield
    wanted = FollowState.DELAYED
    if code == ErrorCode.FENCED_LEADER_EPOCH:
        wanted = FollowState.FAILED
    elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
        wanted = FollowState.OUT_OF_RANGE
    if entry.state is not wanted:
        return f"{entry.replica.tp} is {entry.state.name} after {code}, not {wanted.name}"
    return None


@of_method(FollowedLog, "_on_written")
def on_written(
    followed: FollowedLog,
    checked: FollowerAppend,
    fetched: FetchedRecords,
    counts: bool,  # noqa: FBT001 -- as the rule has it
) -> Generator[None, None, Broken]:
    """What a follower has written is committed and deleted as far as its leader said with it.

    What was cut meanwhile counts for nothing.
    """
    partition = followed.replica.partition
    begin, end = partition.log_start_offset, partition.log_end_offset
    committed, is_leader = partition.high_watermark, partition.is_leader
    is_online = followed.replica.log.dir.is_online
    yield
    after = (partition.log_end_offset, partition.log_start_offset, partition.high_watermark)
    if not counts:
        is_same = after == (end, begin, committed)
        return None if is_same else f"{followed.tp} was cut, and goes from {end} to {after}"
    end = max(end, checked.last_offset + 1)
    begins = max(begin, min(fetched.log_start_offset, end)) if is_online else after[1]
    if after[:2] != (end, begins):
        return f"{followed.tp} ends and begins at {after[:2]}, not {end}, {begins}"
    wanted = max(min(fetched.high_watermark, end), begins)
    if not is_leader and fetched.high_watermark >= 0 and after[2] != wanted:
        return f"{followed.tp} has {after[2]} committed, not {wanted}"
    return None


@of_method(Fetches, "_note_follower")
def note_follower(
    fetches: Fetches, replica: Replica, part: FetchPart, params: FetchParams
) -> Generator[None, ErrorCode, Broken]:
    """Only replicas count by their fetches, and who comes into the Isr by one is proposed.

    Nor does a life of its broker count that is over. What was committed by the fetch, or deleted
    everywhere, is waited for no more.
    """
    partition, replica_id = replica.partition, BrokerId(params.replica_id)
    known, before = partition.followers.get(replica_id), partition.isr
    life = NO_EPOCH if known is None else known.broker_epoch
    counts = known is not None and (
        params.replica_epoch in {NO_EPOCH, life} or params.replica_epoch > life
    )
    code = yield
    if (code is ErrorCode.NONE) is not counts:
        return f"{params}, of {partition.followers}, fetches: {code.name}"
    if not counts:
        return None
    if partition.followers[replica_id].log_start_offset != part.log_start_offset:
        return f"{replica_id} begins at {part.log_start_offset}: {partition.followers[replica_id]}"
    reporter = fetches._reporter._wanted  # noqa: SLF001 -- nothing public has it
    is_told = reporter.get((replica.topic_id, replica.tp.partition)) is replica
    if partition.isr is not before and not is_told:
        return f"{partition.isr} of {replica.tp} is told to nobody"
    return None


@of_method(Stopping, "_stop_replica")
def stop_replica(
    stopping: Stopping, request: StopReplicaRequest
) -> Generator[None, StopReplicaResponse, Broken]:
    """A replica that is stopped is neither fetched nor moved, one that is deleted is gone."""
    deleted = {
        TopicPartition(topic.topic_name, each.partition_index): each.delete_partition
        for topic in request.topic_states
        for each in topic.partition_states
    }
    response = yield
    for row in response.partition_errors:
        tp = TopicPartition(row.topic_name, row.partition_index)
        replica = stopping._state.hosted.online_replica(tp)  # noqa: SLF001 -- as above
        if row.error_code != ErrorCode.NONE or replica is None:
            continue
        is_fetched = _source_of(stopping._following, replica) is not None  # noqa: SLF001 -- as above
        is_moved = stopping._moves._mover(tp).has(tp)  # noqa: SLF001 -- as above
        if deleted[tp] or is_fetched or is_moved or not replica.is_stopped:
            return f"{tp} is stopped; deleted: {deleted[tp]}, fetched: {is_fetched}, {is_moved}"
    return None
