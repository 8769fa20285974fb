"""A log begins later only where its oldest records may go, and not behind its high watermark.

Where records went by retention, the newest of them was older than ``retention.ms``, or as much as
``retention.bytes`` stayed. A segment is as old as the newest of its records that has a timestamp,
so that records without one are not looked for. Which configuration a broker had heard of nobody
knows: any that the topic had so far excuses. Source: UnifiedLog.scala deleteOldSegments; KIP-107.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from protocol.configs.topic import TopicConfig
from protocol.ids import NO_OFFSET, TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.messages.topics import TO_HIGH_WATERMARK
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.checkers.timeline import moments
from simulation.core.history import Function, Kind, Order, Send
from simulation.core.samples import HOSTED_ROLES, ReplicaSample, Role, Samples, SampleSource

NAME: Final = "retention"
_ACKS_LEADER: Final = 1
_TIMESTAMP_US: Final = 1_000
"""Timestamps are whole milliseconds."""


class _RetainedLog(NamedTuple):
    """A partition of one topic: the next topic of its name is another one."""

    tp: TopicPartition
    topic_id: bytes


class _Written(NamedTuple):
    """The last record of a batch that the whole Isr took."""

    offset: int
    begun_us: int
    """Its timestamp is not older."""
    records: int
    """How many the batch has."""


class _Told(NamedTuple):
    """What clients asked for."""

    written: Mapping[TopicPartition, Sequence[_Written]]
    acknowledged: Mapping[TopicPartition, Sequence[_Written]]
    """Also what its leader alone acknowledged, or a log may have lost: another one may be there."""
    deletions: Mapping[TopicPartition, Sequence[tuple[int, int]]]
    """When DeleteRecords was begun, and the offset before which records were to go."""


def check_retention(evidence: Evidence) -> list[Violation]:
    """Follow where the logs of all replicas begin."""
    samples = evidence.samples
    if SampleSource.REPLICAS not in samples.sources:
        return []
    told = _Told(
        _written(evidence, (ACKS_ALL,), evidence.forgiven),
        _written(evidence, (ACKS_ALL, _ACKS_LEADER), {}),
        _deletions(evidence),
    )
    held = HeldConfigs(evidence)
    compacted = deletions_of(evidence).compacted
    reached: dict[_RetainedLog, int] = {}
    ends: dict[tuple[int, _RetainedLog], int] = {}
    first_seen_us: dict[_RetainedLog, int] = {}
    led: dict[_RetainedLog, list[ReplicaSample]] = {}
    violations: list[Violation] = []
    sees_commits = SampleSource.COMMITS in samples.sources
    for at_us, changes in moments(samples.replicas):
        hosted = [_sized(each, ends) for each in changes if each.role in HOSTED_ROLES]
        violations += [_behind(each) for each in hosted if sees_commits and _is_behind(each)]
        for log, rises in _rises(hosted, reached).items():
            first_us = first_seen_us.setdefault(log, at_us)
            before = reached.get(log, 0)
            known = [each for each in told.written.get(log.tp, ()) if each.begun_us >= first_us]
            is_compacted = log.tp.topic in compacted
            newest = _newest(known, before, rises[0], is_compacted=is_compacted)
            reached[log] = rises[0].log_start_offset
            reasons = (
                _is_of_another(each, newest, led.get(log, ()))
                or _is_meant(each, newest, told, held, samples)
                for each in rises
            )
            if not any(reasons) and newest is not None:
                written = samples.told_time(newest.begun_us)
                violations.append(_too_much(rises[0], before, newest, written))
        for each in hosted:
            log = _RetainedLog(each.tp, each.topic_id)
            first_seen_us.setdefault(log, at_us)
            if each.role is Role.LEADER:
                led.setdefault(log, []).append(each)
    return violations


def _sized(sample: ReplicaSample, ends: dict[tuple[int, _RetainedLog], int]) -> ReplicaSample:
    """Take a log's size for unknown where it was cut since the look before.

    Retention saw what stood before the cut: a leader that was not heard any more (seed 741174),
    or whose last appends waited for the disk, and for the cut behind them (seed 920004).
    ``ends`` are those of the look before, by broker and log, and become those of this one.
    """
    key = (sample.broker, _RetainedLog(sample.tp, sample.topic_id))
    end_offset = max(sample.log_end_offset, sample.next_offset)
    was_cut = end_offset < ends.get(key, 0)
    ends[key] = end_offset
    return sample._replace(size_bytes=-1) if was_cut else sample


def _rises(
    hosted: Sequence[ReplicaSample], reached: Mapping[_RetainedLog, int]
) -> dict[_RetainedLog, list[ReplicaSample]]:
    """Return the replicas whose logs begin later than any did before, those that lead the way.

    Others follow their leader, and may be seen in the same moment.
    """
    found: dict[_RetainedLog, list[ReplicaSample]] = {}
    for each in hosted:
        log = _RetainedLog(each.tp, each.topic_id)
        if each.log_start_offset > reached.get(log, 0):
            found.setdefault(log, []).append(each)
    return {
        log: [each for each in rises if each.log_start_offset == _furthest(rises)]
        for log, rises in found.items()
    }


def _furthest(rises: Sequence[ReplicaSample]) -> int:
    return max(each.log_start_offset for each in rises)


def _is_behind(sample: ReplicaSample) -> bool:
    return sample.log_start_offset > sample.high_watermark


def _newest(
    known: Sequence[_Written], before: int, sample: ReplicaSample, *, is_compacted: bool
) -> _Written | None:
    """Return the last record that is known of those that went.

    Of a compacted log the oldest: compaction may have taken all but that one before. Where not
    all are known, that may be one of which nobody knows when it was written (seed 750155).
    """
    gone = [
        each
        for each in known
        if before <= each.offset < sample.log_start_offset and each.begun_us <= sample.at_us
    ]
    if is_compacted and sum(each.records for each in gone) < sample.log_start_offset - before:
        return None
    if is_compacted:
        return min(gone, key=lambda each: each.begun_us, default=None)
    return max(gone, default=None)


def _is_of_another(
    sample: ReplicaSample, newest: _Written | None, led: Sequence[ReplicaSample]
) -> bool:
    """Tell whether a later leader took the record, of which this replica has not heard.

    What it has at that offset is its own, and may be older (seed 910082).
    """
    return newest is not None and any(
        each.leader_epoch > sample.leader_epoch and each.at_us <= newest.begun_us for each in led
    )


def _is_meant(
    sample: ReplicaSample,
    newest: _Written | None,
    told: _Told,
    held: HeldConfigs,
    samples: Samples,
) -> bool:
    """Tell whether an order, retention or a damaged disk may have moved the start there."""
    start = sample.log_start_offset
    is_ordered = any(
        begun_us <= sample.at_us and offset in {start, TO_HIGH_WATERMARK}
        for begun_us, offset in told.deletions.get(sample.tp, ())
    )
    return (
        newest is None
        or is_ordered
        or samples.is_damaged(sample.broker, sample.at_us)
        or _is_expired(sample, newest, held, _skew_ms(samples))
        or _is_followed_by_older(sample, newest, told, held, _skew_ms(samples))
    )


def _is_followed_by_older(
    sample: ReplicaSample, newest: _Written, told: _Told, held: HeldConfigs, skew_ms: int
) -> bool:
    """Tell whether the last that went is older than what went before it.

    By size that went, and then by age the rest, as of a producer that had waited for a leader: how
    much stayed in between nobody knows (seed 851371).
    """
    last = max(
        (
            each
            for each in told.acknowledged.get(sample.tp, ())
            if newest.offset < each.offset < sample.log_start_offset
            and newest.begun_us > each.begun_us
        ),
        default=None,
    )
    return last is not None and _is_expired(sample, last, held, skew_ms)


def _is_expired(sample: ReplicaSample, newest: _Written, held: HeldConfigs, skew_ms: int) -> bool:
    age_ms = (sample.at_us - newest.begun_us + _TIMESTAMP_US) / 1000 + skew_ms
    return any(
        0 <= config.retention_ms < age_ms
        or (
            config.retention_bytes >= 0
            and (_is_size_unknown(sample, config) or sample.size_bytes >= config.retention_bytes)
        )
        for config in held.of(sample.tp.topic, 0, sample.at_us, sample.broker)
        if "delete" in config.cleanup_policy
    )


def _is_size_unknown(sample: ReplicaSample, config: TopicConfig) -> bool:
    """Tell whether nobody knows what stayed: compaction may have cut it since retention looked."""
    return sample.size_bytes < 0 or "compact" in config.cleanup_policy


def _skew_ms(samples: Samples) -> int:
    """Return how far two clocks were apart at most."""
    skews = [0, *(each.by_ms for each in samples.clock_skews)]
    return max(skews) - min(skews)


def _written(
    evidence: Evidence, acks: Collection[int], forgiven: Mapping[TopicPartition, int]
) -> dict[TopicPartition, list[_Written]]:
    """Return what was acknowledged; by all it stays for good, and has its offset alone.

    But for what was begun until ``forgiven``, by partition, in us, and what may be in another topic
    of the name than it was begun for (seed 1043227).
    """
    births_us = _births_us(evidence.samples)
    late_us = 2 * evidence.samples.seen_within_us
    found: dict[TopicPartition, list[_Written]] = {}
    for begin, end in evidence.spans:
        send = end.value
        if not isinstance(send, Send) or end.kind is not Kind.OK or send.acks not in acks:
            continue
        if not send.has_timestamps:
            continue
        births = births_us.get(send.tp, ())
        if any(begin.at_us < born_us <= end.at_us + late_us for born_us in births):
            continue
        if send.base_offset != NO_OFFSET and begin.at_us > forgiven.get(send.tp, -1):
            count = len(send.records)
            batch = _Written(send.base_offset + count - 1, begin.at_us, count)
            found.setdefault(send.tp, []).append(batch)
    return found


def _births_us(samples: Samples) -> dict[TopicPartition, list[int]]:
    """Return when logs of each partition were first seen, but for those of its first topic."""
    seen: dict[_RetainedLog, None] = {}
    born_us: dict[TopicPartition, list[int]] = {}
    for each in samples.replicas:
        log = _RetainedLog(each.tp, each.topic_id)
        if each.role not in HOSTED_ROLES or log in seen:
            continue
        seen[log] = None
        born_us.setdefault(each.tp, []).append(each.at_us)
    return {tp: times_us[1:] for tp, times_us in born_us.items()}


def _deletions(evidence: Evidence) -> dict[TopicPartition, list[tuple[int, int]]]:
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for begin, end in evidence.spans:
        order = end.value
        is_asked = begin.function is Function.DELETE_RECORDS and end.kind is not Kind.FAIL
        if is_asked and isinstance(order, Order):
            tp = TopicPartition(order.topic, order.partition)
            found.setdefault(tp, []).append((begin.at_us, order.offset))
    return found


def _behind(sample: ReplicaSample) -> Violation:
    text = (
        f"{sample.tp} begins at {sample.log_start_offset} on broker {sample.broker}, behind its "
        f"high watermark {sample.high_watermark}"
    )
    return Violation(NAME, sample.at_us, text)


def _too_much(sample: ReplicaSample, before: int, newest: _Written, written: str) -> Violation:
    size = f"{sample.size_bytes} bytes" if sample.size_bytes >= 0 else "an unknown size"
    text = (
        f"{sample.tp} begins at {sample.log_start_offset} on broker {sample.broker}, and began at "
        f"{before}; record {newest.offset} was written at {written}, {size} "
        "stayed, and neither an order nor retention lets it go"
    )
    return Violation(NAME, sample.at_us, text)
