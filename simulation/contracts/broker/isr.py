"""What the in-sync replicas and the high watermark of a leader promise.

Source: Partition.scala and Replica.scala; KIP-497, KIP-966.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Final

from broker.core import isr as rules
from broker.core.isr import FollowerState, IsrAnswer, IsrState
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, BrokerId
from simulation.contracts.contract import Broken, of_function, of_method

_GIVES_UP: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
_WAITS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
    }
)


@of_method(FollowerState, "on_leader_epoch")
def on_leader_epoch(
    follower: FollowerState, *, in_isr: bool, leader_end_offset: int, now_ms: int
) -> Generator[None, None, Broken]:
    """Isr members count as caught up when a leader epoch begins, others do not.

    What it had under an earlier leader says nothing of what it has now.
    """
    yield
    if follower.log_end_offset >= 0 or follower.log_start_offset >= 0:
        return f"offsets of an earlier leader epoch are kept: {follower}"
    if (follower.last_caught_up_ms == now_ms) is not in_isr:
        return f"caught up at {follower.last_caught_up_ms}, now is {now_ms}, in the Isr: {in_isr}"
    return None


@of_method(FollowerState, "on_fetch")
def on_fetch(
    follower: FollowerState,
    fetch_offset: int,
    log_start_offset: int,
    broker_epoch: int = NO_EPOCH,
    *,
    leader_end_offset: int,
    now_ms: int,
) -> Generator[None, None, Broken]:
    """Who fetches from the end has caught up.

    It has caught up now, or at its last fetch if it has by now what was there then.
    """
    before_ms, fetched_ms = follower.last_caught_up_ms, follower.last_fetch_ms
    end_then = follower.last_fetch_leader_end_offset
    yield
    known = (follower.log_end_offset, follower.log_start_offset, follower.last_fetch_ms)
    if (*known, follower.broker_epoch) != (fetch_offset, log_start_offset, now_ms, broker_epoch):
        return f"a fetch from {fetch_offset} at {now_ms} is noted as {follower}"
    caught_up = [before_ms]
    if fetch_offset >= leader_end_offset:
        caught_up.append(now_ms)
    elif fetch_offset >= end_then:
        caught_up.append(fetched_ms)
    if follower.last_caught_up_ms != max(caught_up):
        return f"caught up at {follower.last_caught_up_ms}, not {max(caught_up)}"
    if follower.last_fetch_leader_end_offset != max(leader_end_offset, 0):
        return f"the leader's end at this fetch is {leader_end_offset}, noted is {follower}"
    return None


@of_method(IsrState, "shrink")
def shrink(state: IsrState, out_of_sync: Sequence[BrokerId]) -> Generator[None, IsrState, Broken]:
    """An Isr shrinks by those named, while no other change is under way."""
    after = yield
    if state.proposed is not None:
        return None if after == state else f"{state.proposed} was under way, now {after}"
    wanted = [member for member in state.isr if member not in out_of_sync]
    proposed = list(state.isr if after.proposed is None else after.proposed)
    if (after.isr, after.partition_epoch, proposed) != (state.isr, state.partition_epoch, wanted):
        return f"{state} without {list(out_of_sync)} becomes {after}"
    return None


@of_method(IsrState, "expand")
def expand(state: IsrState, broker_id: BrokerId) -> Generator[None, IsrState, Broken]:
    """An Isr grows by one at its end, while no other change is under way."""
    after = yield
    if state.proposed is not None or broker_id in state.isr:
        return None if after == state else f"{state} with {broker_id} becomes {after}"
    if after.isr != state.isr or after.proposed != (*state.isr, broker_id):
        return f"{state} with {broker_id} becomes {after}"
    return None


@of_function(rules.on_alter_partition_error)
def alter_partition_error(
    state: IsrState, code: ErrorCode
) -> Generator[None, tuple[IsrState, IsrAnswer], Broken]:
    """A change is given up only by a code that says it was not made.

    Who gives up too early shows an Isr that the controller may yet have taken.
    """
    after, answer = yield
    gives_up = code in _GIVES_UP
    wanted = IsrAnswer.RETRY
    if gives_up:
        wanted = IsrAnswer.ROLLED_BACK
    elif code in _WAITS:
        wanted = IsrAnswer.WAIT
    proposed = None if gives_up else state.proposed
    if answer is not wanted or after.proposed != proposed or after.isr != state.isr:
        return f"{code.name} turns {state} into {after}, {answer}"
    return None


@of_function(rules.on_alter_partition_success)
def alter_partition_success(
    state: IsrState, *, isr: Sequence[BrokerId], partition_epoch: int, is_newer_leader_epoch: bool
) -> Generator[None, tuple[IsrState, IsrAnswer], Broken]:
    """Only news of this leader epoch are taken."""
    after, _ = yield
    is_taken = not is_newer_leader_epoch and partition_epoch >= state.partition_epoch
    wanted = IsrState(tuple(isr), partition_epoch) if is_taken else state
    if after != wanted:
        return f"{state} and the answer {list(isr)}, epoch {partition_epoch}, become {after}"
    return None


@of_function(rules.out_of_sync_replicas)
def out_of_sync(
    isr: IsrState,
    followers: Mapping[BrokerId, FollowerState],
    *,
    leader_end_offset: int,
    now_ms: int,
    lag_time_max_ms: int,
) -> Generator[None, list[BrokerId], Broken]:
    """Who has not caught up for too long leaves, and nobody else."""
    leaving = yield
    if isr.proposed is not None:
        return f"{leaving} leave while {isr.proposed} is under way" if leaving else None
    for member in isr.isr:
        follower = followers.get(member)
        is_late = (
            follower is not None
            and follower.log_end_offset != leader_end_offset
            and now_ms - follower.last_caught_up_ms > lag_time_max_ms
        )
        if is_late is not (member in leaving):
            return f"{member} {'stays' if is_late else 'leaves'} at {now_ms} ms: {follower}"
    return None


@of_function(rules.leader_high_watermark)
def high_watermark_of_leader(
    current: int,
    isr: IsrState,
    followers: Mapping[BrokerId, FollowerState],
    *,
    leader_end_offset: int,
    joining: Iterable[BrokerId] = (),
) -> Generator[None, int, Broken]:
    """What is committed is with all members.

    It never falls, and no member of the Isr, nor one about to be, is without what is below.
    """
    waited_for = {*isr.isr, *(isr.proposed or ()), *joining}
    ends = [followers[each].log_end_offset for each in sorted(waited_for) if each in followers]
    after = yield
    wanted = max(current, min([leader_end_offset, *ends]))
    if after != wanted:
        return f"from {current} to {after}, not {wanted}: {isr}, ends {ends}"
    return None


@of_function(rules.follower_high_watermark)
def high_watermark_of_follower(
    leader_high_watermark: int, *, log_start_offset: int, log_end_offset: int
) -> Generator[None, int, Broken]:
    """A follower commits what its leader has committed, within its own log."""
    after = yield
    wanted = sorted((log_start_offset, leader_high_watermark, log_end_offset))[1]
    if after != wanted:
        return f"{after}, not {wanted}, in a log from {log_start_offset} to {log_end_offset}"
    return None


@of_function(rules.may_append)
def append(
    isr: IsrState, *, acks: int, min_insync_replicas: int
) -> Generator[None, ErrorCode, Broken]:
    """acks=all needs min.insync.replicas."""
    code = yield
    is_refused = acks not in {0, 1} and not len(isr.isr) >= min_insync_replicas
    if (code is ErrorCode.NOT_ENOUGH_REPLICAS) is not is_refused:
        return f"acks {acks}, {isr.isr} in sync of {min_insync_replicas} needed: {code.name}"
    return None


@of_function(rules.is_replicated)
def replication(
    isr: IsrState, *, high_watermark: int, required_offset: int, min_insync_replicas: int
) -> Generator[None, ErrorCode | None, Broken]:
    """A produce is answered when enough have it."""
    code = yield
    if (code is None) is (high_watermark >= required_offset):
        return f"{code} for {required_offset} at high watermark {high_watermark}"
    members = {*isr.isr, *(isr.proposed or ())}
    is_short = len(members) < min_insync_replicas
    if code is not None and (code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND) is not is_short:
        return f"{code.name} with {sorted(members)} of {min_insync_replicas} needed"
    return None
