"""No new replica goes to a cordoned or offline log dir, or to a broker that has no other one.

Held at the moment of each decision, by what who decided knew then: the broker of its log dirs, the
controller of its brokers. Where that changed meanwhile nothing is said. What an administrator
ordered of cordons is in `ordered_places`. Source: KIP-1066, LogManager.scala getOrCreateLog.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.new_replicas import NewReplica, new_replicas
from simulation.core.checkers.spans import Span
from simulation.core.checkers.timeline import in_force
from simulation.core.history import Function, Kind, Order
from simulation.core.samples import LogDirSample, PartitionSample, Samples

NAME: Final = "refused places"
_NEAR_US: Final = 500_000
_LEARNS_US: Final = 10_000_000
"""So soon a controller has heard the brokers of a journal that was put back."""


def check_refused_places(evidence: Evidence) -> list[Violation]:
    """Look at what brokers placed, moves that they accepted, and what the controller chose."""
    log_dirs = _LogDirs(evidence.samples)
    spans = [each for each in evidence.spans if each.end.kind is Kind.OK]
    return [
        *(
            found
            for made in new_replicas(evidence)
            for found in _placed(made, log_dirs, evidence.samples)
        ),
        *(found for span in spans for found in _moved(span, log_dirs, evidence.samples)),
        *_chosen(spans, evidence.samples),
        *_reassigned(spans, evidence.samples),
    ]


class _LogDirs:
    """How the log dirs of all brokers were, at any time, as their brokers had it."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._known: dict[int, dict[str, list[LogDirSample]]] = {}
        for sample in samples.log_dirs:
            of_broker = self._known.setdefault(sample.broker, {})
            of_broker.setdefault(sample.path, []).append(sample)

    def steady(self, broker: int, path: str, begin_us: int, end_us: int) -> LogDirSample | None:
        """Return how a log dir was in all that time; None: it changed, or nobody knows.

        Nobody had looked at a process that had just begun (seed 1113680).
        """
        if _began_or_ended(self._samples, broker, begin_us, end_us):
            return None
        known = self._known.get(broker, {}).get(path, [])
        count = bisect_right(known, begin_us, key=lambda sample: sample.at_us)
        is_last = count == len(known) or known[count].at_us > end_us
        return known[count - 1] if count and is_last else None

    def is_open(self, broker: int, begin_us: int, end_us: int) -> bool:
        """Tell whether a log dir of a broker took new replicas in all that time."""
        states = [
            self.steady(broker, path, begin_us, end_us) for path in self._known.get(broker, {})
        ]
        return any(each is not None and each.is_online and not each.is_cordoned for each in states)


def _placed(made: NewReplica, log_dirs: _LogDirs, samples: Samples) -> Iterator[Violation]:
    times = (made.decided_us, made.seen_us)
    state = log_dirs.steady(made.broker, made.log_dir, *times)
    if state is None:
        return
    if not state.is_online:
        why = "is offline"
    elif state.is_cordoned and log_dirs.is_open(made.broker, *times):
        why = "is cordoned"
    else:
        return
    text = (
        f"broker {made.broker} put {made.tp} into {made.log_dir}, which {why} since "
        f"{samples.told_time(state.at_us)}"
    )
    yield Violation(NAME, made.seen_us, text)


def _moved(span: Span, log_dirs: _LogDirs, samples: Samples) -> Iterator[Violation]:
    order = span.end.value
    if span.end.function is not Function.MOVE or not isinstance(order, Order):
        return
    since_us = span.begin.at_us - samples.seen_within_us
    until_us = span.end.at_us + samples.seen_within_us
    state = log_dirs.steady(order.broker, order.log_dir, since_us, until_us)
    if state is not None and (state.is_cordoned or not state.is_online):
        why = "is cordoned" if state.is_online else "is offline"
        text = (
            f"broker {order.broker} took the order to move {order.topic}-{order.partition} to "
            f"{order.log_dir}, which {why} since {samples.told_time(state.at_us)}"
        )
        yield Violation(NAME, span.end.at_us, text)


def _chosen(spans: list[Span], samples: Samples) -> Iterator[Violation]:
    """Find brokers that the controller chose for new partitions while they could take none."""
    first: dict[tuple[TopicPartition, bytes], PartitionSample] = {}
    for sample in samples.partitions:
        first.setdefault((sample.tp, sample.topic_id), sample)
    made = (Function.CREATE_TOPIC, Function.CREATE_PARTITIONS)
    for begin, end in spans:
        order = end.value
        if end.function not in made or not isinstance(order, Order) or order.assignment:
            continue
        since_us = begin.at_us - samples.seen_within_us
        until_us = _seen_us(samples, end.at_us)
        for sample in first.values():
            if sample.tp.topic != order.topic or not begin.at_us <= sample.at_us <= until_us:
                continue
            for broker in sample.replicas:
                if _is_unusable(samples, broker, since_us, until_us):
                    text = (
                        f"the controller chose broker {broker} for {sample.tp}, which is dead, or "
                        f"all of whose log dirs are cordoned or offline"
                    )
                    yield Violation(NAME, sample.at_us, text)


def _may_have_learned(samples: Samples, since_us: int, until_us: int) -> bool:
    """Tell whether a controller may have learned of other replicas that nobody saw yet.

    Its journal was put back, and brokers tell what it lacks (seed 1066647).
    """
    return any(
        edit_us - _NEAR_US <= until_us and since_us <= edit_us + _LEARNS_US
        for edit_us in samples.journal_edits_us
    )


def _reassigned(spans: list[Span], samples: Samples) -> Iterator[Violation]:
    """Find brokers to which the controller took an order to add replicas, and could not."""
    for begin, end in spans:
        order = end.value
        if end.function is not Function.REASSIGN or not isinstance(order, Order):
            continue
        tp = TopicPartition(order.topic, order.partition)
        since_us = begin.at_us - samples.seen_within_us
        known = [each for each in samples.partitions if each.tp == tp and each.at_us <= since_us]
        if _may_have_learned(samples, since_us, begin.at_us):
            continue
        added = [
            broker
            for broker in (order.assignment[0] if order.assignment else ())
            if known and broker not in known[-1].replicas
        ]
        for broker in added:
            if _is_unusable(samples, broker, since_us, _seen_us(samples, end.at_us)):
                text = (
                    f"the controller took the order to have a replica of {tp} on broker {broker}, "
                    f"which is dead, or all of whose log dirs are cordoned or offline"
                )
                yield Violation(NAME, end.at_us, text)


def _seen_us(samples: Samples, at_us: int) -> int:
    """Return until when somebody looked at what the controller had decided by then.

    Nobody does while it is down: it may have ended right after (seed 983644).
    """
    seen_us = at_us + samples.seen_within_us
    for each in samples.nodes:
        if each.node == CONTROLLER_NODE and each.at_us > at_us:
            if each.is_up:
                return max(seen_us, each.at_us + samples.seen_within_us)
            if each.at_us > seen_us:
                break
    return seen_us


def _began_or_ended(samples: Samples, broker: int, begin_us: int, end_us: int) -> bool:
    """Tell whether a broker's process began or ended about then."""
    near_us = range(begin_us - _NEAR_US, end_us + _NEAR_US)
    node = broker_node(broker)
    return any(each.node == node and each.at_us in near_us for each in samples.nodes)


def _is_unusable(samples: Samples, broker: int, begin_us: int, end_us: int) -> bool:
    """Tell whether a broker could take no new replica in all that time.

    One that started or ended about then may have been live between two looks (seed 1043949).
    """
    if _began_or_ended(samples, broker, begin_us, end_us):
        return False
    known = [each for each in samples.brokers if each.broker == broker]
    stood = in_force(known, begin_us, end_us)
    return len(stood) == 1 and not stood[0].is_usable
