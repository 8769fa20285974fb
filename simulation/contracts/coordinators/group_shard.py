"""What a coordinator of groups promises of offsets that are committed, fetched and deleted.

Source: GroupCoordinator.scala, GroupMetadataManager.scala, OffsetMetadataManager.java.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from broker.core.coordination import Decided, Waiter, batch_size_bound
from broker.core.groups import group_catalog
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.group_offsets import Committed, GroupOffsets, read_offset
from broker.core.groups.group_shard import Commit, FetchedOffset, GroupShard
from broker.core.groups.membership import ExpiryRule
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.stored_records import GROUP_RECORDS, decode_key
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.coordinators.group_offsets import as_stored


def _answer(decided: Decided, waiter: Waiter) -> object:
    """Return the answer, where there is one, for who asked."""
    told = [each for each in decided.answers if each.waiter == waiter]
    return told[0].response if len(decided.answers) == len(told) == 1 else None


def _is_pending(shard: GroupShard, group_id: str, tp: TopicPartition, producer_id: int) -> bool:
    pending = shard.offsets._pending.get(producer_id, {})  # noqa: SLF001 -- nothing public has it
    return tp in pending.get(group_id, {})


@of_method(GroupShard, "commit")
def commit(
    shard: GroupShard, waiter: Waiter, wanted: Commit, now_ms: int, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """What is committed counts and is written as it was asked for; what is refused changes nothing.

    Each part has its own code. A transaction's offsets are written as part of it.
    """
    group_id, offsets = wanted.group_id, shard.offsets
    before = dict(offsets.committed(group_id))
    is_member = wanted.committer.generation >= 0
    is_simple = offsets.is_here(group_id) and not shard.members.knows(group_id)
    try:
        decided = yield
    except KafkaError as refused:
        if is_member and is_simple and refused.code is not ErrorCode.UNKNOWN_MEMBER_ID:
            return f"{refused.code.name} for a member of a group that has offsets alone"
        is_same = dict(offsets.committed(group_id)) == before
        return None if is_same else f"{refused.code.name}, and {before} changed"
    if is_member and is_simple:
        return f"a member of generation {wanted.committer.generation} commits, there are none"
    most, codes = shard._config.offset_metadata_max_bytes, _answer(decided, waiter)  # noqa: SLF001 -- nothing public says it
    lengths = [len((new.metadata or "").encode("utf-16-le")) for new in wanted.offsets]
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    if codes != [too_large if each > 2 * most else ErrorCode.NONE for each in lengths]:
        return f"codes {codes} for metadata of {lengths} bytes, at most {2 * most}"
    if batch_size_bound(decided.records) > shard._batch_bytes_max():  # noqa: SLF001 -- as above
        return f"{len(decided.records)} records are larger than a batch"
    return _not_committed(shard, decided, wanted, before, wall_ms)


def _not_committed(
    shard: GroupShard,
    decided: Decided,
    wanted: Commit,
    before: dict[TopicPartition, Committed],
    wall_ms: int,
) -> Broken:
    most = shard._config.offset_metadata_max_bytes  # noqa: SLF001 -- as above
    asked: dict[TopicPartition, tuple[object, ...]] = {}
    for new in wanted.offsets:
        text = new.metadata or ""
        if len(text.encode("utf-16-le")) <= 2 * most:
            commit_ms = wall_ms if new.commit_ms < 0 else new.commit_ms
            expire_ms = wall_ms + wanted.retention_ms if wanted.retention_ms != -1 else -1
            asked[new.tp] = (new.offset, new.leader_epoch, text, commit_ms, expire_ms)
    written: dict[TopicPartition, tuple[object, ...]] = {}
    for key, value in decided.records:
        group_id, tp, found = read_offset(decode_key(GROUP_RECORDS, key)[1], value)
        if group_id != wanted.group_id or found is None:
            return f"{found} of {group_id} in {tp} is written for {wanted}"
        written[tp] = as_stored(found)
    if {tp: (each[0], *each[2:]) for tp, each in written.items()} != {
        tp: (each[0], *each[2:]) for tp, each in asked.items()
    }:
        return f"{written} is written, not {asked}"
    producer = wanted.producer
    if decided.producer is not producer:
        return f"written for {decided.producer}, committed by {producer}"
    now = shard.offsets.committed(wanted.group_id)
    if producer is not None:
        is_open = all(_is_pending(shard, wanted.group_id, tp, producer.producer_id) for tp in asked)
        return None if now == before and is_open else f"{asked} of a transaction: {now}"
    held = {tp: as_stored(each) for tp, each in now.items()}
    known = {tp: as_stored(each) for tp, each in before.items()} | asked
    return None if held == known else f"{asked} become {held}"


@of_method(GroupShard, "fetch")
def fetch(
    shard: GroupShard,
    waiter: Waiter,
    group_id: str,
    tps: Iterable[TopicPartition] | None,
    *,
    require_stable: bool,
    **_: object,
) -> Generator[None, Decided, Broken]:
    """Whoever fetches is told what is committed, and of all partitions where it names none.

    No topic is told twice then. Who asks for stable offsets is told to come back while a
    transaction has others.
    """
    committed = dict(shard.offsets.committed(group_id))
    wanted: list[FetchedOffset] = []
    pending = shard.offsets._pending  # noqa: SLF001 -- as above
    if tps is None:
        topics = list(dict.fromkeys(tp.topic for tp in committed))
        tps = sorted(committed, key=lambda tp: topics.index(tp.topic))
    for tp in tps:
        is_open = any(_is_pending(shard, group_id, tp, each) for each in pending)
        if require_stable and is_open:
            wanted.append(FetchedOffset(tp, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif tp in committed:
            wanted.append(FetchedOffset(tp, *committed[tp][:3]))
        else:
            wanted.append(FetchedOffset(tp, -1, -1, ""))
    try:
        decided = yield
    except KafkaError:
        return None
    if _answer(decided, waiter) != wanted or decided.records:
        return f"told {decided.answers}, not {wanted}"
    return None


@of_method(GroupShard, "delete_offsets")
def delete_offsets(
    shard: GroupShard, waiter: Waiter, group_id: str, tps: Sequence[TopicPartition]
) -> Generator[None, Decided, Broken]:
    """An administrator deletes offsets of topics that no member reads, and a group with the last.

    Of a group that is not there it is told so.
    """
    before = dict(shard.offsets.committed(group_id))
    is_there = shard.offsets.is_here(group_id) or shard.members.knows(group_id)
    in_use: dict[str, bool] = {}
    if is_there:
        try:
            read = shard.members.topics_in_use(group_id)
        except KafkaError:
            is_there = False
        else:
            in_use = {tp.topic: tp.topic in read for tp in tps}
    try:
        decided = yield
    except KafkaError as refused:
        is_known = refused.code in {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NON_EMPTY_GROUP}
        return f"{refused.code.name}: {group_id}" if is_there or not is_known else None
    if not is_there:
        return f"{group_id} is not there, or no topics of it are known: {decided}"
    refusal = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    codes = [refusal if in_use[tp.topic] else ErrorCode.NONE for tp in tps]
    if _answer(decided, waiter) != codes:
        return f"{decided.answers}, not {codes}: {in_use}"
    left = {tp: each for tp, each in before.items() if tp not in tps or in_use[tp.topic]}
    now = dict(shard.offsets.committed(group_id))
    return None if now == left else f"{now} are left, not {left}"


@of_method(GroupShard, "replay")
def replay(
    shard: GroupShard, key: bytes, value: bytes | None, *, producer_id: int = NO_PRODUCER_ID
) -> Generator[None, None, Broken]:
    """What the log has of a group's offset is known of it."""
    yield
    record, about = decode_key(GROUP_RECORDS, key)
    if record.number > 1:
        return None
    group_id, tp, found = read_offset(about, value)
    after = shard.offsets.committed(group_id).get(tp)
    if found is not None and producer_id >= 0:
        is_kept = _is_pending(shard, group_id, tp, producer_id)
        return None if is_kept else f"{found} of producer {producer_id} is not pending"
    held = None if after is None else as_stored(after)
    return None if held == (found and as_stored(found)) else f"{found} is {after}"


@of_method(GroupShard, "replay_end")
def replay_end(
    shard: GroupShard, producer_id: int, *, is_commit: bool
) -> Generator[None, None, Broken]:
    """A marker says which end a transaction has: offsets count by a commit, and by it alone."""
    offsets: GroupOffsets = shard.offsets
    pending = {
        (group_id, tp): each
        for group_id, found in offsets._pending.get(producer_id, {}).items()  # noqa: SLF001 -- as above
        for tp, each in found.items()
    }
    before = {place: offsets.committed(place[0]).get(place[1]) for place in pending}
    yield
    if producer_id in offsets._pending:  # noqa: SLF001 -- as above
        return f"producer {producer_id} has something pending after its end"
    for place, each in pending.items():
        now, was = offsets.committed(place[0]).get(place[1]), before[place]
        is_newer = was is None or was.order < each.order
        wanted = each if is_commit and is_newer else was
        if now != wanted:
            return f"{place} is {now}, not {wanted}, committed: {is_commit}"
    return None


@of_method(GroupShard, "next_due_ms")
def next_due_ms(shard: GroupShard) -> Generator[None, int | None, Broken]:
    """A shard is due when its members are, or when expired offsets are looked for."""
    told = yield
    due = [shard._look_due_ms, shard.members.next_due_ms()]  # noqa: SLF001 -- nothing public says it
    wanted = min((each for each in due if each is not None), default=None)
    return None if told == wanted else f"due at {told}, not {wanted}"


@of_method(GroupShard, "loaded")
def loaded(shard: GroupShard, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """Expired offsets are looked for an interval after a shard is loaded."""
    yield
    wanted = now_ms + shard._config.offsets_retention_check_interval_ms  # noqa: SLF001 -- as above
    found = shard._look_due_ms  # noqa: SLF001 -- as above
    return None if found == wanted else f"looked for at {found}, not {wanted}"


@of_method(GroupShard, "expire")
def expire(shard: GroupShard, now_ms: int, wall_ms: int) -> Generator[None, Decided, Broken]:
    """A look at all groups leaves no offset that is over; the next comes after an interval."""
    is_begun, before_ms = bool(shard._to_look_at), shard._look_due_ms  # noqa: SLF001 -- as above
    yield
    due_ms = shard._look_due_ms  # noqa: SLF001 -- as above
    if is_begun or due_ms == before_ms:
        return None
    if due_ms != now_ms + shard._config.offsets_retention_check_interval_ms:  # noqa: SLF001 -- as above
        return f"looked for at {due_ms} after {now_ms}"
    left = [group_id for group_id in shard.offsets.group_ids() if _over(shard, group_id, wall_ms)]
    return f"offsets of {left} are over, and nobody looked" if left else None


def _over(shard: GroupShard, group_id: str, wall_ms: int) -> list[TopicPartition]:
    """Return where a group has offsets that its clients kept until now."""
    rule = shard._membership.expiry(group_id)  # noqa: SLF001 -- as above
    return [
        tp
        for tp, committed in shard.offsets.committed(group_id).items()
        if 0 <= committed.expire_ms <= wall_ms or _is_old(shard, committed, rule, wall_ms)
        if rule.may_expire and tp.topic not in rule.kept_topics
        if not shard.offsets.is_unstable(group_id, tp)
    ]


def _is_old(shard: GroupShard, committed: Committed, rule: ExpiryRule, wall_ms: int) -> bool:
    since_ms = committed.commit_ms if rule.unused_since_ms is None else rule.unused_since_ms
    kept_ms = shard._config.offsets_retention_minutes * 60_000  # noqa: SLF001 -- as above
    return committed.expire_ms < 0 and wall_ms - since_ms >= kept_ms


@of_method(GroupMembers, "expire")
def expire_members(
    members: GroupMembers, now_ms: int, wall_ms: int
) -> Generator[None, Decided, Broken]:
    """What members of either protocol are due is done, unless a batch has no room for all."""
    del wall_ms
    decided = yield
    next_ms = members.next_due_ms()
    is_left = next_ms is not None and next_ms <= now_ms
    is_short = batch_size_bound(decided.records) < members._batch_bytes_max() // 2  # noqa: SLF001 -- as above
    return f"something is due at {next_ms} still, it is {now_ms}" if is_left and is_short else None


@of_method(GroupMembers, "next_due_ms")
def members_due(members: GroupMembers) -> Generator[None, int | None, Broken]:
    """Members are due when the first of either protocol is."""
    told = yield
    due = [each.next_due_ms() for each in (members.classic, members.consumer)]
    wanted = min((each for each in due if each is not None), default=None)
    return None if told == wanted else f"due at {told}, not {wanted}"


def _is_joined_anew(group: object) -> bool:
    return isinstance(group, ClassicGroup) and group.state is GroupState.PREPARING_REBALANCE


@of_function(group_catalog.delete)
def delete_group(
    shard: GroupShard, waiter: Waiter, group_id: str
) -> Generator[None, Decided, Broken]:
    """A group that nobody is in is deleted with all its offsets, and no other is.

    One that all left while it was to be joined anew is not empty before that time is over, either.
    """
    offsets, group = dict(shard.offsets.committed(group_id)), shard.members.get(group_id)
    wanted = ErrorCode.NONE
    if group is None and not shard.offsets.is_here(group_id):
        wanted = ErrorCode.GROUP_ID_NOT_FOUND
    elif group is not None and (group.members or _is_joined_anew(group)):
        wanted = ErrorCode.NON_EMPTY_GROUP
    try:
        decided = yield
    except KafkaError as refused:
        is_there = shard.members.get(group_id) is group
        is_kept = is_there and shard.offsets.committed(group_id) == offsets
        told = f"{refused.code.name}, not {wanted.name}, kept: {is_kept}"
        return None if refused.code is wanted and is_kept else told
    is_left = shard.members.knows(group_id) or shard.offsets.is_here(group_id)
    if is_left or wanted is not ErrorCode.NONE:
        return f"{group_id} is there still: {is_left}; {wanted.name}"
    if _answer(decided, waiter) is not ErrorCode.NONE or any(each[1] for each in decided.records):
        return f"told {decided.answers}, written {decided.records}"
    is_short = len(decided.records) < len(offsets)
    return f"{decided.records} of {list(offsets)}" if is_short else None
