"""Two brokers that take markers, and what sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from broker.coordinators.marker_channels import MarkerChannels, MarkerPorts
from broker.core.metadata_image import MetadataImage
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.shard import MarkersDue
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    FULL_METADATA,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.messages.transactions import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.deadlines import DEADLINE_S

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
Verdict = Callable[[int, TopicPartition], ErrorCode]


class Cluster:
    """Two brokers that answer markers as ``verdict`` says; what they were asked, in order."""

    def __init__(self) -> None:
        self.metadata = MetadataImage(broker_id=BrokerId(1))
        self.verdict: Verdict = lambda _broker, _tp: ErrorCode.NONE
        self.asked: list[tuple[int, int, int, bool, list[TopicPartition]]] = []
        self.requests: list[tuple[int, list[int]]] = []
        """The version of each request, and the producer ids in it."""
        self.down: set[int] = set()
        self.live: Sequence[int] = (1, 2)
        self.port_of_broker_1 = 1
        self.leaves_out: set[TopicPartition] = set()
        """Of which answers say nothing."""

    def tell(self, leaders: dict[TopicPartition, int], *, topic: str = "a") -> None:
        """Give this broker the whole metadata."""
        states = [
            UpdateMetadataPartitionState(
                partition_index=tp.partition,
                controller_epoch=1,
                leader=leader,
                leader_epoch=0,
                isr=[1, 2],
                zk_version=0,
                replicas=[1, 2],
                offline_replicas=[],
            )
            for tp, leader in leaders.items()
        ]
        topics = [
            UpdateMetadataTopicState(
                topic_name=topic, topic_id=bytes(range(16)), partition_states=states
            )
        ]
        self.metadata.update(
            UpdateMetadataRequest(
                controller_id=0,
                type=FULL_METADATA,
                controller_epoch=1,
                broker_epoch=1,
                topic_states=topics if leaders else [],
                live_brokers=[
                    UpdateMetadataBroker(
                        id=number,
                        endpoints=[
                            UpdateMetadataEndpoint(
                                port=self.port_of_broker_1 if number == 1 else number,
                                host="host",
                                listener="PLAINTEXT",
                                security_protocol=0,
                            )
                        ],
                    )
                    for number in self.live
                ],
            )
        )

    def connect(self, _host: str, port: int) -> Link:
        return Link(self, port)


class Link:
    def __init__(self, cluster: Cluster, broker: int) -> None:
        self.cluster, self.broker = cluster, broker
        self.is_closed = False

    async def request(
        self, message: WriteTxnMarkersRequest, version: int, *, timeout_ms: int | None = None
    ) -> WriteTxnMarkersResponse:
        del timeout_ms
        await asyncio.sleep(0)
        if self.broker in self.cluster.down:
            raise ConnectionError("refused")
        self.cluster.requests.append((version, [each.producer_id for each in message.markers]))
        results: list[WritableTxnMarkerResult] = []
        for marker in message.markers:
            tps = [
                TopicPartition(topic.name, index)
                for topic in marker.topics
                for index in topic.partition_indexes
            ]
            self.cluster.asked.append(
                (
                    self.broker,
                    marker.producer_id,
                    marker.coordinator_epoch,
                    marker.transaction_result,
                    tps,
                )
            )
            topics = [
                WritableTxnMarkerTopicResult(
                    name=tp.topic,
                    partitions=[
                        WritableTxnMarkerPartitionResult(
                            partition_index=tp.partition,
                            error_code=self.cluster.verdict(self.broker, tp),
                        )
                    ],
                )
                for tp in tps
                if tp not in self.cluster.leaves_out
            ]
            results.append(WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
        return WriteTxnMarkersResponse(markers=results)

    def close(self) -> None:
        self.is_closed = True


async def written(
    cluster: Cluster,
    *dues: MarkersDue,
    meanwhile: Callable[[], None] = lambda: None,
    resigned: Collection[MarkersDue] = (),
) -> None:
    """Have all markers written; ``meanwhile`` is called once after a while of trying.

    Those in ``resigned`` are nobody's any more, and not waited for.
    """
    ports = MarkerPorts(
        metadata=cluster.metadata,
        connect=cluster.connect,
        request_timeout_ms=lambda: 1_000,
        retry_ms=1,
    )
    channels = MarkerChannels(ports)
    done = [asyncio.get_running_loop().create_future() for _ in dues]
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
        channels.run(tasks)
        for due, future in zip(dues, done, strict=True):
            channels.send(
                MarkerProgress(due, 4),
                on_done=lambda future=future: future.set_result(None),
                is_wanted=lambda due=due: due not in resigned,
            )
        tried = len(cluster.asked)
        while not all(
            future.done() or due in resigned for due, future in zip(dues, done, strict=True)
        ):
            await asyncio.sleep(0.001)
            if len(cluster.asked) >= tried:
                meanwhile()
                meanwhile = lambda: None  # noqa: E731
        channels.stop()
        raise_cancelled(tasks)


def raise_cancelled(tasks: asyncio.TaskGroup) -> None:
    """End the channels, which run for as long as the broker does."""
    for task in tasks._tasks:
        task.cancel()


def due(
    producer_id: int, *partitions: TopicPartition, commits: bool = True, version: int = 0
) -> MarkersDue:
    return MarkersDue(f"id{producer_id}", producer_id, 0, commits, partitions, version)
