"""What a broker or the controller has of a partition makes sense by itself, whenever it is seen.

Offsets of a log are in order; the Isr is among the replicas, and who leads is in it; a partition
that gets another leader gets another leader epoch. A broker that heard of a newer controller obeys
no older one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from protocol.faults.model import CONTROLLER_NODE
from protocol.ids import NO_LEADER, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.samples import PartitionSample, ReplicaSample, Role, Samples, SampleSource

NAME: Final = "states"


def check_states(evidence: Evidence) -> list[Violation]:
    """Look at every sample, and at each of the controller beside the one before."""
    samples = evidence.samples
    # Real brokers are not asked for all offsets in one moment.
    replicas = samples.replicas if SampleSource.COMMITS in samples.sources else ()
    violations = [
        Violation(NAME, sample.at_us, text)
        for sample in replicas
        for text in _wrong_replica(sample)
    ]
    started_us = _controller_starts_us(samples)
    before: dict[tuple[TopicPartition, bytes], PartitionSample] = {}
    for sample in samples.partitions:
        if sample.is_deleted:
            continue
        texts = list(_wrong_partition(sample))
        last = before.get((sample.tp, sample.topic_id))
        if last is not None and not _is_between(started_us, last.at_us, sample.at_us):
            texts += _wrong_change(last, sample)
        before[sample.tp, sample.topic_id] = sample
        violations += [Violation(NAME, sample.at_us, text) for text in texts]
    return [*violations, *_obeyed_older(samples)]


def _obeyed_older(samples: Samples) -> Iterator[Violation]:
    """Find brokers that obeyed a controller after a newer one."""
    newest: dict[tuple[int, int], int] = {}
    for sample in samples.obeyed:
        key = (sample.broker, sample.boot)
        known = newest.get(key, sample.controller_epoch)
        if sample.controller_epoch < known:
            text = (
                f"broker {sample.broker} obeys the controller of epoch {sample.controller_epoch}, "
                f"and obeyed that of epoch {known} before"
            )
            yield Violation(NAME, sample.at_us, text)
        newest[key] = max(known, sample.controller_epoch)


def _controller_starts_us(samples: Samples) -> list[int]:
    """Return when controllers ended or started: what was not durable is forgotten then."""
    return [node.at_us for node in samples.nodes if node.node == CONTROLLER_NODE]


def _is_between(times_us: Sequence[int], begin_us: int, end_us: int) -> bool:
    return bisect_right(times_us, end_us) > bisect_right(times_us, begin_us)


def _wrong_replica(sample: ReplicaSample) -> Iterator[str]:
    if sample.role not in (Role.LEADER, Role.FOLLOWER):
        return
    start, end = sample.log_start_offset, sample.log_end_offset
    if not 0 <= start <= sample.high_watermark <= end:
        yield (
            f"broker {sample.broker} has {sample.tp} with log start {start}, high watermark "
            f"{sample.high_watermark} and log end {end}, which are out of order"
        )
    if sample.role is Role.LEADER and sample.broker not in sample.isr:
        yield f"broker {sample.broker} leads {sample.tp} outside of its Isr {list(sample.isr)}"


def _wrong_partition(sample: PartitionSample) -> Iterator[str]:
    strangers = [member for member in sample.isr if member not in sample.replicas]
    if strangers:
        yield (
            f"the controller has brokers {strangers} in the Isr of {sample.tp}, and its replicas "
            f"are {list(sample.replicas)}"
        )
    if sample.leader != NO_LEADER and sample.leader not in sample.isr:
        yield (
            f"the controller has broker {sample.leader} lead {sample.tp} outside of its Isr "
            f"{list(sample.isr)}"
        )
    for what, brokers in (("replicas", sample.replicas), ("Isr", sample.isr)):
        if len(dict.fromkeys(brokers)) < len(brokers):
            yield f"the controller has a broker twice in the {what} {list(brokers)} of {sample.tp}"


def _wrong_change(last: PartitionSample, now: PartitionSample) -> Iterator[str]:
    if now.leader_epoch < last.leader_epoch:
        yield (
            f"the leader epoch of {now.tp} fell from {last.leader_epoch} to {now.leader_epoch} in "
            f"the controller"
        )
    elif (
        now.leader_epoch == last.leader_epoch
        and NO_LEADER not in (now.leader, last.leader)
        and now.leader != last.leader
    ):
        yield (
            f"the controller gave {now.tp} to broker {now.leader} within leader epoch "
            f"{now.leader_epoch}, in which broker {last.leader} led"
        )
