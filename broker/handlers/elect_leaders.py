"""Serves: ElectLeaders (43), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-2.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_TOP_CODE_SINCE: Final = 1


def refuse(request: ElectLeadersRequest, version: int, error: KafkaError) -> ElectLeadersResponse:
    """Put the code at the top and into every listed partition."""
    return ElectLeadersResponse(
        error_code=error.code if version >= _TOP_CODE_SINCE else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index,
                        error_code=error.code,
                        error_message=error.message or None,
                    )
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


@handles(ElectLeadersRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: ElectLeadersRequest, version: int
) -> ElectLeadersResponse:
    """Return the controller's answer."""
    answer: ElectLeadersResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
