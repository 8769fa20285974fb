"""Serves: DescribeCluster (60), the live brokers and the node that takes admin requests.

Differs from Kafka: the node named as controller is this broker, which passes admin requests on; the
controller process itself takes no clients.
Versions: 0-1.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.metadata_answer import CLUSTER_OPERATIONS
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from protocol.refusals import refuse_describe_cluster

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


@handles(DescribeClusterRequest, "0-1", refuse=refuse_describe_cluster)
async def handle(
    context: Context, request: DescribeClusterRequest, _version: int
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
    metadata = context.engine.metadata
    response = DescribeClusterResponse(
        cluster_id=context.cluster_id,
        controller_id=metadata.client_controller_id(),
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in metadata.live_brokers()
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
