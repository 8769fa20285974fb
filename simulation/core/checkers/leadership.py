"""There is at most one leader per partition and leader epoch."""

from __future__ import annotations

from typing import Final

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.timeline import merged
from simulation.core.samples import PartitionSample, ReplicaSample, Role

NAME: Final = "one leader per epoch"


def check_leadership(evidence: Evidence) -> list[Violation]:
    """Look at who thinks to lead: the brokers, and who the controller thinks leads."""
    samples = evidence.samples
    leaders: dict[tuple[TopicPartition, bytes, int], tuple[int, str]] = {}
    violations: list[Violation] = []
    for sample in merged(samples.replicas, samples.partitions):
        claim = _claim(sample)
        if claim is None:
            continue
        leader, by = claim
        key = (sample.tp, sample.topic_id, sample.leader_epoch)
        first, first_by = leaders.setdefault(key, claim)
        if first != leader:
            violations.append(
                Violation(
                    NAME,
                    sample.at_us,
                    f"{sample.tp} at leader epoch {sample.leader_epoch} is led by broker {leader} "
                    f"({by}), and was led by broker {first} ({first_by})",
                )
            )
    return violations


def _claim(sample: ReplicaSample | PartitionSample) -> tuple[int, str] | None:
    if isinstance(sample, PartitionSample):
        if sample.leader < 0 or sample.is_deleted:
            return None
        return sample.leader, "the controller says"
    return (sample.broker, "it says itself") if sample.role is Role.LEADER else None
