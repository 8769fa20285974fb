"""The high watermark never falls within a leader epoch, nor passes a log end of the Isr.

Nor does one of an earlier leader: see `committed`. What is written down of it for the next start
is not more than that: see `ahead`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.ahead import ahead
from simulation.core.checkers.committed import lacking
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.timeline import moments
from simulation.core.samples import ReplicaSample, Role, SampleSource

NAME: Final = "high watermark"

_Replicas = dict[TopicPartition, dict[int, ReplicaSample]]
_Members = dict[tuple[TopicPartition, int], frozenset[int]]


def check_high_watermark(evidence: Evidence) -> list[Violation]:
    """Follow every leader's high watermark, and hold it against its followers' logs."""
    replicas: _Replicas = {}
    leading: _Replicas = {}
    is_exact = SampleSource.COMMITS in evidence.samples.sources
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
                if not is_exact:
                    earlier = before.isr if before else ()
                    joined[sample.tp, sample.broker] = frozenset(sample.isr).difference(earlier)
        # All of a moment first: one change may be of two brokers.
        for tp in dict.fromkeys(sample.tp for sample in samples):
            violations += _passes(replicas[tp], samples[0].at_us, joined)
    told = (*lacking(evidence), *ahead(evidence))
    return [*violations, *(Violation(NAME, at_us, text) for at_us, text in told)]


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
    hosts: Mapping[int, ReplicaSample], at_us: int, joined: _Members
) -> Iterator[Violation]:
    """``joined``: by partition and leader, who is in its Isr since this moment and may be behind.

    Where high watermarks are not of their moment, a leader's is older than its Isr: one who has
    just joined may have been far behind when the high watermark was where it is said to be.
    """
    for leader in hosts.values():
        if leader.role is not Role.LEADER:
            continue
        for member in leader.isr:
            log = hosts.get(member)
            if log is None or not _is_current(log, leader):
                continue
            if member in joined.get((leader.tp, leader.broker), ()):
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
