"""Serves: UpdateMetadata (6), what this broker tells clients about the cluster.

Differs from Kafka: a topic row without partitions says that the topic's settings changed, one
without a name that brokers' settings did; to Kafka's brokers, which are told by ZooKeeper, they
say nothing.
Versions: 0-8.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.ids import ZERO_UUID
from protocol.messages.control import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

_GROUPED_SINCE: Final = 5


def refuse(
    _request: UpdateMetadataRequest, _version: int, error: KafkaError
) -> UpdateMetadataResponse:
    """Put the code at the top; there is nothing else."""
    return UpdateMetadataResponse(error_code=error.code)


@handles(UpdateMetadataRequest, "0-8", refuse=refuse)
async def handle(
    context: Context, request: UpdateMetadataRequest, version: int
) -> UpdateMetadataResponse:
    """Update the metadata, then the settings that are said to have changed."""
    await context.until_epoch_known()
    context.journal_heard(request)
    if version < _GROUPED_SINCE:
        request.topic_states = _topic_states(request)
    if version == 0:
        for broker in request.live_brokers:
            broker.endpoints = [_endpoint(broker)]
    response = context.leadership.update_metadata(request)
    if not response.error_code:
        context.client_gate.open()
        await context.config_news.told(request)
    return response


def _topic_states(request: UpdateMetadataRequest) -> list[UpdateMetadataTopicState]:
    """Return the states grouped by topic; versions before 5 send a flat list."""
    by_topic: dict[str, list[UpdateMetadataPartitionState]] = {}
    for state in request.ungrouped_partition_states:
        by_topic.setdefault(state.topic_name, []).append(state)
    return [
        UpdateMetadataTopicState(topic_name=topic, topic_id=ZERO_UUID, partition_states=states)
        for topic, states in by_topic.items()
    ]


def _endpoint(broker: UpdateMetadataBroker) -> UpdateMetadataEndpoint:
    return UpdateMetadataEndpoint(
        port=broker.v0_port, host=broker.v0_host, listener="PLAINTEXT", security_protocol=0
    )
