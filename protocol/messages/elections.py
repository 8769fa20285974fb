"""Messages of ElectLeaders (43)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32


@struct
class TopicPartitions:
    topic: str = field(STRING)
    partitions: Sequence[int] = field(array(INT32))


@message(43, "request", versions="0-2", flexible="2+")
class ElectLeadersRequest:
    """Source: ElectLeadersRequest.json."""

    election_type: int = field(INT8, "1+")
    """0: the preferred replica; 1: any live one when there is no leader."""
    topic_partitions: Sequence[TopicPartitions] | None = field(
        array(TopicPartitions), nullable="0+"
    )
    """None for all."""
    timeout_ms: int = field(INT32, default=60000)


@struct
class PartitionResult:
    partition_id: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


@struct
class ReplicaElectionResult:
    topic: str = field(STRING)
    partition_result: Sequence[PartitionResult] = field(array(PartitionResult))


@message(43, "response", versions="0-2", flexible="2+")
class ElectLeadersResponse:
    """Source: ElectLeadersResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16, "1+")
    replica_election_results: Sequence[ReplicaElectionResult] = field(array(ReplicaElectionResult))
