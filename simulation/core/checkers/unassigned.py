"""Brokers keep no logs of replicas that are assigned to them no more, nor of topics that are gone.

After healing that is waited for (``still_hosted``, by ``liveness``). In the end nothing lies on the
disks either that was taken away ``GONE_WITHIN_US`` ago, if nothing stood between the controller and
the broker since. What a broker set aside as a stray lies there for people. A topic whose replica is
on a failed log dir, or whose broker is away, is not gone: its deletion waits. So in the end no log
of a topic that is gone lies anywhere, whatever stood in the way. While a reassignment waits for a
replica, the deletion of its topic has not begun, and none of its replicas goes. A disk that undoes
renames after a power cut brings back what was set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, DiskMode, broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.timeline import kept_topics, last_partitions
from simulation.core.history import Function, Order
from simulation.core.samples import (
    HOSTED_ROLES,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
    SampleSource,
)

NAME: Final = "unassigned logs"
GONE_WITHIN_US: Final = 5_000_000


def check_unassigned(evidence: Evidence) -> list[Violation]:
    """Look at the logs on the disks that are online."""
    samples = evidence.samples
    if samples.journal_edits_us:
        return []  # Brokers keep what a journal forgot, for people.
    begin_us = samples.ended_us - GONE_WITHIN_US
    quiet = QuietTimes(samples)
    assigned = _assigned_since(samples, begin_us)
    known = {sample.tp: None for sample in samples.partitions}
    reassigned = _reassigned_topics(evidence)
    return [
        *_gone_too_soon(samples, reassigned),
        *_left_behind(samples, reassigned),
        *(
            Violation(
                NAME,
                samples.ended_us,
                f"broker {log.broker} has a log of {log.tp} in {log.log_dir}, and that is assigned "
                f"to it no more for {GONE_WITHIN_US / 1e6:g} s",
            )
            for log in samples.logs
            if log.is_readable
            and not log.is_future
            and log.tp in known
            and (log.broker, log.tp) not in assigned
            and not may_bring_back(samples, log.broker)
            and quiet.lasts((CONTROLLER_NODE, broker_node(log.broker)), begin_us, samples.ended_us)
        ),
    ]


def may_bring_back(samples: Samples, broker: int) -> bool:
    """Tell whether a disk of a broker undid names that were made and synced."""
    lost = DiskMode.LOST_ENTRY.value
    return any(each.broker == broker and each.what == lost for each in samples.damages)


def _gone_too_soon(samples: Samples, reassigned: Mapping[str, None]) -> Iterator[Violation]:
    """Find topics that the controller took for gone while a broker had a replica offline.

    Where a reassignment was ordered, the broker may have lost its replica between two samples.
    Source: TopicDeletionManager.scala, KIP-112.
    """
    if SampleSource.COMMITS not in samples.sources:
        return  # Brokers and the controller are not seen in one moment.
    gone = [each for each in samples.partitions if each.is_gone and each.tp.topic not in reassigned]
    seen: dict[tuple[int, TopicPartition], list[ReplicaSample]] = {
        (broker, each.tp): [] for each in gone for broker in each.replicas
    }
    for replica in samples.replicas:
        if (replica.broker, replica.tp) in seen:
            seen[replica.broker, replica.tp].append(replica)
    late_us = 2 * samples.seen_within_us
    for each in gone:
        for broker in each.replicas:
            held = [one for one in seen[broker, each.tp] if one.at_us <= each.at_us + late_us]
            if held and held[-1].role is Role.OFFLINE and held[-1].topic_id == each.topic_id:
                text = (
                    f"the controller has {each.tp} deleted, and broker {broker} has its replica on "
                    f"a failed log dir, {held[-1].log_dir}"
                )
                yield Violation(NAME, each.at_us, text)


def _left_behind(samples: Samples, reassigned: Mapping[str, None]) -> Iterator[Violation]:
    """Find logs of topics that are gone and were not made anew.

    Where a reassignment was ordered, a broker may have been away when its replica was taken from
    it, which no deletion waits for (``removals``).
    """
    last = {sample.tp: sample for sample in samples.partitions}
    for log in samples.logs:
        partition = last.get(log.tp)
        if partition is None or not partition.is_gone or log.tp.topic in reassigned:
            continue
        if log.is_readable and not log.is_future and not may_bring_back(samples, log.broker):
            text = (
                f"broker {log.broker} has a log of {log.tp} in {log.log_dir}, and the controller "
                f"took it for gone at {partition.at_us / 1e6:.6f} s"
            )
            yield Violation(NAME, samples.ended_us, text)


def _reassigned_topics(evidence: Evidence) -> dict[str, None]:
    """Return the topics that a reassignment was ordered of."""
    return {
        span.begin.value.topic: None
        for span in evidence.spans
        if isinstance(span.begin.value, Order) and span.begin.function is Function.REASSIGN
    }


def _assigned_since(samples: Samples, begin_us: int) -> dict[tuple[int, TopicPartition], None]:
    """Return which replicas there were at a time or later."""
    assigned: dict[tuple[int, TopicPartition], None] = {}
    last: dict[TopicPartition, PartitionSample] = {}
    for sample in samples.partitions:
        if sample.at_us > begin_us:
            assigned.update(((broker, sample.tp), None) for broker in sample.replicas)
        else:
            last[sample.tp] = sample
    kept = kept_topics(samples.partitions)
    for sample in last.values():
        if not sample.is_deleted or sample.tp.topic in kept:
            assigned.update(((broker, sample.tp), None) for broker in sample.replicas)
    return assigned


def still_hosted(samples: Samples) -> Iterator[str]:
    """Give a sentence for each replica that a broker has in use although it is none any more."""
    if samples.journal_edits_us:
        return
    partitions = last_partitions(samples.partitions)
    kept = kept_topics(samples.partitions)
    known = {each.tp: None for each in samples.partitions if each.tp.topic not in kept}
    replicas = {(each.broker, each.tp): each for each in samples.replicas}
    for (broker, tp), replica in replicas.items():
        partition = partitions.get(tp)
        is_assigned = partition is not None and broker in partition.replicas
        if replica.role in HOSTED_ROLES and tp in known and not is_assigned:
            yield f"broker {broker} still has a replica of {tp}, which is assigned to it no more"
