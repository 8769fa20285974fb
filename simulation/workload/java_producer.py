"""The Java producer in the second version of transactions (KIP-890), which no library here speaks.

What it asks is what the Java producer asks (``simulation.core.transaction_session``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from protocol.errors import RETRIABLE, ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.ports import WallClock
from protocol.records.build import NewRecord
from simulation.core.consumer_member import GroupMetadata
from simulation.core.history import Send
from simulation.core.payload import payload
from simulation.core.transaction_session import TransactionSession
from simulation.workload.backoff import Backoff
from simulation.workload.clients import ClusterClient
from simulation.workload.coordinator import TRANSACTION, Coordinator, code_in, first_code_in
from simulation.workload.partition_sender import Sent
from simulation.workload.producer import ProducerSettings
from simulation.workload.progress import Progress, code_of

TRANSACTION_TIMEOUT_MS: Final = 3_000
"""A coordinator aborts what is open for longer."""
_FENCED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)
"""Another one has the transactional id, or this one's is not known any more."""
_INITIALIZE_MS_MAX: Final = 10_000
_INIT_VERSION: Final = 5
_PRODUCE_VERSION: Final = 13
_OFFSETS_VERSION: Final = 5
_END_VERSION: Final = 5
_IS_THERE: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class JavaProducer:
    """One producer of one transactional id, which is its client's name.

    First ``initialize``, then for each transaction ``send`` and perhaps ``commit_offsets``, and
    ``end``; after an error of ``end`` ``initialize`` anew.
    """

    def __init__(
        self,
        client: ClusterClient,
        settings: ProducerSettings,
        clock: WallClock,
        progress: Progress,
    ) -> None:
        """``settings`` are of its records; ``progress`` counts what is answered but for success."""
        self._client = client
        self._settings = settings
        self._clock = clock
        self._progress = progress
        self._session = TransactionSession(client.client_id, timeout_ms=TRANSACTION_TIMEOUT_MS)
        self._coordinator = Coordinator(client, client.client_id, TRANSACTION, progress)
        self._topic_id = b""
        self.is_alone = True
        """Whether its coordinator answered all it was asked: nothing is under way still."""

    async def initialize(self) -> bool:
        """Get an id and an epoch, which ends what is open; False: not this time."""
        done = await self._coordinator.insist(
            self._session.initialize, _INIT_VERSION, code_in, for_ms=_INITIALIZE_MS_MAX
        )
        self.is_alone &= not done.may_be_done
        if done.code is ErrorCode.NONE:
            self._session.initialized(done.answer)
        return done.code is ErrorCode.NONE

    async def partitions(self) -> list[int]:
        """Return the partitions of its topic that are known."""
        if not self._topic_id:
            await self._look()
        return [tp.partition for tp in self._client.partitions(self._settings.topic)]

    async def send(self, sends: Sequence[Send]) -> tuple[Send, ...] | ErrorCode:
        """Send records, those of a partition one after the other, until each is acknowledged.

        Return why one of them is not in the transaction, if one is not.
        """
        of_partition: dict[TopicPartition, list[Send]] = {}
        for send in sends:
            of_partition.setdefault(send.tp, []).append(send)
        offsets: dict[int, int] = {}
        async with asyncio.TaskGroup() as group:
            lanes = [
                group.create_task(self._send_each(each, offsets)) for each in of_partition.values()
            ]
        for lane in lanes:
            if lane.result() is not ErrorCode.NONE:
                return lane.result()
        return tuple(send._replace(base_offset=offsets[send.records[0]]) for send in sends)

    async def commit_offsets(
        self,
        coordinator: Coordinator,
        member: GroupMetadata,
        offsets: Mapping[TopicPartition, int],
    ) -> ErrorCode:
        """Have the transaction commit offsets of a group, which ``coordinator`` has."""
        done = await coordinator.insist(
            lambda: self._session.commit_offsets(member, offsets),
            _OFFSETS_VERSION,
            first_code_in,
            for_ms=self._settings.delivery_timeout_ms,
        )
        return done.code

    async def end(self, *, is_committed: bool) -> ErrorCode | None:
        """Commit or abort; return why the producer is of no more use, None when it is."""
        done = await self._coordinator.insist(
            lambda: self._session.end(is_committed=is_committed),
            _END_VERSION,
            code_in,
            for_ms=self._settings.delivery_timeout_ms,
        )
        self.is_alone &= not done.may_be_done
        if done.code is not ErrorCode.NONE:
            return done.code
        self._session.ended(done.answer)
        return None

    async def give_up(self, code: ErrorCode) -> bool:
        """Abort a transaction that met ``code``; tell whether the producer may begin another."""
        return code not in _FENCED and await self.end(is_committed=False) is None

    async def _send_each(self, sends: Sequence[Send], offsets: dict[int, int]) -> ErrorCode:
        for send in sends:
            code, offsets[send.records[0]] = await self._send(send)
            if code is not ErrorCode.NONE:
                return code
        return ErrorCode.NONE

    async def _send(self, send: Send) -> Sent:
        """Send one record until it is acknowledged, or refused for good."""
        settings, tp = self._settings, send.tp
        value = payload(send.records[0], settings.record_bytes)
        record = NewRecord(value, timestamp_ms=self._clock.now_ms())
        numbers, backoff = self._session.number(tp, 1), Backoff(settings.retry_backoff_ms)
        end_s = asyncio.get_running_loop().time() + settings.delivery_timeout_ms / 1000
        while True:
            request = self._session.produce(
                self._topic_id,
                tp.partition,
                record,
                numbers,
                timeout_ms=self._client.request_timeout_ms,
            )
            sent = await self._attempt(tp, request)
            if sent.code in _IS_THERE:
                return sent._replace(code=ErrorCode.NONE)
            self._progress.count_error(sent.code.name)
            is_late = asyncio.get_running_loop().time() >= end_s
            if sent.code not in RETRIABLE or is_late:
                return sent
            await asyncio.sleep(backoff.next_ms() / 1000)
            await self._look()

    async def _attempt(self, tp: TopicPartition, request: Any) -> Sent:
        leader = self._client.leader(tp)
        if leader is None or leader.broker < 0:
            return Sent(ErrorCode.LEADER_NOT_AVAILABLE)
        try:
            answer = await self._client.ask(leader.broker, request, _PRODUCE_VERSION)
        except (OSError, Malformed) as error:
            return Sent(code_of(error))
        (row,) = answer.responses[0].partition_responses
        return Sent(ErrorCode(row.error_code), row.base_offset)

    async def _look(self) -> None:
        """Ask who leads."""
        try:
            view = await self._client.view([self._settings.topic])
        except (OSError, KafkaError) as error:
            self._progress.count_error(code_of(error).name)
        else:
            self._topic_id = view.topic_ids.get(self._settings.topic, self._topic_id)
