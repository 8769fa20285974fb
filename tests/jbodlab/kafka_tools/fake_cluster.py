"""A cluster of brokers that answer from memory: for the tools' requests. Real sockets, no disks.

Orders are carried out at once and kept in lists, so that tests can look at them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from protocol.admin.cluster import TopicView
from protocol.admin.log_dirs import LogDirView
from protocol.admin.reassignments import ReassignmentView
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages import configs as config_messages
from protocol.messages import log_dirs as log_dir_messages
from protocol.messages import metadata as metadata_messages
from protocol.messages import reassignments as reassignment_messages
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from tests.jbodlab.fake_node import fake_node

Reply = Callable[[int, Any], Any]
"""What a broker (its id) answers to a request."""
API_KEYS = (
    2,
    3,
    8,
    9,
    10,
    15,
    16,
    18,
    22,
    27,
    29,
    30,
    31,
    34,
    35,
    38,
    39,
    40,
    41,
    42,
    44,
    45,
    46,
    47,
    48,
    49,
    50,
    51,
    61,
    65,
    66,
)


@dataclass
class FakeCluster:
    """What the brokers know, and what they were told."""

    topics: dict[str, TopicView] = field(default_factory=dict[str, TopicView])
    log_dirs: dict[int, list[LogDirView]] = field(default_factory=dict[int, list[LogDirView]])
    reassignments: dict[TopicPartition, ReassignmentView] = field(
        default_factory=dict[TopicPartition, ReassignmentView]
    )
    racks: dict[int, str | None] = field(default_factory=lambda: dict.fromkeys((0, 1, 2, 3)))
    controller_id: int = 0
    refusals: dict[TopicPartition, ErrorCode] = field(
        default_factory=dict[TopicPartition, ErrorCode]
    )
    """Answers to AlterPartitionReassignments."""
    move_answers: dict[int, list[ErrorCode]] = field(default_factory=dict[int, list[ErrorCode]])
    """Answers of a broker to AlterReplicaLogDirs, one per request; success afterwards."""
    replies: dict[type, Reply] = field(default_factory=dict[type, Reply])
    """Of other requests, or instead of those below."""
    config_orders: list[tuple[int, str, dict[str, str | None]]] = field(
        default_factory=list[tuple[int, str, "dict[str, str | None]"]]
    )
    """The broker asked, the resource, its new values."""
    reassign_orders: list[dict[TopicPartition, list[int] | None]] = field(
        default_factory=list["dict[TopicPartition, list[int] | None]"]
    )
    move_orders: list[tuple[int, str, list[str]]] = field(
        default_factory=list[tuple[int, str, "list[str]"]]
    )
    """The broker, the log dir, the partitions."""
    ports: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def reply(self, broker: int, request: Any) -> Any:
        for kind, reply in self.replies.items():
            if isinstance(request, kind):
                return reply(broker, request)
        match request:
            case ApiVersionsRequest():
                keys = [ApiVersion(api_key=key, min_version=0, max_version=20) for key in API_KEYS]
                return ApiVersionsResponse(error_code=0, api_keys=keys, throttle_time_ms=0)
            case metadata_messages.MetadataRequest():
                return self._metadata(request)
            case reassignment_messages.ListPartitionReassignmentsRequest():
                return self._under_way(broker, request)
            case reassignment_messages.AlterPartitionReassignmentsRequest():
                return self._reassign(request)
            case log_dir_messages.DescribeLogDirsRequest():
                return self._describe_log_dirs(broker)
            case log_dir_messages.AlterReplicaLogDirsRequest():
                return self._move(broker, request)
            case config_messages.IncrementalAlterConfigsRequest():
                return self._alter_configs(broker, request)
            case _:
                raise AssertionError(f"nobody taught this cluster {type(request).__name__}")

    def _metadata(self, request: Any) -> Any:
        names = sorted(self.topics) if request.topics is None else [t.name for t in request.topics]
        return metadata_messages.MetadataResponse(
            throttle_time_ms=0,
            brokers=[
                metadata_messages.MetadataResponseBroker(
                    node_id=broker, host="127.0.0.1", port=port, rack=self.racks[broker]
                )
                for broker, port in self.ports.items()
            ],
            controller_id=self.controller_id,
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> Any:
        found = self.topics.get(name)
        code = ErrorCode.NONE if found else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return metadata_messages.MetadataResponseTopic(
            error_code=code,
            name=name,
            topic_id=found.topic_id if found else ZERO_UUID,
            is_internal=False,
            partitions=[
                metadata_messages.MetadataResponsePartition(
                    error_code=0,
                    partition_index=each.partition,
                    leader_id=each.leader,
                    leader_epoch=each.leader_epoch,
                    replica_nodes=each.replicas,
                    isr_nodes=each.isr,
                    offline_replicas=[],
                )
                for each in (found.partitions if found else ())
            ],
        )

    def _under_way(self, broker: int, request: Any) -> Any:
        wanted = None
        if request.topics is not None:
            wanted = [(t.name, number) for t in request.topics for number in t.partition_indexes]
        is_elsewhere = broker != self.controller_id
        return reassignment_messages.ListPartitionReassignmentsResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NOT_CONTROLLER if is_elsewhere else 0,
            error_message=None,
            topics=[
                reassignment_messages.OngoingTopicReassignment(
                    name=partition.topic,
                    partitions=[
                        reassignment_messages.OngoingPartitionReassignment(
                            partition_index=partition.partition,
                            replicas=each.replicas,
                            adding_replicas=each.adding,
                            removing_replicas=each.removing,
                        )
                    ],
                )
                for partition, each in self.reassignments.items()
                if wanted is None or partition in wanted
            ],
        )

    def _reassign(self, request: Any) -> Any:
        orders = {
            TopicPartition(topic.name, each.partition_index): each.replicas
            for topic in request.topics
            for each in topic.partitions
        }
        self.reassign_orders.append(orders)
        return reassignment_messages.AlterPartitionReassignmentsResponse(
            throttle_time_ms=0,
            error_code=0,
            error_message=None,
            responses=[
                reassignment_messages.ReassignableTopicResponse(
                    name=partition.topic,
                    partitions=[
                        reassignment_messages.ReassignablePartitionResponse(
                            partition_index=partition.partition,
                            error_code=self.refusals.get(partition, ErrorCode.NONE),
                            error_message=None,
                        )
                    ],
                )
                for partition in orders
            ],
        )

    def _describe_log_dirs(self, broker: int) -> Any:
        return log_dir_messages.DescribeLogDirsResponse(
            throttle_time_ms=0,
            results=[
                log_dir_messages.DescribeLogDirsResult(
                    error_code=one.error_code,
                    log_dir=one.path,
                    topics=[
                        log_dir_messages.DescribeLogDirsTopic(
                            name=each.topic,
                            partitions=[
                                log_dir_messages.DescribeLogDirsPartition(
                                    partition_index=each.partition,
                                    partition_size=each.size_bytes,
                                    offset_lag=each.offset_lag,
                                    is_future_key=each.is_future,
                                )
                            ],
                        )
                        for each in one.replicas
                    ],
                )
                for one in self.log_dirs.get(broker, [])
            ],
        )

    def _move(self, broker: int, request: Any) -> Any:
        answers = self.move_answers.get(broker)
        code = answers.pop(0) if answers else ErrorCode.NONE
        for one in request.dirs:
            names = [f"{topic.name}-{n}" for topic in one.topics for n in topic.partitions]
            self.move_orders.append((broker, one.path, names))
        return log_dir_messages.AlterReplicaLogDirsResponse(
            throttle_time_ms=0,
            results=[
                log_dir_messages.AlterReplicaLogDirTopicResult(
                    topic_name=topic.name,
                    partitions=[
                        log_dir_messages.AlterReplicaLogDirPartitionResult(
                            partition_index=number, error_code=code
                        )
                        for number in topic.partitions
                    ],
                )
                for one in request.dirs
                for topic in one.topics
            ],
        )

    def _alter_configs(self, broker: int, request: Any) -> Any:
        for resource in request.resources:
            values = {config.name: config.value for config in resource.configs}
            self.config_orders.append((broker, resource.resource_name, values))
        return config_messages.IncrementalAlterConfigsResponse(
            throttle_time_ms=0,
            responses=[
                config_messages.AlterConfigsResourceResponse(
                    error_code=0,
                    error_message=None,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            ],
        )


class _Answers(dict[type, Any]):
    """Every request of a broker goes to its cluster."""

    def __init__(self, cluster: FakeCluster, broker: int) -> None:
        super().__init__()
        self._cluster = cluster
        self._broker = broker

    def get(self, _key: type, _default: Any = None, /) -> Any:
        return partial(self._cluster.reply, self._broker)


@contextmanager
def serving(cluster: FakeCluster) -> Generator[FakeCluster]:
    """Start the brokers named in ``racks``."""
    with ExitStack() as nodes:
        for broker in cluster.racks:
            cluster.ports[broker] = nodes.enter_context(fake_node(_Answers(cluster, broker)))
        yield cluster
