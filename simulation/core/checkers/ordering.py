"""The orders of an administrator that were carried out, or may have been. Judges nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from protocol.faults.model import CONTROLLER_NODE
from protocol.ids import NO_LEADER
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.registers import Write
from simulation.core.history import Function, Kind, Order
from simulation.core.samples import Samples

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Ordered:
    """One order that did not certainly fail."""

    function: Function
    order: Order
    begin_us: int
    end_us: int
    is_sure: bool
    """It was answered without an error, and no hand changed the journal since it was begun.

    And the controller ran long enough for its decision to be seen.
    """
    answered: str
    """When, in words."""
    may_come_again: bool = False
    """It may be carried out at any later time, for the first time or once more."""

    @property
    def broker_node(self) -> str:
        """The broker as configurations name it; "" is all of them."""
        return "" if self.order.broker == NO_LEADER else str(self.order.broker)

    def sets(self, value: Value) -> Write[Value]:
        """Return this order as one that set something to ``value``."""
        return Write(self.begin_us, self.end_us, self.is_sure, value, self.may_come_again)


def ordered_of(evidence: Evidence) -> list[Ordered]:
    """Return them in the order in which they ended."""
    edited_us = max(evidence.samples.journal_edits_us, default=-1)
    seen_us = _seen_until_us(evidence.samples)
    ordered: list[Ordered] = []
    for begin, end in evidence.spans:
        if isinstance(end.value, Order) and end.kind is not Kind.FAIL:
            is_sure = end.kind is Kind.OK and edited_us < begin.at_us <= end.at_us <= seen_us
            may_come_again = not is_sure or end.value.is_repeated
            ordered.append(
                Ordered(
                    end.function,
                    end.value,
                    begin.at_us,
                    end.at_us,
                    is_sure,
                    answered=evidence.samples.told_time(end.at_us),
                    may_come_again=may_come_again,
                )
            )
    return ordered


def _seen_until_us(samples: Samples) -> int:
    """Return until when decisions are in the samples: a controller that ends tells no more."""
    last = [each for each in samples.nodes if each.node == CONTROLLER_NODE][-1:]
    if all(each.is_up for each in last):
        return samples.ended_us
    return last[0].at_us - samples.seen_within_us


def about_topic(ordered: list[Ordered], topic: str, samples: Samples) -> list[Ordered]:
    """Return what was ordered of a topic since it was deleted last.

    A deletion may wait for a reassignment, and takes with it what was ordered meanwhile. Who asks
    for a topic that was deleted may make it anew, without an order of anybody. While nobody knows
    whether and when it is deleted, nothing is sure of what was ordered; nor of what was ordered
    before the deletion was answered, which may have come behind it.
    """
    about = [each for each in ordered if each.order.topic == topic]
    deletions = [each for each in about if each.function is Function.DELETE_TOPIC]
    if any(each.may_come_again for each in deletions):
        return [replace(each, is_sure=False, may_come_again=True) for each in about]
    deleted_us = max((each.begin_us for each in deletions), default=-1)
    answered_us = max((each.end_us for each in deletions), default=-1)
    waits = _waiting_deletions(samples, topic)
    return [
        each
        if each.begin_us > answered_us and not _goes_with_topic(each, waits)
        else replace(each, is_sure=False)
        for each in about
        if each.may_come_again or each.end_us >= deleted_us
    ]


def _goes_with_topic(each: Ordered, waits: list[tuple[int, int]]) -> bool:
    """Tell whether an order was of a topic that was gone later; a creation is of the next one."""
    is_creation = each.function is Function.CREATE_TOPIC
    return not is_creation and any(begin <= each.begin_us <= end for begin, end in waits)


def _waiting_deletions(samples: Samples, topic: str) -> list[tuple[int, int]]:
    """Return from when to when deletions of this topic waited for a reassignment, and went on."""
    waits: list[tuple[int, int]] = []
    begun_us: int | None = None
    for sample in samples.partitions:
        if sample.tp.topic != topic:
            continue
        if sample.is_gone:
            waits += [] if begun_us is None else [(begun_us, sample.at_us)]
            begun_us = None
        elif begun_us is None and sample.is_deleted and sample.is_reassigned:
            begun_us = sample.at_us
    return waits
