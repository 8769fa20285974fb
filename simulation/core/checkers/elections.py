"""A leader from outside of the Isr is elected only where an unclean election was allowed.

By the topic's configuration, or else the cluster's, at that moment, or by an administrator's order.
Source: KIP-106, KIP-460; ElectLeaders, Election.scala leaderForOffline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.ids import NO_LEADER, TopicPartition
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.checkers.spans import Span
from simulation.core.history import Function, Kind, Order
from simulation.core.samples import PartitionSample

NAME: Final = "unclean elections"
_UNCLEAN: Final = "unclean"


def check_elections(evidence: Evidence) -> list[Violation]:
    """Hold every leader that the controller chose against the Isr before it."""
    held = HeldConfigs(evidence)
    orders = [span for span in evidence.spans if _asks_for_unclean(span)]
    within_us = evidence.samples.seen_within_us
    return [
        Violation(NAME, now.at_us, _text(before, now))
        for before, now in _unclean_elections(evidence)
        if not any(
            config.unclean_leader_election_enable
            for config in held.of(now.tp.topic, now.at_us - within_us, now.at_us)
        )
        and not any(_may_have_chosen(order, now, within_us) for order in orders)
    ]


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
