"""What is answered with acks=all is on the whole Isr by then, and the Isr was large enough for it.

A leader that answers sooner loses nothing until it dies: this does not wait for that. Nor does it
wait for the answer to what a leader with too small an Isr takes: it must not append that at all.
Source: Partition.scala checkEnoughReplicasReachOffset, appendRecordsToLeader.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import NO_LEADER, NO_OFFSET, TopicPartition
from protocol.messages.produce import ACKS_ALL
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.checkers.leading import Leading, is_one_leadership
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.history import Function, Kind, Order, Send, Txn
from simulation.core.samples import ReplicaSample, Role, Samples, SampleSource, TopicSample

NAME: Final = "acks"
_CONFIG: Final = "min.insync.replicas"


class _IsrSizes(NamedTuple):
    """How large an Isr has to be; as far as a topic's own configuration says."""

    topics: Mapping[str, Sequence[TopicSample]]
    replica_counts: Mapping[TopicPartition, int]
    """The fewest that a partition ever had, or was to have: nobody may have looked meanwhile."""


def check_acks(evidence: Evidence) -> list[Violation]:
    """Hold each answer against what its leader held from the question on."""
    samples = evidence.samples
    if SampleSource.COMMITS not in samples.sources:
        return []
    leading = Leading(samples)
    sizes = _isr_sizes(evidence)
    quiet = QuietTimes(samples)
    # What a look shows may be as old as the look before it.
    late_us = 2 * samples.seen_within_us
    violations: list[Violation] = []
    for begin, end in evidence.spans:
        send = end.value
        if end.kind is not Kind.OK or not isinstance(send, Send) or not _is_judged(send):
            continue
        since_us, until_us = begin.at_us - late_us, end.at_us + late_us
        if not quiet.lasts(_tellers(send, samples), since_us, until_us):
            since_us = 0  # Its leader may not have heard of any newer configuration.
        size_min = _isr_size_min(sizes, send.tp, since_us, until_us)
        copies = leading.copies(send.tp, _end(send), begin.at_us, end.at_us)
        seen = leading.during(send.tp, send.broker, begin.at_us, end.at_us)
        text = _too_few_copies(send, copies, size_min)
        if seen:
            text = _too_early(send, seen) or _too_few(send, seen, size_min) or text
        if text:
            violations.append(Violation(NAME, end.at_us, text))
    return [*violations, *_accepted_by_few(evidence, sizes)]


def _is_judged(send: Send) -> bool:
    """Tell whether an acknowledgement was for the whole Isr, and says of which offset."""
    return send.acks == ACKS_ALL and send.base_offset != NO_OFFSET


def _tellers(send: Send, samples: Samples) -> tuple[str, ...]:
    """Return between whom it has to be quiet; libraries do not say which broker answered."""
    if send.broker == NO_LEADER:
        return tuple({sample.node: None for sample in samples.nodes})
    return (CONTROLLER_NODE, broker_node(send.broker))


def _isr_sizes(evidence: Evidence) -> _IsrSizes:
    topics: dict[str, list[TopicSample]] = {}
    for topic in evidence.samples.topics:
        topics.setdefault(topic.topic, []).append(topic)
    counts: dict[TopicPartition, int] = {}
    seen = [(each.tp, len(each.replicas)) for each in evidence.samples.partitions]
    for tp, count in (*seen, *_ordered_counts(evidence)):
        counts[tp] = min(counts.get(tp, count), count)
    return _IsrSizes(topics, counts)


def _ordered_counts(evidence: Evidence) -> Iterator[tuple[TopicPartition, int]]:
    """Give how many replicas administrators wanted to be left (seed 1064166)."""
    for operation in evidence.history:
        order = operation.value
        if operation.function is Function.REASSIGN and isinstance(order, Order):
            for replicas in order.assignment:
                yield TopicPartition(order.topic, order.partition), len(replicas)


def _end(send: Send) -> int:
    return send.base_offset + len(send.records)


def _too_few_copies(send: Send, copies: int | None, isr_size_min: int) -> str:
    """Tell of what the Isr shrank to in the end: the answer had to be an error then."""
    if copies is None or copies >= isr_size_min:
        return ""
    return (
        f"{send.tp} was acknowledged at offset {send.base_offset}, which {copies} replicas had, "
        f"and {_CONFIG} was {isr_size_min}"
    )


def _too_early(send: Send, seen: Sequence[ReplicaSample]) -> str:
    end = _end(send)
    reached = max(one.high_watermark for one in seen)
    if reached >= end:
        return ""
    return (
        f"broker {send.broker} acknowledged {send.tp} up to offset {end - 1} at leader epoch "
        f"{seen[0].leader_epoch}, and its high watermark was {reached} then"
    )


def _isr_size_min(sizes: _IsrSizes, tp: TopicPartition, begin_us: int, end_us: int) -> int:
    """Return the smallest Isr that was large enough at any time from begin to end."""
    topics = sizes.topics.get(tp.topic, ())
    times_us = [topic.at_us for topic in topics]
    held = topics[max(0, bisect_right(times_us, begin_us) - 1) : bisect_right(times_us, end_us)]
    # Without a configuration of its own the brokers' holds, which nobody looked at.
    wanted = min((int(topic.configs.get(_CONFIG, 1)) for topic in held), default=1)
    return min(wanted, sizes.replica_counts.get(tp, wanted))


def _accepted_by_few(evidence: Evidence, sizes: _IsrSizes) -> Iterator[Violation]:
    """Find leaders that appended while their Isr was too small, where nobody wrote otherwise.

    Each configuration that the topic ever had counts: a broker may not have heard of a newer one.
    """
    samples = evidence.samples
    topics = _topics_with_acks_of_all(evidence)
    held = HeldConfigs(evidence)
    wanted: dict[tuple[TopicPartition, int], int] = {}
    few: dict[tuple[TopicPartition, int], ReplicaSample] = {}
    for now in samples.replicas:
        key = (now.tp, now.broker)
        if now.tp.topic not in topics:
            continue
        if key not in wanted:
            configs = held.of(now.tp.topic, 0, samples.ended_us, now.broker)
            count = min(config.min_insync_replicas for config in configs)
            wanted[key] = min(count, sizes.replica_counts.get(now.tp, count))
        if now.role is not Role.LEADER or len(now.isr) >= wanted[key]:
            few.pop(key, None)
            continue
        first = few.setdefault(key, now)
        if not is_one_leadership((first, now)) or first.partition_epoch != now.partition_epoch:
            few[key] = now  # The Isr may have been larger between two looks (seed 1112718).
        elif now.log_end_offset > first.next_offset != NO_OFFSET:
            text = (
                f"broker {now.broker} appended to {now.tp} at offset {first.next_offset} with an "
                f"Isr of {list(now.isr)}, {_CONFIG} was {wanted[key]}, and all was written with "
                "acks=all"
            )
            yield Violation(NAME, now.at_us, text)
            few[key] = now


def _topics_with_acks_of_all(evidence: Evidence) -> dict[str, None]:
    """Return the topics that only producers with acks=all wrote to, outside of transactions."""
    acks: dict[str, bool] = {}
    for operation in evidence.history:
        match operation.value:
            case Send() as send:
                is_all = send.acks == ACKS_ALL
                acks[send.tp.topic] = acks.get(send.tp.topic, True) and is_all
            case Txn() as txn:
                acks.update((send.tp.topic, False) for send in txn.sends)
            case _:
                pass
    return {topic: None for topic, is_all in acks.items() if is_all}


def _too_few(send: Send, seen: Sequence[ReplicaSample], isr_size_min: int) -> str:
    isr = max((one.isr for one in seen), key=len)
    if len(isr) >= isr_size_min or _has_unseen_isr(seen):
        return ""
    return (
        f"broker {send.broker} acknowledged {send.tp} at offset {send.base_offset} with an Isr of "
        f"{list(isr)}, and {_CONFIG} was {isr_size_min}"
    )


def _has_unseen_isr(seen: Sequence[ReplicaSample]) -> bool:
    """Tell whether the Isr changed, and changed back, between two looks."""
    return any(
        after.partition_epoch > before.partition_epoch + 1 for before, after in pairwise(seen)
    )
