"""Tells the controller about wanted Isr changes: AlterPartition, one request in flight per broker.

It decides nothing about membership: `broker.core.isr` does. Source: AlterPartitionManager.scala,
KIP-497.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

from broker.core.isr import IsrAnswer
from broker.core.partition import Partition
from broker.metric_types import Counter
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, BrokerId, TopicIdPartition, TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    BrokerState,
    PartitionData,
    TopicData,
)

logger = logging.getLogger(__name__)

RETRY_S: Final = 0.05


class LedReplica(Protocol):
    """A replica led here, as this module needs it."""

    @property
    def tp(self) -> TopicPartition: ...  # noqa: D102
    @property
    def topic_id(self) -> bytes: ...  # noqa: D102
    @property
    def partition(self) -> Partition: ...  # noqa: D102

    def on_high_watermark(self) -> None:
        """The high watermark rose."""
        ...

    def on_log_start(self) -> None:
        """The smallest log start offset may have risen."""
        ...


class ReporterPorts(NamedTuple):
    """What the reporter needs of the engine."""

    broker_id: int
    broker_epoch: Callable[[], int]
    send: Callable[[AlterPartitionRequest], Awaitable[AlterPartitionResponse]]
    """May raise ConnectionError or TimeoutError."""
    isr_changed: Callable[[TopicPartition, list[int], list[int]], None]
    now_ms: Callable[[], int]
    lag_time_max_ms: Callable[[], int]
    refused_count: Counter
    """Changes of single partitions that the controller did not accept, those asked again too."""


class _Sent(NamedTuple):
    replica: LedReplica
    leader_epoch: int


class IsrReporter:
    """Sends what partitions propose, until the controller has answered it."""

    def __init__(self, ports: ReporterPorts) -> None:
        self._ports = ports
        self._wanted: dict[TopicIdPartition, LedReplica] = {}
        self._wake = asyncio.Event()
        self._complaint = ""
        """Why the last request as a whole failed; said once, not at every retry."""

    def propose(self, replica: LedReplica) -> None:
        """Report the change that ``replica.partition`` proposes."""
        self._wanted[replica.topic_id, replica.tp.partition] = replica
        self._wake.set()

    async def run(self) -> None:
        """Send proposals as they come; ends only by cancellation."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not await self._report():
                await asyncio.sleep(RETRY_S)
                self._wake.set()

    async def _report(self) -> bool:
        """Send everything once; False when something has to be sent again."""
        sent = {
            key: _Sent(replica, replica.partition.leader_epoch)
            for key, replica in self._wanted.items()
            if replica.partition.is_leader and replica.partition.isr.proposed is not None
        }
        self._wanted.clear()
        if not sent:
            return True
        try:
            response = await self._ports.send(self._request(sent))
        except (ConnectionError, TimeoutError) as error:
            self._log_refusal(f"the controller did not answer: {error}")
            return self._again(sent)
        if response.error_code != ErrorCode.NONE:
            self._log_refusal(ErrorCode(response.error_code).name)
            return self._again(sent)
        self._complaint = ""
        for topic in response.topics:
            for answer in topic.partitions:
                found = sent.pop((bytes(topic.topic_id), answer.partition_index), None)
                if found is not None and not self._take(found, answer):
                    self._wanted[bytes(topic.topic_id), answer.partition_index] = found.replica
        return self._again(sent) and not self._wanted

    def _log_refusal(self, complaint: str) -> None:
        if complaint != self._complaint:
            logger.info("AlterPartition is repeated every %d ms: %s", RETRY_S * 1000, complaint)
        self._complaint = complaint

    def _again(self, unanswered: dict[TopicIdPartition, _Sent]) -> bool:
        for key, sent in unanswered.items():
            self._wanted.setdefault(key, sent.replica)
        return not unanswered

    def _request(self, sent: dict[TopicIdPartition, _Sent]) -> AlterPartitionRequest:
        topics: dict[bytes, list[PartitionData]] = {}
        own = BrokerId(self._ports.broker_id)
        for (topic_id, index), (replica, leader_epoch) in sent.items():
            isr = replica.partition.isr
            lives = {own: self._ports.broker_epoch(), **replica.partition.proposed_lives}
            assert isr.proposed is not None, f"{replica.tp} proposes nothing"
            topics.setdefault(topic_id, []).append(
                PartitionData(
                    partition_index=index,
                    leader_epoch=leader_epoch,
                    leader_recovery_state=0,
                    new_isr=(),
                    new_isr_with_epochs=[
                        BrokerState(broker_id=member, broker_epoch=lives.get(member, NO_EPOCH))
                        for member in isr.proposed
                    ],
                    partition_epoch=isr.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._ports.broker_id,
            broker_epoch=self._ports.broker_epoch(),
            topics=[
                TopicData(topic_name="", topic_id=topic_id, partitions=rows)
                for topic_id, rows in topics.items()
            ],
        )

    def _take(self, sent: _Sent, answer: AlterPartitionResponsePartitionData) -> bool:
        """Apply the answer for one partition; False when it has to be asked again."""
        partition = sent.replica.partition
        if partition.leader_epoch != sent.leader_epoch or not partition.is_leader:
            return True  # A LeaderAndIsr came meanwhile and brought its own Isr.
        if answer.error_code != ErrorCode.NONE:
            code = ErrorCode(answer.error_code)
            self._ports.refused_count.add()
            logger.info("%s: Isr change refused: %s", sent.replica.tp, code.name)
            return partition.isr_refused(code) is not IsrAnswer.RETRY
        before = list[int](partition.isr.isr)
        outcome, rose = partition.isr_accepted(
            isr=answer.isr,
            leader_epoch=answer.leader_epoch,
            partition_epoch=answer.partition_epoch,
            now_ms=self._ports.now_ms(),
            lag_time_max_ms=self._ports.lag_time_max_ms(),
        )
        if outcome is IsrAnswer.COMMITTED:
            sent.replica.on_log_start()
            self._ports.isr_changed(sent.replica.tp, before, list(answer.isr))
        if rose:
            sent.replica.on_high_watermark()
        return True
