"""Serves: Metadata (3), brokers, topics, leaders and offline replicas, at the client's listener.

Differs from Kafka: the node named as controller is this broker, as KRaft brokers name any live one.
Versions: 0-13; the code at the top of v13, which sends a client back to its bootstrap servers
(KIP-1102), is never set.
"""

from __future__ import annotations

from broker.context import Context
from broker.core.metadata_answer import by_ids, check_names
from broker.handlers import Client, handles_client
from protocol.errors import KafkaError
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)


def refuse(request: MetadataRequest, _version: int, error: KafkaError) -> MetadataResponse:
    """Put the code into every topic that was asked for."""
    return MetadataResponse(
        brokers=[],
        topics=[
            MetadataResponseTopic(
                error_code=error.code,
                name=topic.name or "",
                topic_id=topic.topic_id,
                partitions=[],
            )
            for topic in request.topics or ()
        ],
    )


@handles_client(MetadataRequest, "0-13", refuse=refuse)
async def handle(
    context: Context, request: MetadataRequest, version: int, client: Client
) -> MetadataResponse:
    """Answer from the metadata at hand; start creating unknown topics where that is wanted."""
    check_names(request, version)
    request = by_ids(request)
    creating: list[str] = []
    if request.allow_auto_topic_creation and context.config.auto_create_topics_enable:
        creating = context.metadata_answers.unknown_topics(request)
        if creating:
            context.auto_topics.create(creating)
    return context.metadata_answers.at(client.listener).answer(
        request, version, cluster_id=context.cluster_id, creating=creating
    )
