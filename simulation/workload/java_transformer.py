"""Consume, transform, produce, by members of a group of the consumer protocol (KIP-848).

Each writes in transactions of the second version (KIP-890), which hold the results of what one
answer brought and the group's offsets behind it, and name the member and its epoch: so several
members share a topic, and each record is processed exactly once (KIP-447). How much it has made it
notes as an offset of where results go, which nobody reads: in the transactions, at times beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from protocol.admin.groups import COMMIT_BY_NAME_VERSION_MAX
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.ports import WallClock
from simulation.core.history import Function, History, Read, Send, Txn
from simulation.workload.backoff import Backoff
from simulation.workload.clients import ClusterClient
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.coordinator import first_code_in
from simulation.workload.java_member import JavaMemberWorkload
from simulation.workload.java_producer import JavaProducer
from simulation.workload.pause import pause
from simulation.workload.producer import ProducerSettings, sends_in_turn

_NOTES_AT_ONCE_EVERY: Final = 3
"""Of so many transactions one has an offset committed beside it: that is the later one."""
_HESITATES_MS: Final = 300
"""How long before it aborts: its coordinators may be others by then."""


class JavaTransformSettings(NamedTuple):
    """What is read, as a member of which group, and where the results go."""

    reading: ConsumerSettings
    """Committed records."""
    writing: ProducerSettings
    aborts_every: int = 0
    """Of so many transactions the last is aborted, and what it read is read again; 0: none is.

    The abort comes a while after the offsets.
    """


class JavaTransformWorkload(JavaMemberWorkload):
    """One transformer; its client's name is its transactional id."""

    def __init__(
        self,
        number: int,
        client: ClusterClient,
        history: History,
        settings: JavaTransformSettings,
        clock: WallClock,
    ) -> None:
        """Prepare.

        Args:
            number: the workload's own in the run, from which its records' numbers come.
            client: of its own.
            history: where it writes down what it does.
            settings: what it reads, and where the results go.
            clock: stamps the records.
        """
        reading, writing = settings.reading, settings.writing
        super().__init__(f"{client.client_id}-{number}", client, history, reading)
        self._workload_number = number
        self._writing = writing
        self._aborts_every = settings.aborts_every
        self._made = self._begun = 0
        self._producer = JavaProducer(client, writing, clock, self.progress)
        self._has_id = False
        self._worked_off: dict[TopicPartition, int] = {}

    @property
    def reached(self) -> Mapping[TopicPartition, int]:
        """How far each partition is worked off: results and offsets are committed."""
        return self._worked_off

    async def _after_read(self, reads: Sequence[Read]) -> None:
        """Write the results of what was read, and commit both; what is not is read again."""
        if reads and not await self._transform(tuple(reads)):
            self.read_again([read.tp for read in reads])
        self._worked_off |= super().reached

    async def _transform(self, reads: tuple[Read, ...]) -> bool:
        """Tell whether it is certain that all of it is done."""
        if not await self._may_write():
            return False
        count = sum(len(read.records) for read in reads)
        made = range(self._made, self._made + count)
        self._made = made.stop
        partitions = await self._producer.partitions()
        sends = sends_in_turn(self._workload_number, made, self._writing.topic, partitions)
        client_id, is_alone = self._client.client_id, self._producer.is_alone
        txn = Txn(client_id, sends, reads, self.group, is_alone=is_alone)
        with self._history.begin(client_id, Function.TXN, txn) as ending:
            sent = await self._written(sends, reads)
            if isinstance(sent, ErrorCode):
                self._has_id = await self._producer.give_up(sent)
                ending.fail(sent.name)
                return False
            self._begun += 1
            is_aborted = bool(self._aborts_every) and self._begun % self._aborts_every == 0
            if is_aborted:
                await pause(self._stopping, _HESITATES_MS)
            error = await self._producer.end(is_committed=not is_aborted)
            self._has_id = error is None
            if is_aborted:
                ending.fail("aborted")
                return False
            if error is not None:
                ending.unknown(error.name)
                return False
            ending.ok(txn._replace(sends=sent))
            self.progress.acknowledged += len(sends)
        return True

    async def _may_write(self) -> bool:
        """Have a producer id, whose former transactions are over, and know where results go."""
        backoff = Backoff(self._writing.retry_backoff_ms)
        while not self._stopping.is_set():
            self._has_id = self._has_id or await self._producer.initialize()
            if self._has_id and await self._producer.partitions():
                return True
            await pause(self._stopping, backoff.next_ms())
        return False

    async def _written(
        self, sends: Sequence[Send], reads: Sequence[Read]
    ) -> tuple[Send, ...] | ErrorCode:
        """Return what is in the transaction, or why something is not."""
        sent = await self._producer.send(sends)
        if isinstance(sent, ErrorCode):
            return sent
        if not all(read.tp in self.positions for read in reads):
            return ErrorCode.UNKNOWN_MEMBER_ID  # It was fenced meanwhile: they are somebody else's.
        offsets = {read.tp: read.records[-1][0] + 1 for read in reads}
        note = TopicPartition(self._writing.topic, 0)
        member = self._member.metadata
        code = await self._producer.commit_offsets(
            self._coordinator, member, {**offsets, note: self._made}
        )
        if code is ErrorCode.NONE and self._begun % _NOTES_AT_ONCE_EVERY == 0:
            await self._note_at_once(note)
        return sent if code is ErrorCode.NONE else code

    async def _note_at_once(self, note: TopicPartition) -> None:
        """Commit beside the open transaction, which has an offset of that partition, too."""
        member = self._member.metadata
        row = OffsetCommitRequestPartition(
            partition_index=note.partition, committed_offset=self._made, committed_metadata=""
        )
        request = OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=member.member_epoch,
            member_id=member.member_id,
            topics=[OffsetCommitRequestTopic(name=note.topic, partitions=[row])],
        )
        with suppress(OSError, Malformed, KafkaError):
            await self._coordinator.ask(request, COMMIT_BY_NAME_VERSION_MAX, first_code_in)

    def read_again(self, partitions: Sequence[TopicPartition]) -> None:
        """Go on from where the group has committed; what was fetched meanwhile is not taken."""
        for tp in partitions:
            if self.positions.pop(tp, None) is not None:
                self._unplaced[tp] = None
        self._write_down()
