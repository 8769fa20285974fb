"""Leaders that may not know which records were deleted: they had joined the Isr a moment before.

A follower that was away as records were deleted is in the Isr again by a fetch from the end of its
log, and hears of the deletion by what that is answered with, which waits for new records. If it
leads before that, the records are back; in Kafka, too.
Source: Partition.scala updateFollowerFetchState, isFollowerInSync; ReplicaManager.scala
fetchMessages.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from protocol.ids import NO_LEADER, TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.timeline import in_force

_WAIT: Final = "replica.fetch.wait.max.ms"
_WAIT_MS: Final = "500"
"""Kafka's default."""


def led_unaware_us(evidence: Evidence, tp: TopicPartition, since_us: int) -> int | None:
    """Return when such a leader was first elected, of those that were out of the Isr at a time."""
    decided = [each for each in evidence.samples.partitions if each.tp == tp]
    wait_us = 1_000 * int(evidence.configs.get(_WAIT, _WAIT_MS))
    later = in_force(decided, since_us, evidence.samples.ended_us)
    joined_us: dict[int, int] = {}
    for before, now in pairwise(later):
        for broker in now.isr:
            if broker not in before.isr:
                joined_us[broker] = now.at_us
        is_elected = now.leader not in (NO_LEADER, before.leader)
        if is_elected and now.at_us - joined_us.get(now.leader, -wait_us) < wait_us:
            return now.at_us
    return None
