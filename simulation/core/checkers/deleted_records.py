"""Records that were deleted never come back: not in a leader's log, not to who reads.

Where logs begin in the end is held against the orders in `ordered_places`; here it is all the time.
When an order is answered, every replica that the controller has as alive begins there or later, or
the next leader may bring the records back. One that was away may yet (`unaware_leaders`).
Source: KIP-107; Partition.scala deleteRecordsOnLeader, lowWatermarkIfLeader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import NO_EPOCH, TopicPartition
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.ordering import Ordered, ordered_of
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.timeline import in_force
from simulation.core.checkers.unaware_leaders import led_unaware_us
from simulation.core.history import Function, Kind, Poll
from simulation.core.samples import (
    HOSTED_ROLES,
    PartitionSample,
    ReplicaSample,
    Role,
    Samples,
    SampleSource,
)

NAME: Final = "deleted records"
_KNOWN_WITHIN_US: Final = 1_000_000
"""So long after a decision a leader surely has it, if nothing stands between."""


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
    undone_us: int | None
    """When a leader was elected that may not have heard of it."""

    def holds(self, at_us: int) -> bool:
        """Whether it had been answered by then, and binds whoever leads."""
        return self.at_us < at_us and (self.undone_us is None or at_us < self.undone_us)


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
        *_not_taken(evidence),
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


def _not_taken(evidence: Evidence) -> Iterator[Violation]:
    """Find live followers that had not taken an order when it was answered."""
    samples = evidence.samples
    if SampleSource.COMMITS not in samples.sources:
        return  # Brokers and the controller are not seen in one moment.
    quiet = QuietTimes(samples)
    for each in ordered_of(evidence):
        is_order = each.function is Function.DELETE_RECORDS and each.is_sure
        steady = _steady(each, samples) if is_order else None
        if steady is None:
            continue
        for broker in steady.replicas:
            log = _held(each, samples, steady, broker)
            nodes = (CONTROLLER_NODE, broker_node(steady.leader))
            since_us = each.begin_us - _KNOWN_WITHIN_US
            is_another = quiet.begins(broker_node(broker), since_us, each.end_us)
            if log is not None and not is_another and quiet.lasts(nodes, since_us, each.end_us):
                text = (
                    f"{log.tp} begins at {log.log_start_offset} on broker {broker}, which is "
                    f"alive, and the records before {each.order.offset} were deleted, answered at "
                    f"{each.answered}"
                )
                yield Violation(NAME, each.end_us, text)


def _steady(each: Ordered, samples: Samples) -> PartitionSample | None:
    """Return the only decision of a while before an order up to its answer; None: there are two."""
    tp = TopicPartition(each.order.topic, each.order.partition)
    since_us, until_us = each.begin_us - _KNOWN_WITHIN_US, each.end_us + samples.seen_within_us
    decided = [sample for sample in samples.partitions if sample.tp == tp]
    stood = in_force(decided, since_us, until_us)
    return stood[0] if len(stood) == 1 and not stood[0].is_deleted else None


def _held(
    each: Ordered, samples: Samples, steady: PartitionSample, broker: int
) -> ReplicaSample | None:
    """Return what a live replica had at the answer, if it did not have the order then."""
    own = [
        sample
        for sample in samples.replicas
        if (sample.broker, sample.tp) == (broker, steady.tp)
        and sample.at_us <= each.end_us + 2 * samples.seen_within_us
    ]
    if not own or broker in steady.offline or samples.is_damaged(broker, each.end_us):
        return None
    last = own[-1]
    # One that has not heard of this leader yet is waited for, too.
    is_following = last.role in HOSTED_ROLES and last.leader_epoch <= steady.leader_epoch
    is_following &= broker != steady.leader
    is_same = last.topic_id == steady.topic_id
    return last if is_following and is_same and last.log_start_offset < each.order.offset else None


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
            undone_us = led_unaware_us(evidence, tp, each.end_us)
            yield _Deleted(*at, newest.topic_id, newest.leader_epoch, each.answered, undone_us)


def _in_logs(
    deleted: _Deleted, leaders: Sequence[ReplicaSample], samples: Samples
) -> Iterator[Violation]:
    """Find the first leader since whose log begins before; disks that lost what it says apart."""
    for sample in leaders:
        is_later = deleted.holds(sample.at_us) and sample.leader_epoch >= deleted.leader_epoch
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
        is_due = deleted.holds(begin.at_us) and deleted.holds(end.at_us)
        if end.kind is not Kind.OK or not is_due or not isinstance(poll, Poll):
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
