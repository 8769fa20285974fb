"""What one leader held while somebody was answered by it, and its followers. Judges nothing.

Only where one process led the same log in the same epoch all the time: nothing is known of others.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.faults.model import broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.timeline import in_force
from simulation.core.samples import HOSTED_ROLES, NodeSample, ReplicaSample, Role, Samples


class Leading:
    """The replicas of one run."""

    def __init__(self, samples: Samples) -> None:
        self._replicas: dict[TopicPartition, dict[int, list[ReplicaSample]]] = {}
        # What a look shows may be as old as the look before it.
        self._late_us = 2 * samples.seen_within_us
        for sample in samples.replicas:
            brokers = self._replicas.setdefault(sample.tp, {})
            brokers.setdefault(sample.broker, []).append(sample)
        self._starts: dict[str, list[NodeSample]] = {}
        for node in samples.nodes:
            starts = self._starts.setdefault(node.node, [])
            if node.is_up and (not starts or starts[-1].boot != node.boot):
                starts.append(node)

    def during(
        self, tp: TopicPartition, broker: int, begin_us: int, end_us: int
    ) -> Sequence[ReplicaSample]:
        """Return what ``broker`` held from a question to its answer; () if it did not lead."""
        samples = self._replicas.get(tp, {}).get(broker, ())
        seen = in_force(samples, begin_us, end_us + self._late_us)
        return seen if is_one_leadership(seen) else ()

    def is_led_below(
        self, tp: TopicPartition, leader_epoch: int, begin_us: int, end_us: int
    ) -> bool:
        """Tell whether a broker led in an older epoch, from a question to its answer."""
        return any(
            one.role is Role.LEADER and one.leader_epoch < leader_epoch
            for samples in self._replicas.get(tp, {}).values()
            for one in in_force(samples, begin_us, end_us + self._late_us)
        )

    def copies(self, tp: TopicPartition, end_offset: int, begin_us: int, end_us: int) -> int | None:
        """Return how many brokers may have had a log up to an offset, from begin to end.

        Who did not lead or follow the same topic in one leader epoch and process all the time may
        have had it, but not who had no such log at all, or one that was offline from before on: who
        is offline at a look may have followed since the last one, and so may whose process started
        meanwhile. None: nobody was seen to have such a log, for topics may come and go between two
        looks.
        """
        until_us = end_us + self._late_us
        stood = {
            broker: in_force(samples, begin_us, until_us) or samples
            for broker, samples in self._replicas.get(tp, {}).items()
        }
        hosting = {
            broker: seen
            for broker, seen in stood.items()
            if seen[0].at_us <= until_us and any(_may_have_hosted(one, begin_us) for one in seen)
        }
        returned = [broker for broker in stood if self._started(broker, begin_us, until_us)]
        if not hosting and not returned:
            return None
        reached = [broker for broker, seen in hosting.items() if _may_reach(seen, end_offset)]
        return len(dict.fromkeys((*reached, *returned)))

    def _started(self, broker: int, begin_us: int, end_us: int) -> bool:
        starts = self._starts.get(broker_node(broker), ())
        return any(begin_us < start.at_us <= end_us for start in starts)

    def is_led_twice(self, tp: TopicPartition, at_us: int) -> bool:
        """Tell whether a former leader had not heard yet, at this time, that another one leads."""
        brokers = self._replicas.get(tp, {}).values()
        standing = [in_force(samples, at_us, at_us)[:1] for samples in brokers]
        return sum(each.role is Role.LEADER for seen in standing for each in seen) > 1


def _may_have_hosted(seen: ReplicaSample, since_us: int) -> bool:
    became_offline = seen.role is Role.OFFLINE and seen.at_us > since_us
    return seen.role in HOSTED_ROLES or became_offline


def _may_reach(seen: Sequence[ReplicaSample], end_offset: int) -> bool:
    first = seen[0]
    is_steady = all(
        one.role in HOSTED_ROLES
        and (one.boot, one.leader_epoch, one.topic_id)
        == (first.boot, first.leader_epoch, first.topic_id)
        for one in seen
    )
    return not is_steady or any(one.log_end_offset >= end_offset for one in seen)


def is_one_leadership(seen: Sequence[ReplicaSample]) -> bool:
    """Tell whether one process led the same log in the same leader epoch in all of these."""
    return bool(seen) and all(
        one.role is Role.LEADER
        and one.boot == seen[0].boot
        and one.leader_epoch == seen[0].leader_epoch
        and one.topic_id == seen[0].topic_id
        for one in seen
    )
