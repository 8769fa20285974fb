"""Where a consumer of aiokafka is, and the way back after a poll that lost what it had taken.

``getmany`` of 0.14 goes through the partitions one after the other and counts each as read. Where
the records of one have a wrong sum it raises, and what it had taken of others by then is lost: the
next poll goes on behind it (seed 1041986).
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, NamedTuple

from aiokafka.structs import TopicPartition as _Partition

from protocol.ids import TopicPartition


class ReadingPlace(NamedTuple):
    """Where a consumer is."""

    # Any: aiokafka has no stubs.
    assignment: Any
    """The library's, another object after each rebalance."""
    positions: dict[TopicPartition, int]
    """Of the partitions that it is assigned and has begun to read."""


def reading_place(consumer: Any) -> ReadingPlace:
    """Return where a consumer is now."""
    # The library has no public way to tell a position without waiting for one.
    subscription = consumer._subscription.subscription  # noqa: SLF001
    assignment = None if subscription is None else subscription.assignment
    states = {} if assignment is None else {tp: assignment.state_value(tp) for tp in assignment.tps}
    positions = {
        TopicPartition(tp.topic, tp.partition): state.position
        for tp, state in states.items()
        if state is not None and state.has_valid_position
    }
    return ReadingPlace(assignment, positions)


async def go_back(consumer: Any, place: ReadingPlace, *, has_group: bool) -> None:
    """Have a consumer read on from ``place``.

    What it has begun to read since, or was assigned anew, it does from where its group is (seed
    1044011).

    Raises:
        KafkaError: of aiokafka; nobody tells where that is.
    """
    found = reading_place(consumer)
    kept = place.positions if found.assignment is place.assignment else {}
    begun = [tp for tp in found.positions if tp not in kept] if has_group else []
    committed = {tp: await consumer.committed(_Partition(*tp)) for tp in begun}
    now = reading_place(consumer)
    if now.assignment is not found.assignment:
        return
    for tp, position in {**kept, **committed}.items():
        if position is not None and now.positions.get(tp, position) != position:
            consumer.seek(_Partition(*tp), position)
