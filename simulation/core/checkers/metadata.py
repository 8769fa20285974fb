"""What brokers tell clients of partitions is what the controller decided, and not older than that.

Half a second after a decision, and ten looks where those are far apart, each broker tells of it,
whatever is broken elsewhere, as long as nothing stands between the two (``quiet_times``). What is
told while decisions follow each other is not judged: what was decided between two looks is not
known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import NO_EPOCH, TopicPartition
from simulation.core.checkers.denials import ordered_ends
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.quiet_times import SETTLED_WITHIN_US, QuietTimes
from simulation.core.plan import is_examined
from simulation.core.samples import PartitionSample, Samples, ToldPartition, TopicView

NAME: Final = "metadata"
TOLD_WITHIN_US: Final = 500_000
_LOOKS: Final = 10
_STOPPED_WITHIN_US: Final = 120_000_000
"""Replicas of a broker that stops cleanly are told to be offline so long before its end at most."""


def check_metadata(evidence: Evidence) -> list[Violation]:
    """Hold every answer to Metadata against the decisions of a while before it."""
    samples = evidence.samples
    decisions = _Decisions(samples)
    quiet = QuietTimes(samples)
    deletions = ordered_ends(evidence.history)
    within_us = TOLD_WITHIN_US + _LOOKS * samples.seen_within_us
    found: dict[tuple[int, PartitionSample], Violation] = {}
    for view in samples.views:
        since_us, until_us = view.asked_us - within_us, view.at_us + samples.seen_within_us
        ends = (CONTROLLER_NODE, broker_node(view.broker))
        if not quiet.lasts(ends, since_us, until_us) or _has_left(view, quiet):
            continue
        for steady in decisions.steady(view, since_us, until_us):
            wrong = _wrong(view.partitions.get(steady.tp), steady)
            if wrong is None or _is_for_a_moment(view, steady, quiet, (since_us, until_us)):
                continue
            if any(at_us < until_us for at_us in deletions.get(steady.tp.topic, ())):
                continue  # It may wait, or be over before anybody saw it and another one be made.
            text = (
                f"broker {view.broker} {wrong}; since {samples.told_time(steady.at_us)} the "
                f"controller has {_leadership(steady)}"
            )
            found.setdefault((view.broker, steady), Violation(NAME, view.at_us, text))
    return list(found.values())


class _Decisions:
    """What the controller had decided of each partition, at any time."""

    def __init__(self, samples: Samples) -> None:
        self._by_topic: dict[str, dict[TopicPartition, list[PartitionSample]]] = {}
        for sample in samples.partitions:
            of_topic = self._by_topic.setdefault(sample.tp.topic, {})
            of_topic.setdefault(sample.tp, []).append(sample)

    def steady(self, view: TopicView, since_us: int, until_us: int) -> Iterator[PartitionSample]:
        """Give what was asked for, was led then, and did not change in all that time."""
        topics = self._by_topic if view.named is None else view.named
        for topic in (each for each in topics if not is_examined(each)):
            for known in self._by_topic.get(topic, {}).values():
                count = bisect_right(known, since_us, key=lambda sample: sample.at_us)
                is_last = count == len(known) or known[count].at_us > until_us
                if count and is_last and _is_told(known[count - 1]):
                    yield known[count - 1]


def _is_told(sample: PartitionSample) -> bool:
    return not sample.is_deleted and sample.leader_epoch != NO_EPOCH


def _wrong(told: ToldPartition | None, steady: PartitionSample) -> str | None:
    """Say what a broker tells that is not so; None: it tells what is."""
    if told is None:
        return f"does not tell of {steady.tp}"
    is_so = (told.leader, told.leader_epoch, told.isr) == (
        steady.leader,
        steady.leader_epoch,
        steady.isr,
    )
    if is_so and sorted(told.offline) == sorted(steady.offline):
        return None
    return f"tells that {steady.tp} has {_leadership(told)}"


def _is_for_a_moment(
    view: TopicView, steady: PartitionSample, quiet: QuietTimes, within_us: tuple[int, int]
) -> bool:
    """Tell whether what differs is only which replicas of brokers that end or begin are online."""
    told = view.partitions.get(steady.tp)
    if told is None or _wrong(told._replace(offline=steady.offline), steady) is not None:
        return False
    return all(
        (replica in told.offline and _is_stopping(view, replica, quiet))
        or _is_beginning(replica, quiet, *within_us)
        for replica in (*steady.offline, *told.offline)
        if (replica in steady.offline) is not (replica in told.offline)
    )


def _has_left(view: TopicView, quiet: QuietTimes) -> bool:
    """Tell whether a broker answers after its controlled shutdown: it is told nothing any more.

    It knows that it left, and serves until what others wait for is answered (seed 992535).
    """
    knows = any(view.broker in told.offline for told in view.partitions.values())
    return knows and _is_stopping(view, view.broker, quiet)


def _is_stopping(view: TopicView, replica: int, quiet: QuietTimes) -> bool:
    """Tell whether a broker stops cleanly: it counts as offline before it is known to be dead."""
    return quiet.ends(broker_node(replica), view.asked_us, view.at_us + _STOPPED_WITHIN_US)


def _is_beginning(replica: int, quiet: QuietTimes, since_us: int, until_us: int) -> bool:
    """Tell whether a broker just began, or did before and its word came late to the controller.

    The log dir of one that registers with it may fail again before the next look; what it was
    before is dead from when it registers to when it is told of its replicas.
    """
    node = broker_node(replica)
    if quiet.lasts((CONTROLLER_NODE, node), since_us, until_us):
        return quiet.begins(node, since_us, until_us)
    return quiet.begins(node, since_us - SETTLED_WITHIN_US, until_us)


def _leadership(known: ToldPartition | PartitionSample) -> str:
    return (
        f"leader {known.leader} at epoch {known.leader_epoch}, Isr {list(known.isr)}, offline "
        f"replicas {list(known.offline)}"
    )
