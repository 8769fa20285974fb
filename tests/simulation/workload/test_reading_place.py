"""Where aiokafka's consumers are, by its own book of positions."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.structs import TopicPartition as LibraryPartition

from protocol.ids import TopicPartition
from simulation.workload.reading_place import go_back, reading_place

ROWS = (LibraryPartition("ledger", 0), LibraryPartition("ledger", 1))


class _Consumer:
    """As much of one as its place is made of."""

    def __init__(self) -> None:
        self._subscription = SubscriptionState()
        self.committed_offsets: dict[Any, int] = {}
        self.assign()

    def assign(self) -> None:
        self._subscription.assign_from_user(ROWS)

    def read_to(self, number: int, offset: int) -> None:
        assignment: Any = self._subscription.subscription.assignment  # pyright: ignore[reportOptionalMemberAccess]
        state = assignment.state_value(ROWS[number])
        if state.has_valid_position:
            state.consumed_to(offset)
        else:
            state.reset_to(offset)

    async def committed(self, tp: Any) -> int | None:
        return self.committed_offsets.get(tp)

    def seek(self, tp: Any, offset: int) -> None:
        self._subscription.seek(tp, offset)


def _positions(consumer: _Consumer) -> list[int]:
    positions = reading_place(consumer).positions
    return [positions[tp] for tp in sorted(positions)]


async def test_a_place_has_the_partitions_that_are_read() -> None:
    consumer = _Consumer()
    assert _positions(consumer) == []

    consumer.read_to(1, 5)
    assert reading_place(consumer).positions == {TopicPartition("ledger", 1): 5}


async def test_what_a_failed_poll_took_is_read_again() -> None:
    consumer = _Consumer()
    consumer.read_to(0, 3)
    consumer.read_to(1, 5)
    place = reading_place(consumer)

    consumer.read_to(1, 9)
    assert _positions(consumer) == [3, 9]
    await go_back(consumer, place, has_group=True)
    assert _positions(consumer) == [3, 5]


async def test_what_was_begun_in_a_failed_poll_is_read_from_where_the_group_is() -> None:
    """Seed 1044011: it was assigned the partition right before."""
    consumer = _Consumer()
    place = reading_place(consumer)
    consumer.committed_offsets[ROWS[0]] = 2

    consumer.read_to(0, 22)
    consumer.read_to(1, 7)
    await go_back(consumer, place, has_group=True)
    assert _positions(consumer) == [2, 7]


async def test_nobody_goes_back_to_where_it_was_in_another_assignment() -> None:
    consumer = _Consumer()
    consumer.read_to(1, 5)
    place = reading_place(consumer)

    consumer.assign()
    consumer.read_to(1, 9)
    await go_back(consumer, place, has_group=False)
    assert _positions(consumer) == [9]

    consumer.committed_offsets[ROWS[1]] = 7
    await go_back(consumer, place, has_group=True)
    assert _positions(consumer) == [7]
