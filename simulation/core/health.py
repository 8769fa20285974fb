"""Whether a cluster is well again after its faults, by what everybody can see. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator

from broker.core.coordination import partition_for
from protocol.ids import NO_LEADER, TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.observation import Observation, ObservedPartition


def health_problems(
    seen: Observation, brokers: int, *, may_be_down: bool = False, may_be_broken: bool = False
) -> tuple[str, ...]:
    """Return what is not well; ``seen`` has metadata, log dirs and reassignments of everybody.

    A partition none of whose Isr is online has no wish, and its reassignment cannot end: nobody
    may lead it. Nor can the move of an offline replica of it, which might have to begin empty.

    Args:
        seen: the cluster.
        brokers: how many must answer.
        may_be_down: nodes need not run.
        may_be_broken: log dirs need not be online.
    """
    down = () if may_be_down else _down(seen)
    broken = () if may_be_broken else _broken(seen)
    return (*down, *broken, *_problems(seen, brokers))


def left_out(seen: Observation) -> tuple[tuple[int, TopicPartition], ...]:
    """Return the replicas that stay offline although their broker shows all log dirs online.

    Their log dir came back for another partition alone (KIP-18).
    """
    found = {
        (replica, partition): None
        for view in seen.metadata.values()
        for partition, tells in view.items()
        for replica in tells.offline_replicas
        if _is_whole(replica, seen)
    }
    return tuple(sorted(found))


def left_behind(seen: Observation) -> tuple[tuple[int, TopicPartition], ...]:
    """Return the online replicas that somebody shows outside of the Isr of a partition with one."""
    return tuple(
        {
            (replica, partition): None
            for view in seen.metadata.values()
            for partition, tells in view.items()
            if not _has_no_isr(tells)
            for replica in _missing(tells)
        }
    )


def lost_topics(seen: Observation) -> frozenset[str]:
    """Return the topics with a partition that nobody may lead, as everybody says who shows it."""
    return frozenset(tp.topic for tp in _shown(seen) if _is_lost(tp, seen))


def is_group_lost(group: str, seen: Observation) -> bool:
    """Tell whether nobody may lead the partition of a group's coordinator, as ``lost_topics``."""
    offsets = [tp for tp in _shown(seen) if tp.topic == CONSUMER_OFFSETS]
    if not offsets:
        return False
    number = partition_for(group, max(tp.partition for tp in offsets) + 1)
    return _is_lost(TopicPartition(CONSUMER_OFFSETS, number), seen)


def untold_ends(seen: Observation) -> list[TopicPartition]:
    """Return the partitions that have a leader everywhere, of which nobody told where they end.

    As while another one is elected: who is to read all of it may not be taken to have done so.
    """
    return [tp for tp in _shown(seen) if tp not in seen.offsets and _is_led(tp, seen)]


def _shown(seen: Observation) -> dict[TopicPartition, None]:
    return {tp: None for view in seen.metadata.values() for tp in view}


def _is_led(tp: TopicPartition, seen: Observation) -> bool:
    return all(tp in view and view[tp].leader != NO_LEADER for view in seen.metadata.values())


def _down(seen: Observation) -> Iterator[str]:
    for name, node in seen.nodes.items():
        if node.state != "running":
            code = "" if node.exit_code is None else f", exit code {node.exit_code}"
            yield f"{name} is {node.state}{code}"


def _broken(seen: Observation) -> Iterator[str]:
    for (broker, name), log_dir in seen.log_dirs.items():
        if log_dir.error != "NONE":
            yield f"{name} of broker-{broker} is offline"


def _problems(seen: Observation, brokers: int) -> Iterator[str]:
    if len(seen.metadata) < brokers:
        yield f"{len(seen.metadata)} of {brokers} brokers answer"
    for broker, view in seen.metadata.items():
        for partition, tells in view.items():
            problems = (*_unmet(tells), *_without_reason(tells, seen))
            yield from (f"{partition} {problem}, says broker-{broker}" for problem in problems)
    yield from _under_way(seen)


def _under_way(seen: Observation) -> Iterator[str]:
    for (broker, name), log_dir in seen.log_dirs.items():
        for each in log_dir.futures:
            if not (_is_lost(each, seen) and _is_offline(each, broker, seen)):
                yield f"{each} still moves to {name} of broker-{broker}"
    if seen.reassigning is None:
        yield "nobody tells of reassignments"
    for each in seen.reassigning or ():
        if not _is_lost(each, seen):
            yield f"{each} is still reassigned"


def _is_lost(partition: TopicPartition, seen: Observation) -> bool:
    """Tell whether nobody may lead a partition, as everybody says who shows it."""
    shown = [view[partition] for view in seen.metadata.values() if partition in view]
    return bool(shown) and all(_has_no_isr(tells) for tells in shown)


def _is_offline(partition: TopicPartition, broker: int, seen: Observation) -> bool:
    """Tell whether everybody who shows a partition shows one replica of it offline."""
    views = seen.metadata.values()
    return all(broker in view[partition].offline_replicas for view in views if partition in view)


def _has_no_isr(tells: ObservedPartition) -> bool:
    return all(member in tells.offline_replicas for member in tells.isr)


def _without_reason(tells: ObservedPartition, seen: Observation) -> Iterator[str]:
    """Find replicas that count as offline although their broker shows all its log dirs online."""
    if _has_no_isr(tells):
        return
    for replica in tells.offline_replicas:
        if _is_whole(replica, seen):
            yield f"has replica {replica} offline, whose broker and log dirs are online"


def _is_whole(broker: int, seen: Observation) -> bool:
    errors = [log_dir.error for (owner, _), log_dir in seen.log_dirs.items() if owner == broker]
    return bool(errors) and all(error == "NONE" for error in errors)


def _unmet(tells: ObservedPartition) -> Iterator[str]:
    if _has_no_isr(tells):
        return
    if tells.leader < 0:
        yield f"has no leader, its Isr is {list(tells.isr)}"
    missing = _missing(tells)
    if missing:
        yield f"has online replicas {missing} outside of its Isr {list(tells.isr)}"


def _missing(tells: ObservedPartition) -> list[int]:
    online = [replica for replica in tells.replicas if replica not in tells.offline_replicas]
    return [replica for replica in online if replica not in tells.isr]
