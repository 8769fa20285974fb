"""Who is in the Isr has all that any leader before had committed: any member may lead next.

Other than of one leader's high watermark, which `high_watermark` holds against its Isr, this tells
of a member that was let in, or kept, without what an earlier leader had answered. Nothing is known
of what was committed in a log that a disk may have changed, nor across an unclean election.
Source: Partition.scala isFollowerInSync; KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from protocol.ids import NO_EPOCH, TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.fault_model import is_unclean
from simulation.core.checkers.timeline import merged, moments
from simulation.core.samples import (
    HOSTED_ROLES,
    PartitionSample,
    ReplicaSample,
    Role,
    SampleSource,
)


@dataclass(slots=True)
class _CommittedSoFar:
    """One partition, so far."""

    decided: PartitionSample | None = None
    replicas: dict[int, ReplicaSample] = field(default_factory=dict[int, ReplicaSample])
    committed: ReplicaSample | None = None
    """Of the leader whose high watermark was the highest."""

    def decide(self, sample: PartitionSample) -> None:
        before = self.decided
        self.decided = sample
        if before is None or before.topic_id != sample.topic_id or is_unclean(before, sample):
            self.committed = None

    def lead(self, sample: ReplicaSample, *, is_sure: bool) -> None:
        """Take a leader's high watermark; one whose log may be less sets all back."""
        decided = self.decided
        if decided is None or decided.topic_id != sample.topic_id:
            return
        if sample.leader_epoch < decided.leader_epoch:
            return  # deposed, perhaps by an unclean election
        if not is_sure:
            self.committed = None
        elif self.committed is None or sample.high_watermark > self.committed.high_watermark:
            self.committed = sample


def lacking(evidence: Evidence) -> Iterator[tuple[int, str]]:
    """Give when a member of the Isr was seen first without what was committed, and a sentence."""
    samples = evidence.samples
    if SampleSource.COMMITS not in samples.sources:
        return
    edited_us = min(samples.journal_edits_us, default=samples.ended_us)
    known: dict[TopicPartition, _CommittedSoFar] = {}
    found: dict[tuple[int, TopicPartition], None] = {}
    for at_us, some in moments(merged(samples.partitions, samples.replicas)):
        if at_us > edited_us:
            return
        for sample in some:
            _take(evidence, known.setdefault(sample.tp, _CommittedSoFar()), sample)
        for tp in dict.fromkeys(sample.tp for sample in some):
            for member in _lacking(evidence, known[tp], at_us):
                if (member.broker, tp) not in found:
                    found[member.broker, tp] = None
                    yield at_us, _text(known[tp], member)


def _take(
    evidence: Evidence, known: _CommittedSoFar, sample: PartitionSample | ReplicaSample
) -> None:
    if isinstance(sample, PartitionSample):
        known.decide(sample)
        return
    known.replicas[sample.broker] = sample
    if sample.role is Role.LEADER:
        is_forgiven = sample.at_us <= evidence.forgiven.get(sample.tp, -1)
        is_damaged = evidence.samples.is_damaged(sample.broker, sample.at_us)
        known.lead(sample, is_sure=not is_forgiven and not is_damaged)


def _lacking(evidence: Evidence, known: _CommittedSoFar, at_us: int) -> Iterator[ReplicaSample]:
    decided, committed = known.decided, known.committed
    if decided is None or committed is None or decided.is_deleted:
        return
    if committed.leader_epoch > decided.leader_epoch:
        return  # The controller ended after that decision and before anybody looked at it.
    for broker in decided.isr:
        log = known.replicas.get(broker)
        if log is None or log.role not in HOSTED_ROLES or log.leader_epoch == NO_EPOCH:
            continue
        is_same = log.topic_id == committed.topic_id and broker not in decided.offline
        is_whole = not evidence.samples.is_damaged(broker, at_us)
        is_short = log.log_end_offset < committed.high_watermark
        if is_same and is_whole and is_short and not _may_be_out(known, broker):
            yield log


def _may_be_out(known: _CommittedSoFar, broker: int) -> bool:
    """Tell whether the controller took a broker out of the Isr and ended before anybody looked.

    The leader has heard it then, and commits without that broker; its log dir may have failed
    since (seed 971115). What is decided is seen when the controller is there again, which may be
    at once (seed 1110058).
    """
    decided, committed = known.decided, known.committed
    assert decided is not None
    assert committed is not None
    if committed.broker != decided.leader or broker in committed.isr:
        return False
    is_newer = committed.partition_epoch > decided.partition_epoch
    return committed.leader_epoch == decided.leader_epoch and is_newer


def _text(known: _CommittedSoFar, member: ReplicaSample) -> str:
    assert known.committed is not None
    assert known.decided is not None
    return (
        f"of {member.tp} was {known.committed.high_watermark} on its leader "
        f"{known.committed.broker} at epoch {known.committed.leader_epoch}, and broker "
        f"{member.broker}, which the controller has in the Isr {list(known.decided.isr)} at epoch "
        f"{known.decided.leader_epoch}, has a log that ends at {member.log_end_offset}"
    )
