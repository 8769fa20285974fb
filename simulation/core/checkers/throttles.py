"""Throttles that were set for reassignments are gone when those are over; others stay.

A throttle is a reassignment's when the topic's list of throttled followers names a replica that it
adds, as Kafka's tools have it. Then both lists of the topic go with the last reassignment, unless
they say ``*``, and so do the rates of the brokers concerned. Source: KIP-179,
docs/differences.md. ``jbodlab.reassignment.throttles.remove`` is taken to be on, as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from protocol.configs.names import FOLLOWER_REPLICAS, MOVE_RATE, THROTTLED_RATES, THROTTLED_REPLICAS
from protocol.ids import TopicPartition
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.ordering import Ordered
from simulation.core.checkers.timeline import last_partitions
from simulation.core.history import Function
from simulation.core.samples import PartitionSample, Samples


def released(evidence: Evidence) -> tuple[str, ...]:
    """Return the configurations that nodes may have taken off by themselves, for what was asked."""
    asked = {operation.function: None for operation in evidence.history}
    lists = (*THROTTLED_REPLICAS, *THROTTLED_RATES) if Function.REASSIGN in asked else ()
    return (*lists, MOVE_RATE) if Function.MOVE in asked else lists


def kept_throttles(ordered: Sequence[Ordered], samples: Samples) -> Iterator[str]:
    """Give a sentence for each throttle that outlived its reassignment."""
    there = last_partitions(samples.partitions)
    if samples.healed_us is None or any(_goes_on(each) for each in there.values()):
        return
    for each in ordered:
        tp = TopicPartition(each.order.topic, each.order.partition)
        is_reassignment = each.function is Function.REASSIGN and bool(each.order.assignment)
        if not is_reassignment or not each.is_sure or tp not in there:
            continue
        listed = _configs_at(each, samples).get(FOLLOWER_REPLICAS, "").split(",")
        if any(f"{tp.partition}:{broker}" in listed for broker in _added(each, tp, samples)):
            yield from _kept_lists(ordered, each, samples)
            for broker in each.order.assignment[0]:
                yield from _kept_rates(ordered, each, broker, samples)


def _kept_lists(ordered: Sequence[Ordered], each: Ordered, samples: Samples) -> Iterator[str]:
    topic = each.order.topic
    last = {sample.topic: sample.configs for sample in samples.topics}.get(topic, {})
    for name in THROTTLED_REPLICAS:
        is_kept = name in last and "*" not in last[name].split(",")
        if is_kept and not _is_set_later(ordered, each, name, topic=topic):
            yield _sentence(f"topic {topic}", name, each)


def _kept_rates(
    ordered: Sequence[Ordered], each: Ordered, broker: int, samples: Samples
) -> Iterator[str]:
    last = {sample.broker: sample.configs for sample in samples.broker_configs}
    before = _rates_at(each, broker, samples)
    for name in THROTTLED_RATES:
        is_kept = name in before and name in last.get(str(broker), {})
        if is_kept and not _is_set_later(ordered, each, name, broker=broker):
            yield _sentence(f"broker {broker}", name, each)


def _goes_on(partition: PartitionSample) -> bool:
    """Tell whether a reassignment may be under way."""
    is_removing = bool(partition.target) and partition.target != partition.replicas
    return is_removing or sorted(partition.isr) != sorted(partition.replicas)


def _added(each: Ordered, tp: TopicPartition, samples: Samples) -> list[int]:
    """Return the brokers that get a replica by this order; none if that is not sure."""
    known = [sample for sample in samples.partitions if sample.tp == tp]
    before = [sample for sample in known if sample.at_us < each.begin_us][-1:]
    if not before or before[0].is_deleted or any(_goes_on(sample) for sample in before):
        return []
    return [broker for broker in each.order.assignment[0] if broker not in before[0].replicas]


def _configs_at(each: Ordered, samples: Samples) -> Mapping[str, str]:
    """Return the topic's configurations while it was ordered; none if they changed."""
    known = [sample for sample in samples.topics if sample.topic == each.order.topic]
    return _steady([(sample.at_us, sample.configs) for sample in known], each, samples)


def _rates_at(each: Ordered, broker: int, samples: Samples) -> Mapping[str, str]:
    known = [sample for sample in samples.broker_configs if sample.broker == str(broker)]
    return _steady([(sample.at_us, sample.configs) for sample in known], each, samples)


def _steady(
    known: Sequence[tuple[int, Mapping[str, str]]], each: Ordered, samples: Samples
) -> Mapping[str, str]:
    """Return what held from a while before an order until it was seen to be decided.

    Nor may another state be seen right after that: it may have come before the order, and with it.
    """
    since_us = each.begin_us - 10 * samples.seen_within_us
    before = [configs for at_us, configs in known if at_us <= since_us][-1:]
    decided_us = _decided_us(each, samples) + samples.seen_within_us
    is_changed = any(since_us < at_us <= decided_us for at_us, _ in known)
    return before[0] if before and not is_changed else {}


def _decided_us(each: Ordered, samples: Samples) -> int:
    """Return when the reassignment was seen first after it was ordered, at most its answer.

    The order may have come long after it was given, when the one before had taken throttles off.
    """
    tp = TopicPartition(each.order.topic, each.order.partition)
    wanted = set(each.order.assignment[0])
    seen = (
        sample.at_us
        for sample in samples.partitions
        if sample.tp == tp and sample.at_us >= each.begin_us and wanted <= {*sample.replicas}
    )
    return min(each.end_us, next(seen, each.end_us))


def _is_set_later(
    ordered: Sequence[Ordered], since: Ordered, name: str, *, topic: str = "", broker: int = -1
) -> bool:
    """Tell whether somebody may have set it again after this order had begun."""
    return any(
        (other.end_us >= since.begin_us or other.may_come_again)
        and other.function in (Function.ALTER_CONFIGS, Function.CREATE_TOPIC)
        and (other.order.topic, other.order.broker) == (topic, broker)
        and name in dict(other.order.configs)
        for other in ordered
    )


def _sentence(who: str, name: str, each: Ordered) -> str:
    return (
        f"{who} still has {name}, and the reassignment of {each.order.topic}-"
        f"{each.order.partition} that it was for, answered at {each.answered}, is over"
    )
