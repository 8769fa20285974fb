"""What is promised of the offsets that groups commit, at once and in transactions.

Source: GroupMetadataManager.scala, OffsetMetadataManager.java; KIP-98, KIP-211, KIP-447.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping

from broker.core.coordination import Record
from broker.core.groups import group_offsets as rules
from broker.core.groups.group_offsets import Committed, GroupOffsets, Offsets
from broker.core.groups.membership import ExpiryRule
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.messages.group_records import OffsetCommitValue
from protocol.stored_records import GROUP_RECORDS, decode_key, decode_versioned
from simulation.contracts.contract import Broken, invariant, of_function, of_method


def _pending_of(offsets: GroupOffsets, producer_id: int) -> dict[str, Offsets]:
    """Return what a producer's open transaction has, by group."""
    found = offsets._pending.get(producer_id, {})  # noqa: SLF001 -- nothing public has it
    return {group_id: dict(each) for group_id, each in found.items()}


def _is_pending(offsets: GroupOffsets, group_id: str, tp: TopicPartition | None = None) -> bool:
    pending = offsets._pending.values()  # noqa: SLF001 -- as above
    found = [groups[group_id] for groups in pending if group_id in groups]
    return bool(found) if tp is None else any(tp in each for each in found)


def as_stored(committed: Committed) -> tuple[object, ...]:
    """Return an offset without its place in the log."""
    return tuple(committed)[:-1]


@invariant(GroupOffsets, "put", "delete", "end_transaction", "replay")
def known_producers(offsets: GroupOffsets) -> Broken:
    """Each group knows the producers whose open transactions have offsets of it, and no others."""
    producers, pending = offsets._producers, offsets._pending  # noqa: SLF001 -- as above
    told = {(group_id, each) for group_id, ids in producers.items() for each in ids}
    has = {(group_id, each) for each, groups in pending.items() for group_id in groups}
    if told != has:
        return f"{sorted(told)} are known, {sorted(has)} are pending"
    is_empty = not all(each for groups in pending.values() for each in groups.values())
    return "a producer has nothing pending and is known" if is_empty else None


@of_method(GroupOffsets, "put")
def put(
    offsets: GroupOffsets,
    group_id: str,
    new: Mapping[TopicPartition, Committed],
    *,
    producer_id: int = NO_PRODUCER_ID,
) -> Generator[None, None, Broken]:
    """An offset counts at once, and one of a transaction not before that is committed."""
    before = dict(offsets.committed(group_id))
    pending = _pending_of(offsets, producer_id).get(group_id, {})
    yield
    now, now_pending = offsets.committed(group_id), _pending_of(offsets, producer_id)
    place, kept = (before, now) if producer_id == NO_PRODUCER_ID else (pending, now_pending)
    if place is pending:
        if now != before:
            return f"{new} of an open transaction count: {now}"
        kept = now_pending.get(group_id, {})
    wanted = {tp: as_stored(each) for tp, each in {**place, **new}.items()}
    if {tp: as_stored(each) for tp, each in kept.items() if isinstance(each, Committed)} != wanted:
        return f"{new} become {kept}"
    return None


@of_method(GroupOffsets, "replay")
def replay(
    offsets: GroupOffsets,
    group_id: str,
    tp: TopicPartition,
    committed: Committed | None,
    producer_id: int,
) -> Generator[None, None, Broken]:
    """The last record of a partition is what a group committed in it."""
    before = offsets.committed(group_id).get(tp)
    yield
    after = offsets.committed(group_id).get(tp)
    if committed is None:
        is_left = after is not None or _is_pending(offsets, group_id, tp)
        return f"{tp} of {group_id} is {after} after its tombstone" if is_left else None
    if producer_id != NO_PRODUCER_ID:
        found = _pending_of(offsets, producer_id).get(group_id, {}).get(tp)
        is_so = after == before and found is not None and as_stored(found) == as_stored(committed)
        return None if is_so else f"{committed} of producer {producer_id}: {found}, {after}"
    is_so = after is not None and as_stored(after) == as_stored(committed)
    return None if is_so else f"{committed} is {after}"


@of_method(GroupOffsets, "end_transaction")
def end_transaction(
    offsets: GroupOffsets, producer_id: int, *, is_commit: bool
) -> Generator[None, Collection[str], Broken]:
    """What a transaction committed counts where nothing later was; of an aborted one nothing does.

    Either way nothing of it is pending any more, and other producers' is.
    """
    pending = _pending_of(offsets, producer_id)
    before = {group_id: dict(offsets.committed(group_id)) for group_id in pending}
    others = {each for each in offsets._pending if each != producer_id}  # noqa: SLF001 -- as above
    groups = yield
    if set(groups) != set(pending) or set(offsets._pending) != others:  # noqa: SLF001 -- as above
        return f"{list(groups)} had something pending, not {list(pending)}"
    for group_id, ended in pending.items():
        wanted = before[group_id]
        for tp in ended if is_commit else ():
            wanted[tp] = max(ended[tp], wanted.get(tp, ended[tp]), key=lambda each: each.order)
        if dict(offsets.committed(group_id)) != wanted:
            now = offsets.committed(group_id)
            return f"{ended}, committed: {is_commit}, leave {now}, not {wanted}"
        if not offsets.is_here(group_id):
            return f"{group_id} is gone with what was aborted"
    return None


@of_method(GroupOffsets, "is_unstable")
def is_unstable(
    offsets: GroupOffsets, group_id: str, tp: TopicPartition
) -> Generator[None, bool, Broken]:
    """An offset is unstable while an open transaction has another one for its partition."""
    told = yield
    return None if told is _is_pending(offsets, group_id, tp) else f"{group_id} in {tp}: {told}"


@of_method(GroupOffsets, "has_offsets")
def has_offsets(offsets: GroupOffsets, group_id: str) -> Generator[None, bool, Broken]:
    """A group is there while it has an offset, or one is pending."""
    told = yield
    wanted = bool(offsets.committed(group_id)) or _is_pending(offsets, group_id)
    return None if told is wanted else f"{group_id}: {told}"


@of_method(GroupOffsets, "delete")
def delete(
    offsets: GroupOffsets, group_id: str, tps: Iterable[TopicPartition]
) -> Generator[None, list[Record], Broken]:
    """Each offset that was there gets its tombstone and is gone, pending ones too; others stay."""
    tps = list(dict.fromkeys(tps))
    before = dict(offsets.committed(group_id))
    there = [tp for tp in tps if tp in before or _is_pending(offsets, group_id, tp)]
    records = yield
    wanted = {tp: each for tp, each in before.items() if tp not in tps}
    if dict(offsets.committed(group_id)) != wanted:
        return f"without {tps} there are {offsets.committed(group_id)}, not {wanted}"
    if any(_is_pending(offsets, group_id, tp) for tp in tps):
        return f"some of {tps} are pending still"
    return _not_tombstones(records, group_id, there)


@of_method(GroupOffsets, "delete_all")
def delete_all(offsets: GroupOffsets, group_id: str) -> Generator[None, list[Record], Broken]:
    """Nothing is left of a group whose offsets are deleted."""
    there = set(offsets.committed(group_id))
    for groups in offsets._pending.values():  # noqa: SLF001 -- as above
        there.update(groups.get(group_id, ()))
    records = yield
    if offsets.committed(group_id) or _is_pending(offsets, group_id):
        return f"{offsets.committed(group_id)} are left of {group_id}"
    return _not_tombstones(records, group_id, there)


def _not_tombstones(
    records: Iterable[Record], group_id: str, tps: Collection[TopicPartition]
) -> Broken:
    found: list[tuple[str, TopicPartition]] = []
    for key, value in records:
        about = decode_key(GROUP_RECORDS, key)[1]
        if value is not None:
            return f"{about} is no tombstone"
        found.append((about.group, TopicPartition(about.topic, about.partition)))
    wanted = [(group_id, tp) for tp in tps]
    return None if sorted(found) == sorted(wanted) else f"tombstones of {found}, not {wanted}"


@of_function(rules._is_expired)  # noqa: SLF001 -- ``expire`` gives one tombstone after the other
def is_expired(
    committed: Committed, rule: ExpiryRule, wall_ms: int, retention_ms: int
) -> Generator[None, bool, Broken]:
    """An offset expires when its client says, or unused for the retention.

    It is unused since the group has no members, or else since it was committed.
    """
    told = yield
    since_ms = committed.commit_ms
    if rule.unused_since_ms is not None:
        since_ms = rule.unused_since_ms
    ends_ms = since_ms + retention_ms
    if committed.expire_ms >= 0:
        ends_ms = committed.expire_ms
    return None if told is not (wall_ms < ends_ms) else f"{told} at {wall_ms}: {committed}, {rule}"


@of_function(rules.offset_value)
def offset_value(committed: Committed) -> Generator[None, bytes, Broken]:
    """What is stored of an offset is all that was committed."""
    value = yield
    row = decode_versioned(OffsetCommitValue, value)[0]
    stored = (row.offset, row.leader_epoch, row.metadata, row.commit_timestamp)
    # Where a client set when it expires there is no room for the leader epoch: version 1.
    has_expiry = committed.expire_ms != -1
    wanted = (committed.offset, -1 if has_expiry else committed.leader_epoch, *committed[2:4])
    if (*stored, row.expire_timestamp) != (*wanted, committed.expire_ms):
        return f"{committed} is stored as {row}"
    return None
