"""Which replicas brokers put into log dirs, and since when that can have been decided.

A replica is put somewhere when its broker becomes one of the partition's, and again when its log is
made anew in another log dir: the disk with the old one was replaced, or is offline. What a move
brings to another log dir, and what a restart finds again, was not put there. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.timeline import merged
from simulation.core.history import Function, Order
from simulation.core.samples import HOSTED_ROLES, PartitionSample


class NewReplica(NamedTuple):
    """One replica when it was put into a log dir."""

    broker: int
    tp: TopicPartition
    log_dir: str
    decided_us: int
    """Not before this."""
    seen_us: int
    """Not after this."""


@dataclass(slots=True)
class _Known:
    """What is known of one replica."""

    decided_us: int
    """When it was seen last, or its broker became one of the partition's."""
    is_assigned: bool = True
    log_dir: str = ""
    """Where its log was last; "" when there was none, or it is gone because it was taken away."""


def new_replicas(evidence: Evidence) -> list[NewReplica]:
    """Return those that no order had asked for in their log dir, in the order of time.

    An order for a replica that is not there yet is answered with REPLICA_NOT_AVAILABLE and
    remembered: then the log dir is no choice of the broker's.
    """
    wished = {
        (each.value.broker, each.value.topic, each.value.partition, each.value.log_dir): None
        for each in evidence.history
        if each.function is Function.MOVE and isinstance(each.value, Order)
    }
    return [
        each for each in _all_new(evidence) if (each.broker, *each.tp, each.log_dir) not in wished
    ]


def _all_new(evidence: Evidence) -> Iterator[NewReplica]:
    samples = evidence.samples
    within_us = samples.seen_within_us
    known: dict[TopicPartition, dict[tuple[int, bytes], _Known]] = {}
    for sample in merged(samples.partitions, samples.replicas):
        of_partition = known.setdefault(sample.tp, {})
        if isinstance(sample, PartitionSample):
            _assign(of_partition, sample, within_us)
            continue
        replica = of_partition.get((sample.broker, sample.topic_id))
        if replica is None:
            continue
        if not replica.is_assigned:
            replica.log_dir = replica.log_dir if sample.role in HOSTED_ROLES else ""
        elif sample.role in HOSTED_ROLES:
            decided_us, seen_us = replica.decided_us, sample.at_us
            if replica.log_dir != sample.log_dir:
                yield NewReplica(sample.broker, sample.tp, sample.log_dir, decided_us, seen_us)
            replica.log_dir = sample.log_dir
        if replica.is_assigned and replica.log_dir:
            replica.decided_us = sample.at_us - within_us


def _assign(
    of_partition: dict[tuple[int, bytes], _Known], sample: PartitionSample, within_us: int
) -> None:
    """Note who belongs to a partition, and who does not any more: their logs go."""
    for (broker, topic_id), replica in of_partition.items():
        if broker not in sample.replicas or topic_id != sample.topic_id or sample.is_deleted:
            replica.is_assigned = False
    if sample.is_deleted:
        return
    for broker in sample.replicas:
        replica = of_partition.get((broker, sample.topic_id))
        if replica is None or not replica.is_assigned:
            log_dir = "" if replica is None else replica.log_dir
            made = _Known(sample.at_us - within_us, log_dir=log_dir)
            of_partition[broker, sample.topic_id] = made
