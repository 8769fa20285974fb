"""What one leader held while somebody was answered by it. Judges nothing.

Only where one process led the same log in the same epoch all the time: nothing is known of others.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.ids import TopicPartition
from simulation.core.checkers.timeline import in_force
from simulation.core.samples import ReplicaSample, Role, Samples


class Leading:
    """The replicas of one run."""

    def __init__(self, samples: Samples) -> None:
        self._replicas: dict[tuple[TopicPartition, int], list[ReplicaSample]] = {}
        # What a look shows may be as old as the look before it.
        self._late_us = 2 * samples.seen_within_us
        for sample in samples.replicas:
            self._replicas.setdefault((sample.tp, sample.broker), []).append(sample)

    def during(
        self, tp: TopicPartition, broker: int, begin_us: int, end_us: int
    ) -> Sequence[ReplicaSample]:
        """Return what ``broker`` held from a question to its answer; () if it did not lead."""
        samples = self._replicas.get((tp, broker), ())
        seen = in_force(samples, begin_us, end_us + self._late_us)
        return seen if is_one_leadership(seen) else ()


def is_one_leadership(seen: Sequence[ReplicaSample]) -> bool:
    """Tell whether one process led the same log in the same leader epoch in all of these."""
    return bool(seen) and all(
        one.role is Role.LEADER
        and one.boot == seen[0].boot
        and one.leader_epoch == seen[0].leader_epoch
        and one.topic_id == seen[0].topic_id
        for one in seen
    )
