"""What a partition on its broker promises: its offsets, its role, its followers.

Source: Partition.scala, UnifiedLog.scala; KIP-320, KIP-497.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.core.isr import IsrAnswer
from broker.core.log_positions import EpochsToWrite, LogPositions, RaisedStart
from broker.core.partition import Leadership, Partition
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, BrokerId
from simulation.contracts.contract import Broken, invariant, of_method


@invariant(
    LogPositions,
    "take_over",
    "assign_offsets",
    "appended",
    "truncated",
    "restarted_at",
    "raise_log_start",
)
def positions(log: LogPositions) -> Broken:
    """Nothing is committed that is not written, nor written that was not assigned.

    Nothing is committed that is not written, nor written that was not assigned.
    """
    offsets = (log.log_start_offset, log.high_watermark, log.log_end_offset, log.next_offset)
    return None if list(offsets) == sorted(offsets) else f"start, committed, end, next: {offsets}"


@of_method(LogPositions, "truncated")
def truncated(log: LogPositions, offset: int) -> Generator[None, EpochsToWrite, Broken]:
    """A cut takes all behind it."""
    start, committed = log.log_start_offset, log.high_watermark
    yield
    if log.next_offset != offset or log.log_end_offset != offset:
        return f"a log cut at {offset} ends at {log.log_end_offset}, goes on at {log.next_offset}"
    if log.log_start_offset != min(start, offset) or log.high_watermark != min(committed, offset):
        return f"a cut at {offset} leaves {log.log_start_offset}, {log.high_watermark}"
    late = [entry for entry in log.epochs.entries if entry.start_offset >= offset]
    return f"leader epochs begin behind a cut at {offset}: {late}" if late else None


@of_method(LogPositions, "raise_log_start")
def raise_log_start(log: LogPositions, offset: int) -> Generator[None, RaisedStart | None, Broken]:
    """A log start only rises, as far as the log goes, and what is written of it says so.

    Who asked for it is not told of a start that a crash forgets: the change is returned.
    """
    start, end, committed = log.log_start_offset, log.log_end_offset, log.high_watermark
    change = yield
    wanted = max(start, min(offset, end))
    if log.log_start_offset != wanted or log.high_watermark != max(committed, wanted):
        return f"from {start} to {log.log_start_offset}, asked for {offset}, end {end}"
    noted = start if change is None else change.log_start_offset
    if noted != wanted:
        return f"the start is {wanted}, {noted} is written"
    return None


@of_method(Partition, "become_leader")
def become_leader(
    partition: Partition, state: Leadership, *, now_ms: int
) -> Generator[None, EpochsToWrite, Broken]:
    """A leader holds what it was told, and has committed what all have."""
    committed = partition.high_watermark
    yield
    told = (state.leader_epoch, tuple(state.isr), state.partition_epoch)
    held = (partition.leader_epoch, partition.isr.isr, partition.isr.partition_epoch)
    if not partition.is_leader or held != told or partition.isr.proposed is not None:
        return f"told {told}, holds {held}"
    assigned = set(state.replicas) - {partition.broker_id}
    if set(partition.followers) != assigned:
        return f"followers {sorted(partition.followers)}, assigned {sorted(assigned)}"
    rose = partition.high_watermark > committed
    return _committed(partition, committed, now_ms, 0, rose=rose)


@of_method(Partition, "become_leader")
def new_epoch(
    partition: Partition, state: Leadership, *, now_ms: int
) -> Generator[None, EpochsToWrite, Broken]:
    """A new leader epoch begins where the log ends, with followers of whom nothing is known yet."""
    is_new = state.leader_epoch > partition.leader_epoch or not partition.is_leader
    begins_at = partition.next_offset
    to_write = yield
    if not is_new:
        return None
    if partition.leader_epoch_start_offset != begins_at:
        return f"it begins at {partition.leader_epoch_start_offset}, not {begins_at}"
    known = [each for each, one in sorted(partition.followers.items()) if one.log_end_offset >= 0]
    if known:
        return f"of {known} it knows what they had under an earlier leader"
    last = partition.epochs.entries[-1:]
    if [(entry.epoch, entry.start_offset) for entry in last] != [(state.leader_epoch, begins_at)]:
        is_older = bool(last) and last[0].epoch >= state.leader_epoch
        return None if is_older else f"leader epoch {state.leader_epoch} is not noted: {last}"
    return None if to_write is None or to_write[-1:] == last else f"{to_write} is written"


@of_method(Partition, "become_follower")
def become_follower(partition: Partition, state: Leadership) -> Generator[None, None, Broken]:
    """A follower leads nobody."""
    committed = partition.high_watermark
    yield
    told = (state.leader, state.leader_epoch, tuple(state.replicas))
    if (partition.leader_id, partition.leader_epoch, partition.replicas) != told:
        return f"told {told}, holds {partition.leader_id}, {partition.leader_epoch}"
    if partition.is_leader or partition.followers or partition.isr.isr:
        return f"it follows {state.leader} and still leads {sorted(partition.followers)}"
    if partition.high_watermark != committed:
        return f"its high watermark goes from {committed} to {partition.high_watermark}"
    return None


@of_method(Partition, "check_leader")
def check_leader(
    partition: Partition, current_leader_epoch: int
) -> Generator[None, ErrorCode, Broken]:
    """Only the leader of the epoch that was meant answers."""
    code = yield
    if code is not refusal(partition, current_leader_epoch):
        return f"{code.name} for epoch {current_leader_epoch}, here is {partition.leader_epoch}"
    return None


def refusal(
    partition: Partition, current_leader_epoch: int, *, leader_only: bool = True
) -> ErrorCode:
    """Return why a replica does not answer who means a leader epoch, or NONE."""
    if current_leader_epoch != NO_EPOCH:
        if current_leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if current_leader_epoch > partition.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
    is_meant = partition.is_leader or not leader_only
    return ErrorCode.NONE if is_meant else ErrorCode.NOT_LEADER_OR_FOLLOWER


@of_method(Partition, "required_isr_count")
def required_isr_count(partition: Partition) -> Generator[None, int, Broken]:
    """acks=all needs no more replicas than there are."""
    needed = yield
    configured, count = partition.min_insync_replicas, len(partition.replicas)
    if needed > count or needed not in {configured, count}:
        return f"{needed} are needed of {count} replicas, {configured} are configured"
    return None


@of_method(Partition, "check_append")
def check_append(partition: Partition, acks: int) -> Generator[None, ErrorCode, Broken]:
    """A producer appends to leaders, with acks=all only while the Isr is large enough."""
    code = yield
    if (code is ErrorCode.NOT_LEADER_OR_FOLLOWER) is partition.is_leader:
        return f"{code.name} where the leader is {partition.leader_id}"
    needed = min(partition.min_insync_replicas, len(partition.replicas))
    is_short = partition.is_leader and acks not in {0, 1} and len(partition.isr.isr) < needed
    if (code is ErrorCode.NOT_ENOUGH_REPLICAS) is not is_short:
        return f"{code.name} with acks {acks}: {partition.isr.isr} of {needed} needed"
    return None


@of_method(Partition, "replicated")
def replicated(
    partition: Partition, required_offset: int
) -> Generator[None, ErrorCode | None, Broken]:
    """What is answered is committed."""
    code = yield
    if (code is None) is (partition.high_watermark >= required_offset):
        return f"{code} for {required_offset} at {partition.high_watermark}"
    needed = min(partition.min_insync_replicas, len(partition.replicas))
    if code is ErrorCode.NONE and len(partition.isr.maximal) < needed:
        return f"answered with {partition.isr.maximal} of {needed} needed"
    return None


@of_method(Partition, "follow_high_watermark")
def follow_high_watermark(
    partition: Partition, leader_high_watermark: int
) -> Generator[None, bool, Broken]:
    """A follower commits what its leader has committed, as far as its log goes."""
    before = partition.high_watermark
    rose = yield
    wanted = before
    if leader_high_watermark >= 0:
        start, end = partition.log_start_offset, partition.log_end_offset
        wanted = min(max(leader_high_watermark, start), max(start, end))
    after = partition.high_watermark
    if after != wanted or rose is not (after > before):
        return f"told {leader_high_watermark} it goes from {before} to {after}, not {wanted}"
    return None


@of_method(Partition, "follower_fetched")
def follower_fetched(  # noqa: PLR0913 -- the rule's own
    partition: Partition,
    replica_id: BrokerId,
    *,
    fetch_offset: int,
    log_start_offset: int,
    broker_epoch: int = NO_EPOCH,
    now_ms: int,
    lag_time_max_ms: int,
) -> Generator[None, bool, Broken]:
    """A fetch commits what all have, and tells which life of its broker has it."""
    before = partition.high_watermark
    rose = yield
    follower = partition.followers[replica_id]
    if (follower.log_end_offset, follower.broker_epoch) != (fetch_offset, broker_epoch):
        return f"a fetch from {fetch_offset} is noted as {partition.followers[replica_id]}"
    return _committed(partition, before, now_ms, lag_time_max_ms, rose=rose)


@of_method(Partition, "leader_appended")
def leader_appended(
    partition: Partition, end_offset: int, *, now_ms: int, lag_time_max_ms: int
) -> Generator[None, bool, Broken]:
    """An append commits what all have."""
    before, end = partition.high_watermark, partition.log_end_offset
    rose = yield
    if partition.log_end_offset != max(end, end_offset):
        return f"the end is {partition.log_end_offset}, written is {end_offset}"
    if not partition.is_leader:
        return None
    return _committed(partition, before, now_ms, lag_time_max_ms, rose=rose)


@of_method(Partition, "brokers_changed")
def brokers_changed(
    partition: Partition, *, now_ms: int, lag_time_max_ms: int
) -> Generator[None, bool, Broken]:
    """Nobody waits for the dead to join."""
    before = partition.high_watermark
    rose = yield
    if not partition.is_leader:
        return "a follower raises its high watermark" if rose else None
    return _committed(partition, before, now_ms, lag_time_max_ms, rose=rose)


def _committed(
    partition: Partition, before: int, now_ms: int, lag_time_max_ms: int, *, rose: bool
) -> Broken:
    """Say what is wrong with a leader's high watermark.

    Below ``min.insync.replicas`` it stays. Else it is what all have that are in the Isr, about to
    join it, or caught up on brokers that are alive: they could not join otherwise.
    """
    after = partition.high_watermark
    if rose is not (after > before):
        return f"it goes from {before} to {after} and says {rose}"
    needed = min(partition.min_insync_replicas, len(partition.replicas))
    if len(partition.isr.isr) < needed:
        return None if after == before else f"it rises with {partition.isr.isr} of {needed} needed"
    wanted = [partition.log_end_offset]
    for replica, follower in sorted(partition.followers.items()):
        has_caught_up = (
            follower.log_end_offset == partition.log_end_offset
            or now_ms - follower.last_caught_up_ms <= lag_time_max_ms
        )
        is_joining = follower.log_end_offset >= 0 and has_caught_up and partition.is_alive(replica)
        if replica in partition.isr.maximal or is_joining:
            wanted.append(follower.log_end_offset)
    if after != max(before, min(wanted)):
        return f"it goes from {before} to {after}, ends are {wanted}"
    return None


@of_method(Partition, "propose_join")
def propose_join(partition: Partition, replica_id: BrokerId) -> Generator[None, bool, Broken]:
    """Who joins has all that is committed and something of this leader epoch.

    And records of this leader epoch, else it could be elected without what its leader has.
    """
    before, lives = partition.isr, partition.proposed_lives
    proposes = yield
    if before.proposed is not None or replica_id in before.isr or not partition.is_leader:
        is_kept = partition.isr == before and partition.proposed_lives is lives
        return None if is_kept and not proposes else f"{before} becomes {partition.isr}"
    end = partition.followers[replica_id].log_end_offset
    may_join = (
        partition.is_alive(replica_id)
        and end >= partition.high_watermark
        and end >= partition.leader_epoch_start_offset
    )
    if proposes is not may_join or (partition.isr.proposed is not None) is not may_join:
        return (
            f"{replica_id} with all before {end} {'joins' if proposes else 'stays out'}:"
            f" committed {partition.high_watermark}, its leader's epoch begins at"
            f" {partition.leader_epoch_start_offset}"
        )
    return _other_lives(partition) if proposes else None


def _other_lives(partition: Partition) -> Broken:
    """Say whose change is proposed for another life of their broker than what fetched (KIP-903)."""
    for member in partition.isr.proposed or ():
        follower = partition.followers.get(member)
        epoch = NO_EPOCH if follower is None else follower.broker_epoch
        if partition.proposed_lives.get(member, NO_EPOCH) != epoch:
            return f"{member} in life {epoch} is proposed as {partition.proposed_lives}"
    return None


@of_method(Partition, "propose_shrink")
def propose_shrink(
    partition: Partition, *, now_ms: int, lag_time_max_ms: int
) -> Generator[None, bool, Broken]:
    """A leader drops those that are late, and never itself."""
    before, lives = partition.isr, partition.proposed_lives
    proposes = yield
    after = partition.isr.proposed
    if not partition.is_leader or before.proposed is not None:
        is_kept = partition.proposed_lives is lives and not proposes
        return None if is_kept else f"{before} becomes {partition.isr}"
    for member in before.isr:
        follower = partition.followers.get(member)
        is_late = (
            follower is not None
            and follower.log_end_offset != partition.log_end_offset
            and now_ms - follower.last_caught_up_ms > lag_time_max_ms
        )
        if is_late is not (after is not None and member not in after):
            return f"{member}, late: {is_late}, {before} becomes {partition.isr}"
    return _other_lives(partition) if proposes else None


@of_method(Partition, "isr_accepted")
def isr_accepted(
    partition: Partition,
    *,
    isr: Sequence[int],
    leader_epoch: int,
    partition_epoch: int,
    now_ms: int,
    lag_time_max_ms: int,
) -> Generator[None, tuple[IsrAnswer, bool], Broken]:
    """What the controller took is the Isr."""
    before, committed = partition.isr, partition.high_watermark
    _, rose = yield
    is_taken = leader_epoch <= partition.leader_epoch and partition_epoch >= before.partition_epoch
    held = (partition.isr.isr, partition.isr.proposed)
    if held != ((tuple(isr), None) if is_taken else (before.isr, before.proposed)):
        return f"{before} and the answer {list(isr)} become {partition.isr}"
    return _committed(partition, committed, now_ms, lag_time_max_ms, rose=rose)
