"""What handlers ask of the engine, a type for each of its concerns: records, offsets, roles, moves.

Doors without code; ``broker.engine`` has the rooms behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from broker.core.producer_entry import ProducerEntry
from broker.engine.types import (
    DeletedRecords,
    EpochAnswer,
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    LogDirDescription,
    ProducePart,
    ProduceResult,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)


class BegunProduce(Protocol):
    """Records on their way; exactly one of ``results`` and ``abandon`` is called at the end."""

    @property
    def ready(self) -> asyncio.Future[None]:
        """Done when ``results`` can be called."""
        ...

    def results(self) -> list[ProduceResult]:
        """Return one result per part, in order."""
        ...

    def abandon(self) -> None:
        """Stop waiting: nobody will ask for results."""
        ...


class ProducePort(Protocol):
    """Appends records."""

    async def begin(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> BegunProduce:
        """Append, and return as soon as the records are on their way to the logs.

        What ``acks`` asks for, 0, 1 or -1, may be waited for while the next produce is begun, for
        ``timeout_ms`` at most with -1.
        """
        ...


class FetchPort(Protocol):
    """Reads records."""

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        """Read and wait for ``min_bytes``; one result per part, in order."""
        ...


class OffsetsPort(Protocol):
    """Finds offsets by time and by leader epoch."""

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset:
        """Find the offset for a timestamp or for one of Kafka's special timestamps."""
        ...

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer:
        """Tell where a leader epoch ends."""
        ...


class RecordDeletionPort(Protocol):
    """Raises log start offsets."""

    async def delete(
        self,
        parts: Sequence[tuple[TopicPartition, int]],
        *,
        timeout_ms: int,
        is_empty_enough: bool = False,
    ) -> list[DeletedRecords]:
        """Delete what lies before each offset, -1 for the high watermark.

        Waits, for ``timeout_ms`` at most, until followers have done so, too; one result per part,
        in order. With ``is_empty_enough`` also where the cleanup.policy is empty.
        """
        ...


class DescribePort(Protocol):
    """Tells what is hosted."""

    def log_dirs(self, topics: Mapping[str, Sequence[int]] | None) -> list[LogDirDescription]:
        """Describe every configured log dir; ``topics`` filters the replicas."""
        ...

    def producers(self, tp: TopicPartition) -> Sequence[ProducerEntry]:
        """Return the producers of a partition hosted here.

        Raises:
            KafkaError: why it is not online here.
        """
        ...


class MovesPort(Protocol):
    """Moves replicas between log dirs."""

    async def alter(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        """Start moves to the log dirs that are named, or change those under way.

        The log dir where a replica is already cancels its move.
        """
        ...


class LeadershipPort(Protocol):
    """Takes roles, and what the cluster looks like."""

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Expects ``topic_states``; the answer has both layouts filled."""
        ...

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Expects ``topic_states``."""
        ...


class StoppingPort(Protocol):
    """Ends replicas."""

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Expects ``topic_states``."""
        ...
