"""Serves: DescribeCluster (60), the live brokers and the node that takes admin requests.

Differs from Kafka: the node named as controller is this broker, which passes admin requests on; the
controller process itself takes no clients.
Versions: 0-2; fenced brokers, which v2 can ask for, are known to the controller alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from broker.context import Context
from broker.core.metadata_answer import CLUSTER_OPERATIONS
from broker.handlers import Client, handles_client
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from protocol.refusals import refuse_describe_cluster

_BROKERS: Final = 1
_CONTROLLERS: Final = 2
_FORWARD_TIMEOUT_MS: Final = 5_000


@handles_client(DescribeClusterRequest, "0-2", refuse=refuse_describe_cluster)
async def handle(
    context: Context, request: DescribeClusterRequest, version: int, client: Client
) -> DescribeClusterResponse:
    """Source: AuthHelper.computeDescribeClusterResponse."""
    if request.endpoint_type == _CONTROLLERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted CONTROLLER",
        )
    if request.endpoint_type != _BROKERS:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"Unsupported endpoint type {request.endpoint_type}",
        )
    metadata = context.metadata
    response = DescribeClusterResponse(
        cluster_id=context.cluster_id,
        controller_id=metadata.client_controller_id(),
        brokers=await _brokers(context, request, version, client.listener),
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


async def _brokers(
    context: Context, request: DescribeClusterRequest, version: int, listener: str
) -> Sequence[DescribeClusterBroker]:
    if request.include_fenced_brokers:
        answer: DescribeClusterResponse = await context.controller.forward(
            request, version, timeout_ms=_FORWARD_TIMEOUT_MS
        )
        if answer.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(answer.error_code), answer.error_message or "")
        for broker in answer.brokers:  # The controller knows how nodes reach each other.
            reached = context.metadata.live_broker(broker.broker_id, listener)
            if reached is not None:
                broker.host, broker.port = reached.host, reached.port
        return answer.brokers
    return [
        DescribeClusterBroker(
            broker_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack
        )
        for broker in context.metadata.live_brokers(listener)
    ]
