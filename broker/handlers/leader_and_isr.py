"""Serves: LeaderAndIsr (4), which replicas this broker hosts and who leads them.

Differs from Kafka: the first request for a topic waits a bounded time for the topic's settings,
which Kafka's brokers read from ZooKeeper.
Versions: 0-7.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.core.control_rules import refuse_leader_and_isr
from broker.handlers import handles
from protocol.errors import KafkaError
from protocol.ids import ZERO_UUID
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)

_GROUPED_REQUEST_SINCE: Final = 2
_GROUPED_RESPONSE_SINCE: Final = 5


def refuse(request: LeaderAndIsrRequest, version: int, error: KafkaError) -> LeaderAndIsrResponse:
    """Put the code at the top and into every partition."""
    request.topic_states = _topic_states(request, version)
    return _in_layout_of(version, refuse_leader_and_isr(request, error.code))


@handles(LeaderAndIsrRequest, "0-7", refuse=refuse)
async def handle(
    context: Context, request: LeaderAndIsrRequest, version: int
) -> LeaderAndIsrResponse:
    """Have the topics' settings at hand, then let the engine decide and act."""
    await context.until_epoch_known()
    context.journal_heard(request)
    request.topic_states = _topic_states(request, version)
    topic_ids = {topic.topic_name: bytes(topic.topic_id) for topic in request.topic_states}
    context.topic_configs.identify(topic_ids)
    await context.topic_configs.ensure(topic_ids)
    return _in_layout_of(version, await context.leadership.leader_and_isr(request))


def _topic_states(request: LeaderAndIsrRequest, version: int) -> list[LeaderAndIsrTopicState]:
    """Return the states grouped by topic; versions 0 and 1 send a flat list."""
    if version >= _GROUPED_REQUEST_SINCE:
        return list(request.topic_states)
    by_topic: dict[str, list[LeaderAndIsrPartitionState]] = {}
    for state in request.ungrouped_partition_states:
        by_topic.setdefault(state.topic_name, []).append(state)
    return [
        LeaderAndIsrTopicState(topic_name=topic, topic_id=ZERO_UUID, partition_states=states)
        for topic, states in by_topic.items()
    ]


def _in_layout_of(version: int, response: LeaderAndIsrResponse) -> LeaderAndIsrResponse:
    """Keep the one list that the version has: flat, or from 5 on grouped by topic id."""
    if version >= _GROUPED_RESPONSE_SINCE:
        response.partition_errors = ()
    else:
        response.topics = ()
    return response
