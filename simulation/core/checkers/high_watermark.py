"""The high watermark never falls within a leader epoch, nor passes a log end of the Isr.

Nor does one of an earlier leader: see `committed`. What is written down of it for the next start
is not more than that: see `ahead`. A partition that a hand took out of the controller's journal,
and that is added anew, may be placed with brokers that never had it: they are in its Isr before
they have what its leader, which goes on with its log, had committed in its life before.
And a member that lost power is in its leader's Isr until the leader is told, with what it lost; so
is one whose disk had changed the middle of its log before, when it reads that again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from simulation.core.checkers.ahead import ahead
from simulation.core.checkers.committed import lacking
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import NOT_DURABLE
from simulation.core.checkers.timeline import moments
from simulation.core.samples import (
    Damage,
    ReplicaSample,
    Role,
    Samples,
    SampleSource,
)

NAME: Final = "high watermark"

_Replicas = dict[TopicPartition, dict[int, ReplicaSample]]
_Members = dict[tuple[TopicPartition, int], frozenset[int]]


@dataclass(slots=True)
class _TakenOver:
    """What leaders of partitions that were added anew had committed in their lives before."""

    forgotten_us: Mapping[TopicPartition, int]
    """When the controller was first seen without those that a hand took from its journal."""
    reached: dict[tuple[TopicPartition, bytes], int] = field(
        default_factory=dict[tuple[TopicPartition, bytes], int]
    )
    """The highest high watermark of any leader that began before that, by topic id."""
    begun: dict[tuple[TopicPartition, int], tuple[int, int, int | None]] = field(
        default_factory=dict[tuple[TopicPartition, int], tuple[int, int, int | None]]
    )
    """By partition and leader: process, leader epoch, and what it began with after that."""

    def note(self, leader: ReplicaSample) -> None:
        """Take a look at a leader; the first one in a leader epoch tells what it took over."""
        place, life = (leader.tp, leader.broker), (leader.boot, leader.leader_epoch)
        if self.begun.get(place, ())[:2] != life:
            is_anew = self.forgotten_us.get(leader.tp, leader.at_us) < leader.at_us
            self.begun[place] = (*life, leader.high_watermark if is_anew else None)
        if self.begun[place][2] is None:
            topic = (leader.tp, leader.topic_id)
            self.reached[topic] = max(self.reached.get(topic, 0), leader.high_watermark)

    def is_all_of(self, leader: ReplicaSample) -> bool:
        """Tell whether nobody has committed anything since the partition was added anew."""
        has_risen = self.begun[leader.tp, leader.broker][2] != leader.high_watermark
        reached = self.reached.get((leader.tp, leader.topic_id), NO_OFFSET)
        return not has_risen and leader.high_watermark <= reached


@dataclass(slots=True)
class _Unheard:
    """What members have lost by power cuts since they last joined the Isr.

    A leader, or the controller that names the next one, learns of it late: others leave the Isr
    meanwhile, and who has lost stays (seed 984247). Bytes that a disk has changed are lost when the
    log is loaded again, whenever that is (seed 1063395).
    """

    losses: Sequence[Damage]
    newest: dict[TopicPartition, tuple[bytes, int]] = field(
        default_factory=dict[TopicPartition, tuple[bytes, int]]
    )
    """By partition: the topic id and the newest leader epoch."""
    joined_us: dict[TopicPartition, dict[int, int]] = field(
        default_factory=dict[TopicPartition, dict[int, int]]
    )
    """By partition and member of the newest leader's Isr: since when it is one."""

    def note(self, leader: ReplicaSample) -> None:
        """Take a look at a leader; of one who was followed by another nothing is learned."""
        topic_id, epoch = self.newest.get(leader.tp, (leader.topic_id, NO_EPOCH))
        is_new_topic = topic_id != leader.topic_id
        if leader.leader_epoch < epoch and not is_new_topic:
            return
        before: Mapping[int, int] = {} if is_new_topic else self.joined_us.get(leader.tp, {})
        self.newest[leader.tp] = leader.topic_id, leader.leader_epoch
        self.joined_us[leader.tp] = {
            member: before.get(member, leader.at_us) for member in leader.isr
        }

    def has_lost(self, log: ReplicaSample, leader: ReplicaSample) -> bool:
        """Tell whether the log of a member may be shorter than its leader can know."""
        since_us = self.joined_us[leader.tp].get(log.broker, 0)
        return log.broker != leader.broker and any(
            (each.broker, each.log_dir) == (log.broker, log.log_dir)
            and (each.is_lasting or since_us <= each.at_us)
            and each.at_us <= log.at_us
            and each.tp in (None, log.tp)
            for each in self.losses
        )


def check_high_watermark(evidence: Evidence) -> list[Violation]:
    """Follow every leader's high watermark, and hold it against its followers' logs."""
    replicas: _Replicas = {}
    leading: _Replicas = {}
    is_exact = SampleSource.COMMITS in evidence.samples.sources
    taken_over = _TakenOver(_forgotten_us(evidence.samples))
    damages = evidence.samples.damages
    unheard = _Unheard([each for each in damages if each.what == NOT_DURABLE or each.is_lasting])
    violations: list[Violation] = []
    for _, samples in moments(evidence.samples.replicas):
        joined: _Members = {}
        for sample in samples:
            hosts = replicas.setdefault(sample.tp, {})
            hosts[sample.broker] = sample
            if sample.role is Role.LEADER:
                led = leading.setdefault(sample.tp, {})
                before = led.get(sample.broker)
                violations += _falls(before, sample)
                led[sample.broker] = sample
                taken_over.note(sample)
                unheard.note(sample)
                if not is_exact:
                    earlier = before.isr if before else ()
                    joined[sample.tp, sample.broker] = frozenset(sample.isr).difference(earlier)
        # All of a moment first: one change may be of two brokers.
        for tp in dict.fromkeys(sample.tp for sample in samples):
            violations += _passes(replicas[tp], samples[0].at_us, joined, (taken_over, unheard))
    told = (*lacking(evidence), *ahead(evidence))
    return [*violations, *(Violation(NAME, at_us, text) for at_us, text in told)]


def _forgotten_us(samples: Samples) -> dict[TopicPartition, int]:
    edited_us = min(samples.journal_edits_us, default=samples.ended_us)
    found: dict[TopicPartition, int] = {}
    for decided in samples.partitions:
        if decided.is_gone and decided.at_us > edited_us:
            found.setdefault(decided.tp, decided.at_us)
    return found


def _falls(before: ReplicaSample | None, now: ReplicaSample) -> Iterator[Violation]:
    """Compare with when it last led: it may have been offline in between."""
    if before is None:
        return
    is_same = (
        before.boot == now.boot
        and before.leader_epoch == now.leader_epoch
        and before.topic_id == now.topic_id
    )
    if is_same and now.high_watermark < before.high_watermark:
        yield Violation(
            NAME,
            now.at_us,
            f"of {now.tp} fell from {before.high_watermark} to {now.high_watermark} on broker "
            f"{now.broker}, within leader epoch {now.leader_epoch}",
        )


def _passes(
    hosts: Mapping[int, ReplicaSample],
    at_us: int,
    joined: _Members,
    excuses: tuple[_TakenOver, _Unheard],
) -> Iterator[Violation]:
    """``joined``: by partition and leader, who is in its Isr since this moment and may be behind.

    Where high watermarks are not of their moment, a leader's is older than its Isr: one who has
    just joined may have been far behind when the high watermark was where it is said to be.
    """
    taken_over, unheard = excuses
    for leader in hosts.values():
        if leader.role is not Role.LEADER:
            continue
        for member in leader.isr:
            log = hosts.get(member)
            if log is None or not _is_current(log, leader):
                continue
            if member in joined.get((leader.tp, leader.broker), ()):
                continue
            if member != leader.broker and taken_over.is_all_of(leader):
                continue
            if unheard.has_lost(log, leader):
                continue
            if leader.high_watermark > log.log_end_offset:
                yield Violation(
                    NAME,
                    at_us,
                    f"of {leader.tp} is {leader.high_watermark} on its leader {leader.broker} at "
                    f"epoch {leader.leader_epoch}, and broker {member} of its Isr has a log that "
                    f"ends at {log.log_end_offset}",
                )


def _is_current(log: ReplicaSample, leader: ReplicaSample) -> bool:
    """Tell whether a replica works under this leadership: others' logs are about to be cut."""
    return (
        log.role in (Role.LEADER, Role.FOLLOWER)
        and log.leader_epoch == leader.leader_epoch
        and log.topic_id == leader.topic_id
    )
