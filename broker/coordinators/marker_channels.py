"""Writes the markers of ended transactions: one request at a time to each broker, until all are in.

Partitions are asked of whoever leads them then; those of deleted topics need none.
Source: TransactionMarkerChannelManager.scala.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from broker.coordinators.broker_channels import BrokerChannels, ChannelPorts, ChannelWork
from broker.core.transaction_state.marker_progress import MarkerFate, MarkerProgress
from broker.engine.types import RpcPort
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

WRITE_TXN_MARKERS_VERSION: Final = 2
"""It says by which protocol a transaction ended, so that a late marker is known as such."""
WITHOUT_PROTOCOL_VERSION: Final = 1
"""What brokers of Apache Kafka 3.9 know; enough where all transactions ended by an older one."""
_ENDS_RAISE_EPOCHS: Final = 2
"""The level of transaction.version from which on a marker's version matters."""
MARKERS_OF_A_REQUEST_MAX: Final = 500
logger = logging.getLogger(__name__)


class _Part(NamedTuple):
    """One marker for one partition."""

    progress: MarkerProgress
    tp: TopicPartition


class _Sending(NamedTuple):
    """Who wants the markers of one transaction."""

    on_done: Callable[[], None]
    is_wanted: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerPorts(ChannelPorts):
    """What the channels need."""

    retry_ms: int = 100
    """Until a marker that did not get through is sent again."""


class MarkerChannels:
    """All markers of one coordinator that are under way. ``run`` it once."""

    def __init__(self, ports: MarkerPorts) -> None:
        self._ports = ports
        self._channels = BrokerChannels(
            ports,
            ChannelWork(
                name="transaction markers",
                new_queue=deque[_Part],
                take=self._taken,
                ask=self._ask,
            ),
        )
        self._sendings: dict[MarkerProgress, _Sending] = {}

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Send by ``tasks`` from now on."""
        self._channels.run(tasks)

    def stop(self) -> None:
        """Send no more: the broker ends. Whoever loads the log goes on."""
        self._channels.stop()
        for progress in self._sendings:
            progress.is_over = True
        self._sendings.clear()

    def send(
        self,
        progress: MarkerProgress,
        *,
        on_done: Callable[[], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Write all markers of ``progress``, then call ``on_done`` once; never when it is over.

        ``is_wanted`` tells whether this coordinator still has the transaction; what it does not
        have any more is left to whoever loads the log.
        """
        self._sendings[progress] = _Sending(on_done, is_wanted)
        for tp in list(progress.left):
            self._route(_Part(progress, tp))
        self._look(progress)

    def _look(self, progress: MarkerProgress) -> None:
        if not self._is_over(progress) and progress.is_done:
            sending = self._sendings.pop(progress, None)
            if sending is not None:
                sending.on_done()

    def _is_over(self, progress: MarkerProgress) -> bool:
        sending = self._sendings.get(progress)
        if sending is not None and not sending.is_wanted():
            progress.is_over = True
        if progress.is_over:
            self._sendings.pop(progress, None)
        return progress.is_over

    def _route(self, part: _Part) -> None:
        """Hand a marker to the channel of whoever leads its partition; wait while nobody does."""
        metadata, progress = self._ports.metadata, part.progress
        if self._is_over(progress) or not self._channels.is_running:
            return
        if not metadata.has_topic(part.tp.topic):
            progress.forget([part.tp])
            self._look(progress)
        elif metadata.live_broker(leader := metadata.leader_of(part.tp)[0]) is None:
            self._route_later(part)
        else:
            self._channels.wake(leader).append(part)

    def _route_later(self, part: _Part) -> None:
        delay_s = self._ports.retry_ms / 1000
        asyncio.get_running_loop().call_later(delay_s, self._route, part)

    def _taken(self, parts: deque[_Part]) -> list[_Part]:
        """Take what fits into one request; a producer is in it once, as answers go by its id."""
        taken: list[_Part] = []
        owners: dict[int, MarkerProgress] = {}
        left: list[_Part] = []
        while parts and len(taken) < MARKERS_OF_A_REQUEST_MAX:
            part = parts.popleft()
            if self._is_over(part.progress):
                continue
            owner = owners.setdefault(part.progress.due.producer_id, part.progress)
            (taken if owner is part.progress else left).append(part)
        parts.extendleft(reversed(left))
        return taken

    async def _ask(self, client: RpcPort | None, parts: Sequence[_Part]) -> None:
        """Send one request and take in what it brings; whatever fails, no marker is forgotten."""
        again = parts
        try:
            if client is not None:
                request = _request(parts)
                response: WriteTxnMarkersResponse = await client.request(
                    request,
                    _version_of(request),
                    timeout_ms=self._ports.request_timeout_ms(),
                )
                again = self._taken_in(parts, response)
        except (ConnectionError, TimeoutError) as error:
            logger.info("transaction markers: %s", error)
        finally:
            for part in again:
                self._route_later(part)

    def _taken_in(self, parts: Sequence[_Part], response: WriteTxnMarkersResponse) -> list[_Part]:
        """Return those to be sent again; what an answer leaves out is among them."""
        codes: dict[tuple[int, TopicPartition], ErrorCode] = {}
        for marker in response.markers:
            for topic in marker.topics:
                for each in topic.partitions:
                    tp = TopicPartition(topic.name, each.partition_index)
                    codes[marker.producer_id, tp] = ErrorCode(each.error_code)
        again: list[_Part] = []
        for part in parts:
            producer_id = part.progress.due.producer_id
            code = codes.get((producer_id, part.tp), ErrorCode.UNKNOWN_SERVER_ERROR)
            fate = part.progress.answered(part.tp, code)
            if fate is MarkerFate.AGAIN:
                again.append(part)
            elif fate is MarkerFate.OVER:
                logger.warning(
                    "markers of %s, producer id %d epoch %d, are given up: %s says %s",
                    part.progress.due.transactional_id,
                    producer_id,
                    part.progress.due.producer_epoch,
                    part.tp,
                    code.name,
                )
            self._look(part.progress)
        return again


def _version_of(request: WriteTxnMarkersRequest) -> int:
    is_newer = any(marker.transaction_version >= _ENDS_RAISE_EPOCHS for marker in request.markers)
    return WRITE_TXN_MARKERS_VERSION if is_newer else WITHOUT_PROTOCOL_VERSION


def _request(parts: Iterable[_Part]) -> WriteTxnMarkersRequest:
    by_transaction: dict[MarkerProgress, list[TopicPartition]] = {}
    for progress, tp in parts:
        by_transaction.setdefault(progress, []).append(tp)
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=progress.due.producer_id,
                producer_epoch=progress.due.producer_epoch,
                transaction_result=progress.due.is_commit,
                transaction_version=progress.due.transaction_version,
                topics=[
                    WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
                    for name, indexes in numbers_by_topic(tps).items()
                ],
                coordinator_epoch=progress.coordinator_epoch,
            )
            for progress, tps in by_transaction.items()
        ]
    )
