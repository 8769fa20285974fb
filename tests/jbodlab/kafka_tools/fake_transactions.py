"""Transactions in the memory of a fake cluster: one coordinator, producers of partitions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.producer_ids import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    ListTransactionsResponseTransactionState,
    TopicData,
    TransactionState,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster

COORDINATOR = 2


@dataclass
class FakeTransactions:
    """Broker 2 coordinates all, each id open for all its partitions, by a producer of its own."""

    open: dict[str, tuple[int, list[TopicPartition]]] = field(
        default_factory=dict[str, "tuple[int, list[TopicPartition]]"]
    )
    """Transactional id -> producer id, partitions."""
    producers: dict[TopicPartition, list[ProducerState]] = field(
        default_factory=dict[TopicPartition, "list[ProducerState]"]
    )
    aborted: list[tuple[int, TopicPartition, int]] = field(
        default_factory=list[tuple[int, TopicPartition, int]]
    )
    """The broker asked, the partition, the producer id."""
    refusals: list[ErrorCode] = field(default_factory=list[ErrorCode])
    """Of the next questions for a coordinator, and of the next markers."""
    fenced: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Transactional ids that began anew, with the timeout of their transactions."""
    fence_refusals: list[ErrorCode] = field(default_factory=list[ErrorCode])
    """Of the next ones that are to begin anew."""

    def offer(self, cluster: FakeCluster) -> None:
        for kind, reply in (
            (FindCoordinatorRequest, self._coordinator),
            (ListTransactionsRequest, self._list),
            (DescribeTransactionsRequest, self._describe),
            (DescribeProducersRequest, self._producers),
            (WriteTxnMarkersRequest, self._markers),
            (InitProducerIdRequest, self._fence),
        ):
            cluster.replies[kind] = reply

    def _refusal(self) -> ErrorCode:
        return self.refusals.pop(0) if self.refusals else ErrorCode.NONE

    def _coordinator(self, _broker: int, request: Any) -> Any:
        assert request.key_type == 1
        return FindCoordinatorResponse(
            error_code=self._refusal(), error_message=None, node_id=COORDINATOR, host="h", port=1
        )

    def _fence(self, broker: int, request: Any) -> Any:
        assert (broker, request.producer_id, request.producer_epoch) == (COORDINATOR, -1, -1)
        code = self.fence_refusals.pop(0) if self.fence_refusals else ErrorCode.NONE
        if code is ErrorCode.NONE:
            self.fenced.append((request.transactional_id, request.transaction_timeout_ms))
        return InitProducerIdResponse(error_code=code, producer_epoch=1)

    def _list(self, broker: int, request: Any) -> Any:
        wanted = set(request.producer_id_filters)
        pattern = request.transactional_id_pattern or ".*"
        if pattern == "(":
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        return ListTransactionsResponse(
            error_code=0,
            unknown_state_filters=[],
            transaction_states=[
                ListTransactionsResponseTransactionState(
                    transactional_id=name, producer_id=producer_id, transaction_state="Ongoing"
                )
                for name, (producer_id, _) in self.open.items()
                if broker == COORDINATOR
                and (not wanted or producer_id in wanted)
                and re.fullmatch(pattern, name)
            ],
        )

    def _describe(self, broker: int, request: Any) -> Any:
        assert broker == COORDINATOR
        (name,) = request.transactional_ids
        producer_id, tps = self.open.get(name, (-1, []))
        is_known = name in self.open
        state = TransactionState(
            error_code=ErrorCode.NONE if is_known else ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
            transactional_id=name,
            transaction_state="Ongoing",
            transaction_timeout_ms=60_000,
            transaction_start_time_ms=1_000,
            producer_id=producer_id,
            producer_epoch=0,
            topics=[TopicData(topic=tp.topic, partitions=[tp.partition]) for tp in tps],
        )
        return DescribeTransactionsResponse(transaction_states=[state])

    def _producers(self, _broker: int, request: Any) -> Any:
        return DescribeProducersResponse(
            topics=[
                TopicResponse(
                    name=topic.name,
                    partitions=[
                        PartitionResponse(
                            partition_index=index,
                            error_code=0,
                            active_producers=self.producers.get(
                                TopicPartition(topic.name, index), []
                            ),
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )

    def _markers(self, broker: int, request: Any) -> Any:
        (marker,) = request.markers
        (topic,) = marker.topics
        (index,) = topic.partition_indexes
        code = self._refusal()
        if code is ErrorCode.NONE:
            tp = TopicPartition(topic.name, index)
            self.aborted.append((broker, tp, marker.producer_id))
            self.producers[tp] = []
        row = WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
        topics = [WritableTxnMarkerTopicResult(name=topic.name, partitions=[row])]
        result = WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
        return WriteTxnMarkersResponse(markers=[result])
