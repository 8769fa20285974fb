"""Keeps what brokers tell clients of topics: which there are, and which there are not.

One per run; its clients hand it every answer. It judges nothing.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from protocol.messages.produce import ProduceResponse
from simulation.core.samples import Denial, ToldPartition, TopicView
from simulation.loop_time import loop_now_us, loop_us

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class TopicAnswers:
    """All of one run, in the order in which they arrived."""

    def __init__(self) -> None:
        self.views: list[TopicView] = []
        self.denials: list[Denial] = []

    def take(self, broker: int, asked_s: float, request: Any, answer: Any) -> None:
        """Look at an answer of any kind; ``asked_s`` is when it was asked for, in loop time."""
        match answer:
            case MetadataResponse():
                self._take_metadata(broker, asked_s, request, answer)
            case ProduceResponse():
                for topic in answer.responses:
                    for part in topic.partition_responses:
                        if part.error_code == _UNKNOWN:
                            self._deny(broker, asked_s, TopicPartition(topic.name, part.index))
            case FetchResponse():
                for topic in answer.responses:
                    for part in topic.partitions:
                        if part.error_code == _UNKNOWN:
                            tp = TopicPartition(topic.topic, part.partition_index)
                            self._deny(broker, asked_s, tp)
            case _:
                return

    def _take_metadata(
        self, broker: int, asked_s: float, request: MetadataRequest, answer: MetadataResponse
    ) -> None:
        asked = request.topics
        self.views.append(
            TopicView(
                loop_us(asked_s),
                loop_now_us(),
                broker,
                None if asked is None else tuple(each.name for each in asked if each.name),
                {
                    each.name: len(each.partitions)
                    for each in answer.topics
                    if each.name is not None and each.error_code != _UNKNOWN
                },
                {
                    TopicPartition(topic.name, each.partition_index): ToldPartition(
                        each.leader_id,
                        each.leader_epoch,
                        tuple(each.isr_nodes),
                        tuple(each.offline_replicas),
                    )
                    for topic in answer.topics
                    if topic.name is not None
                    for each in topic.partitions
                },
            )
        )

    def _deny(self, broker: int, asked_s: float, tp: TopicPartition) -> None:
        self.denials.append(Denial(loop_us(asked_s), loop_now_us(), broker, tp))
