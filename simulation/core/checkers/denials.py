"""No broker denies a topic that exists, once it has to know it.

It has to when the topic was there before its process started, for it serves clients after it was
told what there is; and once it has told a client of it: being cut off makes nobody forget.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import NO_EPOCH, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.fault_model import EVER
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.spans import spans_of
from simulation.core.history import Function, Kind, Operation, Order
from simulation.core.plan import is_examined
from simulation.core.samples import PartitionSample, Samples, TopicView

NAME: Final = "denied topics"
_Sightings: TypeAlias = dict[tuple[int, str], list[tuple[int, int]]]
"""(Broker, topic) -> when the broker told of the topic, and of how many partitions."""


class _Life(NamedTuple):
    """A partition from its first leadership to its deletion."""

    begin_us: int
    end_us: int
    after_us: int = -1
    """When the topic of this name before it ended; -1: it is the first one."""
    made_us: int = -1
    """When it was seen first, led or not: it may have been ordered to end since."""


class _Denied(NamedTuple):
    """One answer that says that there is no such partition."""

    asked_us: int
    at_us: int
    broker: int
    tp: TopicPartition
    by: str


def check_denials(evidence: Evidence) -> list[Violation]:
    """Hold answers to clients against what the controller has decided."""
    samples = evidence.samples
    lives = _shortened(_lives(samples.partitions), ordered_ends(evidence.history))
    starts = _starts(samples)
    sightings = _sightings(samples.views)
    quiet = QuietTimes(samples)
    told: dict[tuple[int, TopicPartition, int], None] = {}
    violations: list[Violation] = []
    for denied in _denied(samples, list(dict.fromkeys(tp.topic for tp in lives))):
        for life in lives.get(denied.tp, ()):
            told_us = _told_of(sightings, denied, life, quiet)
            since = _known_since(denied, life, starts, told_us, samples)
            if since is None or (denied.broker, denied.tp, life.begin_us) in told:
                continue
            told[denied.broker, denied.tp, life.begin_us] = None
            text = (
                f"broker {denied.broker} says in {denied.by} that there is no {denied.tp}, asked "
                f"at {samples.told_time(denied.asked_us)}; it is there since "
                f"{samples.told_time(life.begin_us)}, and {since}"
            )
            violations.append(Violation(NAME, denied.at_us, text))
    return violations


def _known_since(
    denied: _Denied,
    life: _Life,
    starts: dict[int, list[int]],
    told_us: Sequence[int],
    samples: Samples,
) -> str | None:
    """Say why the broker has to know the partition; None: it does not."""
    seen_within_us = samples.seen_within_us
    if not life.begin_us < denied.asked_us <= denied.at_us + seen_within_us < life.end_us:
        return None
    began = starts.get(denied.broker, [])
    before = began[: bisect_left(began, denied.asked_us)]
    if before and life.begin_us + seen_within_us < before[-1]:
        return f"that broker's process runs since {samples.told_time(before[-1])}"
    if told_us:
        return f"that broker told of it at {samples.told_time(told_us[0])}"
    return None


def _told_of(sightings: _Sightings, denied: _Denied, life: _Life, quiet: QuietTimes) -> list[int]:
    """Return when that broker had told of the partition.

    One that hears late may have meant the topic of this name before it (seed 682011).
    """
    nodes = (CONTROLLER_NODE, broker_node(denied.broker))
    return [
        seen_us
        for seen_us, partitions_count in sightings.get((denied.broker, denied.tp.topic), ())
        if life.begin_us <= seen_us < denied.asked_us and denied.tp.partition < partitions_count
        if life.after_us < 0 or quiet.lasts(nodes, life.after_us, seen_us)
    ]


def _denied(samples: Samples, topics: Sequence[str]) -> Iterator[_Denied]:
    for view in samples.views:
        wanted = topics if view.named is None else view.named
        for topic in wanted:
            if topic not in view.found and not is_examined(topic):
                tp = TopicPartition(topic, 0)
                yield _Denied(view.asked_us, view.at_us, view.broker, tp, "its metadata")
    for each in samples.denials:
        yield _Denied(each.asked_us, each.at_us, each.broker, each.tp, "an answer")


def _lives(samples: Sequence[PartitionSample]) -> dict[TopicPartition, list[_Life]]:
    lives: dict[TopicPartition, list[_Life]] = {}
    ids: dict[TopicPartition, bytes] = {}
    made_us: dict[tuple[TopicPartition, bytes], int] = {}
    for sample in samples:
        made_us.setdefault((sample.tp, sample.topic_id), sample.at_us)
        known = lives.setdefault(sample.tp, [])
        is_open = bool(known) and known[-1].end_us == EVER
        is_other = is_open and ids[sample.tp] != sample.topic_id
        if is_open and (sample.is_deleted or is_other):
            known[-1] = known[-1]._replace(end_us=sample.at_us)
            is_open = False
        if not is_open and not sample.is_deleted and sample.leader_epoch != NO_EPOCH:
            after_us = known[-1].end_us if known else -1
            own_us = max(after_us, made_us[sample.tp, sample.topic_id])
            known.append(_Life(sample.at_us, EVER, after_us, own_us))
            ids[sample.tp] = sample.topic_id
    return lives


def _shortened(
    lives: dict[TopicPartition, list[_Life]], ends: dict[str, list[int]]
) -> dict[TopicPartition, list[_Life]]:
    """Let each life end with the first order to end it."""
    shortened: dict[TopicPartition, list[_Life]] = {}
    for tp, known in lives.items():
        ordered = ends.get(tp.topic, [])
        shortened[tp] = [
            life._replace(end_us=min([life.end_us, *(us for us in ordered if us > life.made_us)]))
            for life in known
        ]
    return shortened


def ordered_ends(history: Sequence[Operation]) -> dict[str, list[int]]:
    """Return when deletions of topics were ordered that were carried out, or may have been.

    Brokers hear of one before it is over. And nobody sees one that a controller decides, tells and
    forgets: it ends before the next look, and its journal is put back from a copy.
    """
    ends: dict[str, list[int]] = {}
    for begin, end in spans_of(history):
        is_deletion = end.function is Function.DELETE_TOPIC and end.kind is not Kind.FAIL
        if is_deletion and isinstance(end.value, Order):
            ends.setdefault(end.value.topic, []).append(begin.at_us)
    return ends


def _starts(samples: Samples) -> dict[int, list[int]]:
    """Return when each broker's processes were seen first."""
    brokers = {broker_node(b): b for b in {view.broker: None for view in samples.views}}
    brokers.update((broker_node(each.broker), each.broker) for each in samples.denials)
    starts: dict[int, list[int]] = {}
    boots: dict[str, int] = {}
    for sample in samples.nodes:
        if sample.is_up and sample.node in brokers and boots.get(sample.node) != sample.boot:
            boots[sample.node] = sample.boot
            starts.setdefault(brokers[sample.node], []).append(sample.at_us)
    return starts


def _sightings(views: Sequence[TopicView]) -> _Sightings:
    found: _Sightings = {}
    for view in views:
        for topic, partitions_count in view.found.items():
            known = found.setdefault((view.broker, topic), [])
            known.append((view.at_us, partitions_count))
    return found
