"""Where a consumer of aiokafka goes on when a partition has no offset yet, or none in range."""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError

from protocol.ids import TopicPartition
from simulation.workload.pause import pause

OUT_OF_RANGE_MAX: Final = 20
"""So often in a row an offset must be out of range before the leader is asked for its own."""


class PositionReset:
    """Resets positions of one consumer, which resets none by itself.

    The library does not say under which leader epoch it asks (KIP-320), and brokers let it read
    from followers (KIP-392). So a broker that led before, and has an empty disk now, tells it that
    its offset is out of range, for as long as the brokers that it asks for metadata have not heard
    of the new leader. It asks again for a while, as clients do that hear of another leader, and
    begins anew only where the leader's own log does not have the offset: ListOffsets requests are
    answered by leaders alone.
    """

    def __init__(self, stopping: asyncio.Event, retry_backoff_ms: int) -> None:
        self._stopping = stopping
        self._retry_backoff_ms = retry_backoff_ms
        self._out_of_range_count = 0

    def polled(self) -> None:
        """Begin to count anew: a poll went well."""
        self._out_of_range_count = 0

    async def after(
        self, consumer: Any, error: AiokafkaError, positions: Mapping[TopicPartition, int]
    ) -> None:
        """Begin where a partition does that has no offset yet, or none that its leader has.

        After any other error it waits, as applications do.

        Args:
            consumer: a poll of which raised ``error``.
            error: any.
            positions: where partitions were read to. Without a group the library assigns all of
                them anew, as if it had never read them, whenever there is another one.
        """
        if isinstance(error, NoOffsetForPartitionError):
            # Meanwhile the group may have given some of them to somebody else.
            assigned = consumer.assignment()
            for tp in [tp for tp in error.args if tp in assigned]:
                position = positions.get(TopicPartition(tp.topic, tp.partition))
                if position is None:
                    await consumer.seek_to_beginning(tp)
                else:
                    consumer.seek(tp, position)
        elif isinstance(error, OffsetOutOfRangeError):
            self._out_of_range_count += 1
            lost: list[Any] = []
            if self._out_of_range_count >= OUT_OF_RANGE_MAX:
                lost = await _out_of_leaders_range(consumer, error.args[0])
            if lost:
                await consumer.seek_to_beginning(*lost)
            else:
                await pause(self._stopping, self._retry_backoff_ms)
        else:
            # The library raises the same again at once: of a damaged batch 600 times a second.
            await pause(self._stopping, self._retry_backoff_ms)


async def _out_of_leaders_range(consumer: Any, offsets: Mapping[Any, int]) -> list[Any]:
    """Return the partitions that are still assigned and whose leaders do not have these offsets."""
    try:
        starts = await consumer.beginning_offsets(list(offsets))
        ends = await consumer.end_offsets(list(offsets))
    except AiokafkaError:  # No leader has answered: nothing is known.
        return []
    assigned = consumer.assignment()
    return [
        tp
        for tp, offset in offsets.items()
        if tp in assigned and not starts[tp] <= offset <= ends[tp]
    ]
