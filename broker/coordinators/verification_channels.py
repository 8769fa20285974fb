"""Asks coordinators about transactions for the leaders of this broker.

A broker has one request at a time; what waits meanwhile goes into the next request.
Source: AddPartitionsToTxnManager.java.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from broker.coordinators.broker_channels import BrokerChannels, ChannelPorts, ChannelWork
from broker.core.coordination import partition_for
from broker.core.transaction_state.verifying import (
    VERIFICATIONS_VERSION,
    VerificationAsked,
    VerificationBatch,
    Verifying,
    verified_code,
)
from broker.engine.types import RpcPort
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.topic_names import TRANSACTION_STATE

Codes: TypeAlias = dict[TopicPartition, ErrorCode]
logger = logging.getLogger(__name__)


class VerificationChannels:
    """All questions of one broker that are under way. ``run`` it once."""

    def __init__(self, ports: ChannelPorts) -> None:
        self._ports = ports
        self._channels = BrokerChannels(
            ports,
            ChannelWork(
                name="transaction verifications",
                new_queue=VerificationBatch,
                take=VerificationBatch.take,
                ask=self._ask,
            ),
        )
        self._waiting: dict[VerificationAsked, asyncio.Future[Codes]] = {}

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Ask by ``tasks`` from now on."""
        self._channels.run(tasks)

    def stop(self) -> None:
        """Ask no more, and tell all that wait: the broker ends."""
        self._channels.stop()
        for answered in list(self._waiting.values()):
            if not answered.done():
                answered.set_result({})

    async def ask(self, asked: VerificationAsked) -> Codes:
        """Return a code for each partition that was asked for."""
        broker_id = self._coordinator_of(asked.transactional_id)
        if broker_id is None or not self._channels.is_running:
            return dict.fromkeys(asked.tps, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        answered: asyncio.Future[Codes] = asyncio.get_running_loop().create_future()
        self._waiting[asked] = answered
        try:
            refused = self._channels.wake(broker_id).add(asked)
            if refused is not None:
                self._answer(refused.asked, dict.fromkeys(refused.asked.tps, refused.code))
            codes = await answered
        finally:
            del self._waiting[asked]
        return {
            tp: verified_code(codes.get(tp, ErrorCode.NETWORK_EXCEPTION), asked.how)
            for tp in asked.tps
        }

    def _coordinator_of(self, transactional_id: str) -> int | None:
        metadata = self._ports.metadata
        topic = metadata.topic(TRANSACTION_STATE)
        if topic is None:
            return None
        index = partition_for(transactional_id, len(topic.partitions))
        leader, _ = metadata.leader_of(TopicPartition(TRANSACTION_STATE, index))
        return None if metadata.live_broker(leader) is None else leader

    async def _ask(self, client: RpcPort | None, asked: Sequence[VerificationAsked]) -> None:
        """Send one request and answer all that wait for it, whatever comes."""
        found: dict[str, Codes] = {}
        failed = ErrorCode.NETWORK_EXCEPTION
        try:
            if client is not None:
                response: AddPartitionsToTxnResponse = await client.request(
                    _request(asked),
                    VERIFICATIONS_VERSION,
                    timeout_ms=self._ports.request_timeout_ms(),
                )
                if response.error_code:
                    failed = ErrorCode(response.error_code)
                found = _codes(response)
        except (ConnectionError, TimeoutError) as error:
            logger.info("transaction verifications: %s", error)
        finally:
            for each in asked:
                none = dict.fromkeys(each.tps, failed)
                self._answer(each, found.get(each.transactional_id, none))

    def _answer(self, asked: VerificationAsked, codes: Codes) -> None:
        answered = self._waiting.get(asked)
        if answered is not None and not answered.done():
            answered.set_result(codes)


def _request(asked: Iterable[VerificationAsked]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                verify_only=each.how is not Verifying.ADDING,
                topics=[
                    AddPartitionsToTxnTopic(name=name, partitions=indexes)
                    for name, indexes in numbers_by_topic(each.tps).items()
                ],
            )
            for each in asked
        ]
    )


def _codes(response: AddPartitionsToTxnResponse) -> dict[str, Codes]:
    return {
        transaction.transactional_id: {
            TopicPartition(topic.name, row.partition_index): ErrorCode(row.partition_error_code)
            for topic in transaction.topic_results
            for row in topic.results_by_partition
        }
        for transaction in response.results_by_transaction
    }
