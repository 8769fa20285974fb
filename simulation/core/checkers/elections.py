"""A leader from outside of the Isr is elected only where an unclean election was allowed.

By the topic's configuration, or else the cluster's, at that moment, or by an administrator's order.
Where one may lead, one does: a partition is not left to itself because some other replica is away.
Source: KIP-106, KIP-460; ElectLeaders, Election.scala leaderForOffline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from protocol.faults.model import CONTROLLER_NODE
from protocol.ids import NO_EPOCH, NO_LEADER, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.checkers.spans import Span
from simulation.core.history import Function, Kind, Order
from simulation.core.samples import PartitionSample, Samples

NAME: Final = "unclean elections"
_UNCLEAN: Final = "unclean"
_ELECTED_WITHIN_US: Final = 1_500_000


def check_elections(evidence: Evidence) -> list[Violation]:
    """Hold every leader that the controller chose against the Isr before it."""
    held = HeldConfigs(evidence)
    orders = [span for span in evidence.spans if _asks_for_unclean(span)]
    within_us = evidence.samples.seen_within_us
    unclean = [
        Violation(NAME, now.at_us, _text(before, now))
        for before, now in _unclean_elections(evidence)
        if not any(
            config.unclean_leader_election_enable
            for config in held.of(now.tp.topic, now.at_us - within_us, now.at_us)
        )
        and not any(_may_have_chosen(order, now, within_us) for order in orders)
    ]
    return [*unclean, *_withheld(evidence, held)]


def _withheld(evidence: Evidence, held: HeldConfigs) -> Iterator[Violation]:
    """Find partitions without a leader for a while, of which somebody online may lead.

    By what the controller knows itself: the network has no part in that.
    """
    samples = evidence.samples
    if samples.journal_edits_us:
        return
    quiet = QuietTimes(samples)
    for now, replicas, until_us in _leaderless(samples):
        end_us = now.at_us + _ELECTED_WITHIN_US
        if end_us > until_us or not quiet.acts(CONTROLLER_NODE, now.at_us, end_us):
            continue
        configs = held.of(now.tp.topic, now.at_us - samples.seen_within_us, end_us)
        allowed = all(config.unclean_leader_election_enable for config in configs)
        candidates = [
            replica
            for replica in now.replicas
            if replica in replicas
            and replica not in now.offline
            and (allowed or replica in now.isr)
            and not _is_leaving(samples, replica, now.at_us, end_us)
        ]
        if candidates:
            text = (
                f"nobody leads {now.tp} for {_ELECTED_WITHIN_US / 1e6:g} s since "
                f"{samples.told_time(now.at_us)}, and {candidates} of {list(now.replicas)} are "
                f"online and may"
            )
            yield Violation(NAME, end_us, text)


def _is_leaving(samples: Samples, broker: int, begin_us: int, end_us: int) -> bool:
    """Tell whether a broker was in a controlled shutdown all the time: nobody leads there anew.

    It takes no new replica then, though a log dir of it could.
    """
    usable = [
        (sample.at_us, sample.is_usable)
        for sample in samples.brokers
        if sample.broker == broker and sample.at_us <= end_us
    ]
    log_dirs = {
        sample.path: sample.is_online and not sample.is_cordoned
        for sample in samples.log_dirs
        if sample.broker == broker and sample.at_us <= begin_us
    }
    before = [is_usable for at_us, is_usable in usable if at_us <= begin_us][-1:]
    is_used = any(before) or any(is_usable for at_us, is_usable in usable if at_us > begin_us)
    return bool(before) and not is_used and any(log_dirs.values())


def _leaderless(samples: Samples) -> Iterator[tuple[PartitionSample, Sequence[int], int]]:
    """Give decisions that leave a partition without a leader, and when the next one came.

    With the replicas that it had as it lost its leader. One that a reassignment added since is
    elected when a broker or a log dir next comes or goes: the reassignment itself elects nobody
    (KafkaController.onPartitionReassignment).
    """
    last: dict[TopicPartition, tuple[PartitionSample, Sequence[int]]] = {}
    for now in samples.partitions:
        before = last.pop(now.tp, None)
        if before is not None:
            yield *before, now.at_us
        if now.leader == NO_LEADER and now.leader_epoch != NO_EPOCH and not now.is_deleted:
            last[now.tp] = (now, now.replicas if before is None else before[1])
    for left in last.values():
        yield *left, samples.ended_us


def _unclean_elections(evidence: Evidence) -> Iterator[tuple[PartitionSample, PartitionSample]]:
    """Give what a partition was before and after each election from outside of its Isr.

    A controller whose journal was edited takes over the leaders that brokers tell it of. Of
    two changes that were seen as one nobody knows what the Isr was in between, unless the leader
    recovers, which only one that was elected unclean does.
    """
    edited_us = min(evidence.samples.journal_edits_us, default=None)
    last: dict[TopicPartition, PartitionSample] = {}
    for now in evidence.samples.partitions:
        before = last.get(now.tp)
        last[now.tp] = now
        if before is None or before.topic_id != now.topic_id or not before.isr:
            continue
        is_one_change = now.partition_epoch <= before.partition_epoch + 1
        is_outsider = now.leader != NO_LEADER and now.leader not in before.isr
        is_unclean = (is_one_change and is_outsider) or _begins_to_recover(before, now)
        if is_unclean and (edited_us is None or now.at_us < edited_us):
            yield before, now


def _begins_to_recover(before: PartitionSample, now: PartitionSample) -> bool:
    return now.is_recovering and not before.is_recovering


def _asks_for_unclean(span: Span) -> bool:
    order = span.begin.value
    return (
        span.begin.function is Function.ELECT
        and isinstance(order, Order)
        and order.detail == _UNCLEAN
        and span.end.kind is not Kind.FAIL
    )


def _may_have_chosen(span: Span, now: PartitionSample, within_us: int) -> bool:
    """Tell whether an order was under way; one of which nobody knows may come at any time."""
    order = span.begin.value
    is_over = span.end.kind is Kind.OK and span.end.at_us < now.at_us - within_us
    return (
        isinstance(order, Order)
        and TopicPartition(order.topic, order.partition) == now.tp
        and span.begin.at_us <= now.at_us
        and not is_over
    )


def _text(before: PartitionSample, now: PartitionSample) -> str:
    return (
        f"broker {now.leader} leads {now.tp} at epoch {now.leader_epoch}, its Isr was "
        f"{list(before.isr)} at epoch {before.leader_epoch}, and nothing allowed an unclean "
        "election then"
    )
