"""What an administrator was answered holds: topics, partitions, replicas and configurations.

Decisions are the controller's; where logs lie and where they begin is in `ordered_places`. A hand
that changes the journal may take back whatever was decided before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.ordered_places import broken_places
from simulation.core.checkers.ordering import Ordered, about_topic, ordered_of
from simulation.core.checkers.registers import Write, possible_values
from simulation.core.checkers.throttles import kept_throttles, released
from simulation.core.checkers.timeline import last_partitions
from simulation.core.history import Function
from simulation.core.samples import PartitionSample, Samples, SampleSource

NAME: Final = "orders"


def check_orders(evidence: Evidence) -> list[Violation]:
    """Hold the cluster of the end against what was ordered."""
    samples = evidence.samples
    if SampleSource.DECISIONS not in samples.sources:
        return []
    ordered = ordered_of(evidence)
    there = last_partitions(samples.partitions)
    broken = [
        *_topics_gone(ordered, there),
        *_topics_still_there(ordered, samples, there),
        *_partition_counts(ordered, samples, there),
        *_assignments(ordered, samples, there),
        *_topic_configs(ordered, evidence, there),
        *_broker_configs(ordered, evidence),
        *kept_throttles(ordered, samples),
        *broken_places(ordered, evidence),
    ]
    return [Violation(NAME, samples.ended_us, text) for text in broken]


class _Setting(NamedTuple):
    """An order for some configurations of one topic or broker."""

    order: Ordered
    configs: Mapping[str, str | None]
    is_whole: bool
    """Those that it leaves out are taken off."""


# Topics.


def _topics_gone(
    ordered: list[Ordered], there: Mapping[TopicPartition, PartitionSample]
) -> Iterator[str]:
    topics = {tp.topic: None for tp in there}
    deletions = _of(ordered, Function.DELETE_TOPIC)
    for made in _of(ordered, Function.CREATE_TOPIC):
        topic = made.order.topic
        may_be_deleted = any(
            each.order.topic == topic and (each.may_come_again or each.end_us >= made.begin_us)
            for each in deletions
        )
        if made.is_sure and topic not in topics and not may_be_deleted:
            yield f"there is no topic {topic}, and its creation was answered at {made.answered}"


def _topics_still_there(
    ordered: list[Ordered], samples: Samples, there: Mapping[TopicPartition, PartitionSample]
) -> Iterator[str]:
    """Find topics that an order deleted and that are not, or are again with the same id."""
    first_us: dict[bytes, int] = {}
    for sample in samples.partitions:
        first_us.setdefault(sample.topic_id, sample.at_us)
    ids = {(tp.topic, sample.topic_id): None for tp, sample in there.items()}
    for gone in _of(ordered, Function.DELETE_TOPIC):
        for topic, topic_id in ids:
            is_older = topic == gone.order.topic and first_us[topic_id] <= gone.begin_us
            if gone.is_sure and is_older:
                yield (
                    f"topic {topic} is there with the id {topic_id.hex()}, and the deletion of "
                    f"that one was answered at {gone.answered}"
                )


def _partition_counts(
    ordered: list[Ordered], samples: Samples, there: Mapping[TopicPartition, PartitionSample]
) -> Iterator[str]:
    counts: dict[str, int] = {}
    for tp in there:
        counts[tp.topic] = counts.get(tp.topic, 0) + 1
    for topic, count in counts.items():
        about = about_topic(ordered, topic, samples)
        makers = _of(about, Function.CREATE_TOPIC, Function.CREATE_PARTITIONS)
        writes = [each.sets(each.order.partitions) for each in makers]
        wanted = possible_values(writes)
        if wanted is not None and -1 not in wanted and count not in wanted:
            yield f"topic {topic} has {count} partitions, and {_listed(wanted)} were ordered"


# Replicas.


def _assignments(
    ordered: list[Ordered], samples: Samples, there: Mapping[TopicPartition, PartitionSample]
) -> Iterator[str]:
    """Look at targets; who cancels a reassignment gets the old replicas in an order of Kafka's.

    It may lie at a broker that pauses, and cancel what was ordered later (seed 971022).
    """
    for tp, sample in there.items():
        about = about_topic(ordered, tp.topic, samples)
        ends_us = (
            samples.ended_us if each.may_come_again else each.end_us
            for each in about
            if _cancels(each, tp)
        )
        cancelled_us = max(ends_us, default=-1)
        wanted = possible_values(_assigned(about, tp, cancelled_us))
        has = sample.target or sample.replicas
        if wanted is None or has in wanted:
            continue
        known = [each for each in wanted if each is not None]
        is_reordered = cancelled_us >= 0 and sorted(has) in map(sorted, known)
        if len(known) == len(wanted) and not is_reordered:
            yield f"{tp} has the replicas {list(has)}, and {_listed(wanted)} was ordered"


def _assigned(
    about: list[Ordered], tp: TopicPartition, cancelled_us: int
) -> list[Write[tuple[int, ...] | None]]:
    """Return who gave the partition which replicas; None: whichever the controller chose."""
    made = [each.order.partitions for each in _of(about, Function.CREATE_TOPIC)]
    is_first = bool(made) and tp.partition < min(made)
    writes: list[Write[tuple[int, ...] | None]] = []
    for each in about:
        order = each.order
        match each.function:
            case Function.CREATE_TOPIC:
                writes.append(each.sets(_at(order.assignment, tp.partition)))
            case Function.CREATE_PARTITIONS if not is_first:
                first = order.partitions - len(order.assignment)
                writes.append(each.sets(_at(order.assignment, tp.partition - first)))
            case Function.REASSIGN if order.partition == tp.partition and order.assignment:
                write = each.sets(_at(order.assignment, 0))
                if write.begin_us <= cancelled_us:
                    write = write._replace(is_sure=False, may_come_again=True)
                writes.append(write)
            case _:
                continue
    return writes


def _cancels(each: Ordered, tp: TopicPartition) -> bool:
    is_taking_back = each.function is Function.REASSIGN and not each.order.assignment
    return is_taking_back and each.order.partition == tp.partition


def _at(assignment: tuple[tuple[int, ...], ...], number: int) -> tuple[int, ...] | None:
    return assignment[number] if 0 <= number < len(assignment) else None


# Configurations.


def _topic_configs(
    ordered: list[Ordered], evidence: Evidence, there: Mapping[TopicPartition, PartitionSample]
) -> Iterator[str]:
    topics = {tp.topic: None for tp in there}
    last = {sample.topic: sample.configs for sample in evidence.samples.topics}
    taken_off = released(evidence)
    for topic in topics:
        about = about_topic(ordered, topic, evidence.samples)
        setters = _of(about, Function.CREATE_TOPIC, Function.ALTER_CONFIGS)
        settings = [_setting(each) for each in setters]
        yield from _wrong_configs(f"topic {topic}", last.get(topic, {}), settings, taken_off)


def _broker_configs(ordered: list[Ordered], evidence: Evidence) -> Iterator[str]:
    last = {sample.broker: sample.configs for sample in evidence.samples.broker_configs}
    taken_off = released(evidence)
    settings: dict[str, list[_Setting]] = {}
    for each in _of(ordered, Function.ALTER_CONFIGS):
        if not each.order.topic:
            settings.setdefault(each.broker_node, []).append(_setting(each))
    for name, known in settings.items():
        who = f"broker {name}" if name else "every broker"
        yield from _wrong_configs(who, last.get(name, {}), known, taken_off)


def _setting(each: Ordered) -> _Setting:
    is_whole = each.order.is_whole or each.function is Function.CREATE_TOPIC
    return _Setting(each, dict(each.order.configs), is_whole)


def _wrong_configs(
    who: str, has: Mapping[str, str], settings: list[_Setting], taken_off: Sequence[str]
) -> Iterator[str]:
    """``taken_off``: what nodes may have taken off by themselves."""
    names = {name: None for each in settings for name in each.configs}
    for name in (*names, *(each for each in has if each not in names)):
        wanted = possible_values(
            [
                each.order.sets(each.configs.get(name))
                for each in settings
                if each.is_whole or name in each.configs
            ]
        )
        if wanted is None or has.get(name) in wanted:
            continue
        if name not in taken_off or name in has:
            yield f"{who} has {name} {has.get(name)}, and {_listed(wanted)} was ordered"


def _of(ordered: list[Ordered], *functions: Function) -> list[Ordered]:
    return [each for each in ordered if each.function in functions]


def _listed(values: Sequence[object]) -> str:
    return " or ".join(str(value) for value in dict.fromkeys(values))
