"""Where the controller finds the metrics topic: in its own state. The topic is made by brokers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from controller.channels import Connect
from controller.core.settings import Settings
from controller.core.state import ClusterState
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.metric_topic.producer import Address, MetricTopic, MetricTopicPorts
from protocol.metrics.rows import RowOrigin
from protocol.metrics.topic import METRICS_TOPIC
from protocol.ports import RpcPort

INIT_PRODUCER_ID_VERSION: Final = 4
logger = logging.getLogger(__name__)


def metric_topic(
    settings: Settings, state: Callable[[], ClusterState], connect: Connect, origin: RowOrigin
) -> MetricTopic:
    """Return who writes the rows of this controller; brokers are reached as by its channels."""
    timeout_ms = settings.defaults.request_timeout_ms

    def partition_count() -> int:
        topic = state().topics.get(METRICS_TOPIC)
        return 0 if topic is None or topic.is_deleting else len(topic.partitions)

    def leader_of(tp: TopicPartition) -> Address | None:
        partition = state().find(tp)
        return None if partition is None else _address(settings, state(), partition.leader)

    async def new_producer_id(leader: RpcPort) -> int:
        request = InitProducerIdRequest(transactional_id=None)
        answer: InitProducerIdResponse = await leader.request(
            request, INIT_PRODUCER_ID_VERSION, timeout_ms=timeout_ms
        )
        if answer.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(answer.error_code))
        return answer.producer_id

    ports = MetricTopicPorts(
        partition_count=partition_count,
        leader_of=leader_of,
        connect=connect,
        create_topic=lambda: None,
        new_producer_id=new_producer_id,
        request_timeout_ms=timeout_ms,
        drop=_tell_lost,
    )
    return MetricTopic(ports, node_id=settings.controller_id, origin=origin)


def _address(settings: Settings, state: ClusterState, broker_id: int) -> Address | None:
    if not state.is_reachable(broker_id):
        return None
    endpoint = state.brokers[broker_id].endpoint(settings.control_plane_listener)
    return Address(endpoint.host, endpoint.port)


def _tell_lost(count: int) -> None:
    logger.warning("%d metric rows do not reach %s", count, METRICS_TOPIC)
