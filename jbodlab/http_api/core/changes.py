"""What changed from one snapshot of a cluster to the next, as events.

A broker that does not answer hides what it has, and so does an offline log dir: ``carried_over``
keeps what was last known of them, so that nothing seems to vanish and come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from jbodlab.http_api.core.snapshot import (
    BrokerInfo,
    FaultInfo,
    LogDirInfo,
    MoveInfo,
    NodeState,
    PartitionInfo,
    ReplicaInfo,
    Snapshot,
    moves_of,
)

Kind = Literal[
    "controller_changed",
    "broker_changed",
    "log_dir_failed",
    "log_dir_returned",
    "log_dir_cordoned",
    "log_dir_uncordoned",
    "topic_created",
    "topic_deleted",
    "leader_changed",
    "isr_changed",
    "move_started",
    "move_progress",
    "move_done",
    "move_ended",
    "fault_added",
    "fault_cleared",
    "order_failed",
    "failover_step",
]
_NODE_WORDS: Final[dict[NodeState, str]] = {
    "running": "is up",
    "paused": "stands still",
    "silent": "does not answer",
    "down": "is down",
}


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event: what it is, in words, and whom it concerns; what does not apply is left out."""

    kind: Kind
    text: str
    broker: int | None = None
    log_dir: int | None = None
    """The number at its broker; of a move where it leads."""
    topic: str | None = None
    partition: int | None = None
    old: str | int | tuple[int, ...] | None = None
    new: str | int | tuple[int, ...] | None = None
    fault_id: str | None = None
    copied_bytes: int | None = None
    total_bytes: int | None = None
    happened_at_ms: int | None = None
    """Of a step of a failover: when, by the clock of the node that wrote it down."""
    since_failure_ms: int | None = None
    """Of a step of a failover: after the log dir went offline."""


def carried_over(before: Snapshot | None, seen: Snapshot) -> Snapshot:
    """Return what was seen, filled up with what was known before of those who do not answer now.

    Metadata that is older than what was known, by its leader epoch, does not count: a broker that
    the controller cannot reach tells it.
    """
    if before is None:
        return seen
    known = {each.id: each for each in before.brokers}
    brokers = tuple(
        _with_known(each, known[each.id], seen) if each.id in known else each
        for each in seen.brokers
    )
    silent = [each.id for each in seen.brokers if each.state != "running"]
    faults = (*seen.faults, *(each for each in before.faults if _is_hidden(each, seen, silent)))
    return replace(seen, brokers=brokers, faults=faults, partitions=_newest(before, seen))


def _with_known(broker: BrokerInfo, known: BrokerInfo, seen: Snapshot) -> BrokerInfo:
    """Return a broker with the log dirs that it had; faults end with the process that has them."""
    log_dirs = known.log_dirs
    if broker.log_dirs:
        replicas = {each.path: each.replicas for each in known.log_dirs}
        return replace(
            broker,
            log_dirs=tuple(
                each
                if each.is_online or each.replicas
                else replace(each, replicas=_left(replicas.get(each.path, ()), broker, seen))
                for each in broker.log_dirs
            ),
        )
    if broker.state == "down":
        log_dirs = tuple(replace(each, faults=(), signs=()) for each in log_dirs)
    return replace(broker, log_dirs=log_dirs)


def _left(
    known: tuple[ReplicaInfo, ...], broker: BrokerInfo, seen: Snapshot
) -> tuple[ReplicaInfo, ...]:
    """Return the replicas that an offline log dir still has: those that are nowhere else."""
    # Metadata may be of a moment before the failure, so that it is not asked who is offline.
    wanted = {
        (each.topic, each.partition) for each in seen.partitions if broker.id in each.replicas
    }
    elsewhere = {(each.topic, each.partition) for one in broker.log_dirs for each in one.replicas}
    return tuple(
        replace(each, is_leader=False, is_in_sync=False)
        for each in known
        if not each.is_future and (each.topic, each.partition) in wanted - elsewhere
    )


def _is_hidden(fault: FaultInfo, seen: Snapshot, silent: list[int]) -> bool:
    """Tell whether a fault is still there at a broker that cannot tell of it."""
    states = {each.id: each.state for each in seen.brokers}
    told = any(each.broker == fault.broker for each in seen.faults)
    return fault.broker in silent and states[fault.broker] != "down" and not told


def _newest(before: Snapshot, seen: Snapshot) -> tuple[PartitionInfo, ...]:
    if not seen.are_partitions_known:
        return before.partitions
    known = {(each.topic, each.partition): each for each in before.partitions}
    # A topic that was deleted and made again begins anew, with epoch 0.
    return tuple(
        old
        if (old := known.get((each.topic, each.partition))) is not None
        and 0 < each.leader_epoch < old.leader_epoch
        else each
        for each in seen.partitions
    )


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """Return what happened between two snapshots, nodes first, causes before their effects."""
    return list(
        chain(
            _of_faults(before, after),
            _of_controller(before, after),
            _of_brokers(before, after),
            _of_log_dirs(before, after),
            _of_topics(before, after),
            _of_partitions(before, after),
            _of_moves(before, after),
        )
    )


def _of_controller(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    if before.controller != after.controller:
        yield Change(
            kind="controller_changed",
            text=f"controller {_NODE_WORDS[after.controller]}",
            old=before.controller,
            new=after.controller,
        )


def _of_brokers(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    states = {each.id: each.state for each in before.brokers}
    for broker in after.brokers:
        old = states.get(broker.id, "down")
        if old != broker.state:
            yield Change(
                kind="broker_changed",
                text=f"broker {broker.id} {_NODE_WORDS[broker.state]}",
                broker=broker.id,
                old=old,
                new=broker.state,
            )


def _of_log_dirs(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    known = {(each.id, one.path): one for each in before.brokers for one in each.log_dirs}
    for broker in after.brokers:
        for log_dir in broker.log_dirs:
            old = known.get((broker.id, log_dir.path))
            if old is not None:
                yield from _of_log_dir(broker.id, old, log_dir)


def _of_log_dir(broker_id: int, old: LogDirInfo, new: LogDirInfo) -> Iterator[Change]:
    def change(kind: Kind, words: str) -> Change:
        return Change(kind=kind, text=f"{new.path} {words}", broker=broker_id, log_dir=new.number)

    if old.is_online and not new.is_online:
        yield change("log_dir_failed", f"is offline: {new.cause}")
    elif new.is_online and not old.is_online:
        yield change("log_dir_returned", "is back")
    if new.is_cordoned and not old.is_cordoned:
        yield change("log_dir_cordoned", "is cordoned")
    elif old.is_cordoned and not new.is_cordoned:
        yield change("log_dir_uncordoned", "is not cordoned any more")


def _of_topics(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    old = dict.fromkeys(each.topic for each in before.partitions)
    new = dict.fromkeys(each.topic for each in after.partitions)
    for topic in new:
        if topic not in old:
            yield Change(kind="topic_created", text=f"topic {topic} is there", topic=topic)
    for topic in old:
        if topic not in new:
            yield Change(kind="topic_deleted", text=f"topic {topic} is deleted", topic=topic)


def _of_partitions(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    known = {(each.topic, each.partition): each for each in before.partitions}
    for new in after.partitions:
        old = known.get((new.topic, new.partition))
        if old is not None:
            yield from _of_partition(old, new)


def _of_partition(old: PartitionInfo, new: PartitionInfo) -> Iterator[Change]:
    name = f"{new.topic}-{new.partition}"
    if old.leader != new.leader:
        led = f"is led by broker {new.leader}" if new.leader >= 0 else "has no leader"
        was = f"broker {old.leader} before" if old.leader >= 0 else "nobody before"
        yield Change(
            kind="leader_changed",
            text=f"{name} {led}, {was}, epoch {new.leader_epoch}",
            topic=new.topic,
            partition=new.partition,
            old=old.leader,
            new=new.leader,
        )
    if sorted(old.isr) != sorted(new.isr):
        yield Change(
            kind="isr_changed",
            text=f"{name} has Isr {list(new.isr)}, {list(old.isr)} before",
            topic=new.topic,
            partition=new.partition,
            old=old.isr,
            new=new.isr,
        )


def _of_moves(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    known = {_key(each): each for each in moves_of(before)}
    under_way = {_key(each): each for each in moves_of(after)}
    for key, move in under_way.items():
        old = known.get(key)
        if old is None:
            yield _of_move("move_started", move, f"moves to log dir {move.target}")
        elif (old.copied_bytes, old.total_bytes) != (move.copied_bytes, move.total_bytes):
            done = f"{move.copied_bytes:,} of {move.total_bytes:,} bytes"
            yield _of_move("move_progress", move, f"moves to log dir {move.target}: {done}")
    for key, move in known.items():
        if key not in under_way:
            is_there = _is_in(after, move)
            words = "is in" if is_there else "moves no more to"
            kind: Kind = "move_done" if is_there else "move_ended"
            yield _of_move(kind, move, f"{words} log dir {move.target}")


def _of_move(kind: Kind, move: MoveInfo, words: str) -> Change:
    return Change(
        kind=kind,
        text=f"{move.topic}-{move.partition} of broker {move.broker} {words}",
        broker=move.broker,
        log_dir=move.target,
        topic=move.topic,
        partition=move.partition,
        copied_bytes=move.copied_bytes,
        total_bytes=move.total_bytes,
    )


def _key(move: MoveInfo) -> tuple[int, str, int, int]:
    return (move.broker, move.topic, move.partition, move.target)


def _is_in(snapshot: Snapshot, move: MoveInfo) -> bool:
    """Tell whether a replica is where its move led."""
    return any(
        (replica.topic, replica.partition) == (move.topic, move.partition)
        for broker in snapshot.brokers
        if broker.id == move.broker
        for log_dir in broker.log_dirs
        if log_dir.number == move.target
        for replica in log_dir.replicas
        if not replica.is_future
    )


def _of_faults(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    old = {(each.broker, each.id): each for each in before.faults if each.is_in_force}
    new = {(each.broker, each.id): each for each in after.faults if each.is_in_force}
    for key, fault in new.items():
        if key not in old:
            yield _of_fault("fault_added", fault, "is in force")
    for key, fault in old.items():
        if key not in new:
            yield _of_fault("fault_cleared", fault, "is over")


def _of_fault(kind: Kind, fault: FaultInfo, words: str) -> Change:
    mode = fault.fault.get("mode", "")
    where = fault.fault.get("log_dir") or f"broker {fault.broker}"
    return Change(
        kind=kind,
        text=f"fault {mode} at {where} {words} ({fault.id})",
        broker=fault.broker,
        fault_id=fault.id,
    )
