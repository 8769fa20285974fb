"""Records that were deleted never come back: not in a leader's log, not to who reads.

Where logs begin in the end is held against the orders in `ordered_places`; here it is all the time.
Source: KIP-107; Partition.scala deleteRecordsOnLeader, lowWatermarkIfLeader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from protocol.ids import NO_EPOCH, TopicPartition
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.ordering import ordered_of
from simulation.core.history import Function, Kind, Poll
from simulation.core.samples import ReplicaSample, Role, Samples, SampleSource

NAME: Final = "deleted records"


class _Deleted(NamedTuple):
    """A DeleteRecords that was answered: all replicas that live have taken it."""

    at_us: int
    tp: TopicPartition
    before: int
    topic_id: bytes
    leader_epoch: int
    """Of the newest leader by then; older ones may not know."""
    answered: str
    """When, in words."""


def check_deleted_records(evidence: Evidence) -> list[Violation]:
    """Hold leaders' logs and reads against the orders that were answered before them."""
    samples = evidence.samples
    if SampleSource.REPLICAS not in samples.sources:
        return []
    leaders: dict[TopicPartition, list[ReplicaSample]] = {}
    for sample in samples.replicas:
        if sample.role is Role.LEADER:
            leaders.setdefault(sample.tp, []).append(sample)
    return [
        *_falls(leaders),
        *(
            violation
            for deleted in _deleted(evidence, leaders)
            for violation in (
                *_in_logs(deleted, leaders[deleted.tp], samples),
                *_in_reads(deleted, evidence),
            )
        ),
    ]


def _falls(leaders: Mapping[TopicPartition, Sequence[ReplicaSample]]) -> Iterator[Violation]:
    """Find logs that begin earlier again while the same process leads in the same epoch."""
    last: dict[tuple[TopicPartition, int, int, int, bytes], ReplicaSample] = {}
    for samples in leaders.values():
        for now in samples:
            key = (now.tp, now.broker, now.boot, now.leader_epoch, now.topic_id)
            before = last.get(key)
            last[key] = now
            if before is not None and now.log_start_offset < before.log_start_offset:
                text = (
                    f"{now.tp} begins at {now.log_start_offset} on broker {now.broker}, and began "
                    f"at {before.log_start_offset} within leader epoch {now.leader_epoch}"
                )
                yield Violation(NAME, now.at_us, text)


def _deleted(
    evidence: Evidence, leaders: Mapping[TopicPartition, Sequence[ReplicaSample]]
) -> Iterator[_Deleted]:
    """Give the orders that hold to the end: nothing that was lost since is excused by them."""
    forgiven = evidence.forgiven
    deletions = deletions_of(evidence)
    for each in ordered_of(evidence):
        tp = TopicPartition(each.order.topic, each.order.partition)
        if each.function is not Function.DELETE_RECORDS or not each.is_sure:
            continue
        is_forgiven = each.begin_us <= forgiven.get(tp, -1)
        if is_forgiven or each.order.offset <= 0 or deletions.took_topic(tp.topic, each.begin_us):
            continue
        led = [sample for sample in leaders.get(tp, ()) if sample.at_us <= each.end_us]
        if led:
            newest = max(led, key=lambda sample: sample.leader_epoch)
            at = each.end_us, tp, each.order.offset
            yield _Deleted(*at, newest.topic_id, newest.leader_epoch, each.answered)


def _in_logs(
    deleted: _Deleted, leaders: Sequence[ReplicaSample], samples: Samples
) -> Iterator[Violation]:
    """Find the first leader since whose log begins before; disks that lost what it says apart."""
    for sample in leaders:
        is_later = sample.at_us > deleted.at_us and sample.leader_epoch >= deleted.leader_epoch
        is_earlier = sample.log_start_offset < deleted.before
        if not is_later or not is_earlier or sample.topic_id != deleted.topic_id:
            continue
        if samples.is_damaged(sample.broker, sample.at_us):
            continue
        text = (
            f"{sample.tp} begins at {sample.log_start_offset} on its leader {sample.broker} at "
            f"epoch {sample.leader_epoch}, and the records before {deleted.before} were deleted, "
            f"answered at {deleted.answered}"
        )
        yield Violation(NAME, sample.at_us, text)
        return


def _in_reads(deleted: _Deleted, evidence: Evidence) -> Iterator[Violation]:
    """Find the first read since, of the same or a newer leader, that has such records."""
    for begin, end in evidence.spans:
        poll = end.value
        if end.kind is not Kind.OK or begin.at_us <= deleted.at_us or not isinstance(poll, Poll):
            continue
        for read in poll.reads:
            is_newer = NO_EPOCH != read.leader_epoch >= deleted.leader_epoch
            if read.tp != deleted.tp or not is_newer:
                continue
            found = [offset for offset, _ in read.records if offset < deleted.before]
            if found:
                text = (
                    f"{read.tp} offset {found[0]} was read from broker {poll.broker} at leader "
                    f"epoch {read.leader_epoch}, and the records before {deleted.before} were "
                    f"deleted, answered at {deleted.answered}"
                )
                yield Violation(NAME, end.at_us, text)
                return
