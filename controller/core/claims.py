"""What brokers say of the replicas that they have, to a controller whose journal is behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.journal import JournalReport, ReportedReplica

Reports = Mapping[int, JournalReport]
"""Broker id -> what it reported."""


class Claim(NamedTuple):
    """What one broker says of one partition."""

    broker_id: int
    topic_id: bytes
    replica: ReportedReplica

    @property
    def age(self) -> tuple[int, int]:
        """Grows with every change of the leadership."""
        return self.replica.leader_epoch, self.replica.partition_epoch

    @property
    def is_leaders(self) -> bool:
        """Whether the broker leads the partition, and so knows its Isr."""
        return self.replica.leader == self.broker_id

    @property
    def isr(self) -> tuple[int, ...]:
        """The Isr, without those that the last step of a reassignment takes out of it.

        One decision says that they are no replicas any more, the next one that they are in no Isr
        (seed 1150825).
        """
        replica = self.replica
        if replica.leader not in replica.replicas:
            return tuple(replica.isr)
        return tuple(member for member in replica.isr if member in replica.replicas)


def claims_of(reports: Reports) -> dict[TopicPartition, list[Claim]]:
    """Return what brokers say of each partition, in the order of their ids."""
    claims: dict[TopicPartition, list[Claim]] = {}
    for broker_id, report in sorted(reports.items()):
        for topic in report.topics or ():
            for replica in topic.replicas:
                tp = TopicPartition(topic.name, replica.partition)
                claim = Claim(broker_id, bytes(topic.topic_id), replica)
                claims.setdefault(tp, []).append(claim)
    return claims


def epoch_of(replicas: Iterable[ReportedReplica]) -> int:
    """Return the newest leader epoch that brokers, or their logs, have heard of."""
    return max((e for r in replicas for e in (r.leader_epoch, r.log_epoch)), default=NO_EPOCH)


def longest_of(logs: Mapping[int, ReportedReplica]) -> list[int]:
    """Return who has the longest log: of the last epoch, and in that up to the highest end."""
    ends = {broker_id: (log.log_epoch, log.log_end_offset) for broker_id, log in logs.items()}
    last = max(ends.values(), default=None)
    return [broker_id for broker_id, end in ends.items() if end == last]
