# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    CorruptRecordException,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
)

from protocol import ids
from simulation.workload.position_reset import OUT_OF_RANGE_MAX, PositionReset

_TP = TopicPartition("ledger", 0)
_OFFSET = 8


class _Consumer:
    """What the leader of a partition tells a consumer, and where that seeks."""

    def __init__(self, start: int = 0, end: int = 0) -> None:
        self.start, self.end = start, end
        self.is_led = True
        self.asked = 0
        self.assigned = {_TP}
        self.sought: list[TopicPartition] = []
        self.positions: dict[TopicPartition, int] = {}

    async def beginning_offsets(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        if not self.is_led:
            raise KafkaTimeoutError
        return dict.fromkeys(tps, self.start)

    async def end_offsets(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, self.end)

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    def seek(self, tp: TopicPartition, offset: int) -> None:
        self.positions[tp] = offset

    async def seek_to_beginning(self, *tps: TopicPartition) -> None:
        self.sought += tps


async def _refused(reset: PositionReset, consumer: _Consumer, times: int) -> None:
    for _ in range(times):
        await reset.after(consumer, OffsetOutOfRangeError({_TP: _OFFSET}), {})


def _reset() -> PositionReset:
    return PositionReset(asyncio.Event(), retry_backoff_ms=0)


async def test_a_partition_without_an_offset_is_read_from_its_beginning() -> None:
    consumer = _Consumer()

    await _reset().after(consumer, NoOffsetForPartitionError(_TP), {})

    assert consumer.sought == [_TP]


async def test_a_partition_that_somebody_else_has_by_now_is_left_alone() -> None:
    """Seeds 156 to 200: the library refuses to seek in what it does not read."""
    consumer = _Consumer()
    consumer.assigned.clear()

    await _reset().after(consumer, NoOffsetForPartitionError(_TP), {})

    assert consumer.sought == []


async def test_partitions_that_are_assigned_anew_are_read_on_where_they_were() -> None:
    consumer, added = _Consumer(), TopicPartition("ledger", 1)
    consumer.assigned.add(added)

    positions = {ids.TopicPartition("ledger", 0): _OFFSET}
    await _reset().after(consumer, NoOffsetForPartitionError(_TP, added), positions)

    assert consumer.positions == {_TP: _OFFSET}
    assert consumer.sought == [added]


async def test_an_offset_that_the_leader_has_is_kept_however_often_others_refuse_it() -> None:
    consumer = _Consumer(start=0, end=_OFFSET)

    await _refused(_reset(), consumer, 3 * OUT_OF_RANGE_MAX)

    assert consumer.asked > 0
    assert consumer.sought == []


@pytest.mark.parametrize(
    ("start", "end"), [(_OFFSET + 1, _OFFSET + 2), (0, _OFFSET - 1)], ids=["below", "above"]
)
async def test_an_offset_that_the_leader_does_not_have_is_given_up(start: int, end: int) -> None:
    consumer = _Consumer(start, end)

    await _refused(_reset(), consumer, OUT_OF_RANGE_MAX)

    assert consumer.sought == [_TP]


async def test_the_leader_is_asked_only_after_many_refusals_in_a_row() -> None:
    consumer, reset = _Consumer(), _reset()

    await _refused(reset, consumer, OUT_OF_RANGE_MAX - 1)
    reset.polled()
    await _refused(reset, consumer, OUT_OF_RANGE_MAX - 1)

    assert consumer.asked == 0
    assert consumer.sought == []


async def test_nothing_is_given_up_while_no_leader_answers() -> None:
    consumer, reset = _Consumer(), _reset()
    consumer.is_led = False
    await _refused(reset, consumer, OUT_OF_RANGE_MAX)
    assert consumer.sought == []

    consumer.is_led = True
    await _refused(reset, consumer, 1)

    assert consumer.sought == [_TP]


async def test_a_partition_that_was_taken_away_meanwhile_is_left_alone() -> None:
    consumer = _Consumer()
    consumer.assigned.clear()

    await _refused(_reset(), consumer, OUT_OF_RANGE_MAX)

    assert consumer.sought == []


async def test_other_errors_move_no_position() -> None:
    consumer, reset = _Consumer(), _reset()

    for _ in range(OUT_OF_RANGE_MAX):
        await reset.after(consumer, NotLeaderForPartitionError(), {})

    assert (consumer.asked, consumer.sought) == (0, [])


async def test_after_other_errors_it_waits() -> None:
    loop = asyncio.get_running_loop()
    before_s = loop.time()

    await PositionReset(asyncio.Event(), 100).after(_Consumer(), CorruptRecordException(), {})

    assert loop.time() - before_s >= 0.09
