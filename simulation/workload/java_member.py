"""A member of a group of the consumer protocol (KIP-848), which no library here speaks.

What it tells its coordinator is the Java consumer's (``simulation.core.consumer_member``). It reads
what it is assigned, and commits; what it is assigned, reads and commits is in the history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from simulation.core.consumer_member import JOINING, ConsumerMember
from simulation.core.history import Assignment, Commit, Function, History, Read
from simulation.loop_time import loop_now_us
from simulation.workload.backoff import Backoff
from simulation.workload.clients import ClusterClient
from simulation.workload.consumer import ConsumerSettings, ConsumerWorkload, Position
from simulation.workload.coordinator import GROUP, Coordinator, code_in, first_code_in
from simulation.workload.pause import pause
from simulation.workload.progress import code_of

REBALANCE_TIMEOUT_MS: Final = 20_000
COMMIT_MS_MAX: Final = 10_000
"""A member that cannot commit for so long reads on, and commits later."""
_LOOK_MS: Final = 100
_HEARTBEAT_VERSION: Final = 1
_OFFSETS_VERSION: Final = 10


class JavaMemberWorkload(ConsumerWorkload):
    """One member, which leaves its group when it is stopped."""

    def __init__(
        self, member_id: str, client: ClusterClient, history: History, settings: ConsumerSettings
    ) -> None:
        super().__init__(client, history, settings)
        self._member = ConsumerMember(
            settings.group, member_id, [settings.topic], rebalance_timeout_ms=REBALANCE_TIMEOUT_MS
        )
        self._coordinator = Coordinator(client, settings.group, GROUP, self.progress)
        self._topic_id = b""
        self._unplaced: dict[TopicPartition, None] = {}
        """Assigned, and it is not known yet from where on."""
        self._epoch_before = JOINING
        """Its epoch before it was told what it is to read now."""
        self._asked_us = 0
        """When it asked what was answered with that."""
        self._is_new: dict[TopicPartition, None] = {}
        """What it was not assigned before, and has no offset of yet."""

    async def run(self) -> None:
        """Join, read what is assigned until stopped, and leave."""
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run(), name=f"read as {self._client.client_id}")
            group.create_task(self._place(), name=f"place {self._client.client_id}")
            await self._keep_alive()
        with suppress(OSError, Malformed, KafkaError):
            await self._coordinator.ask(self._member.leave(), _HEARTBEAT_VERSION, code_in)

    def _follow(self, partitions: Sequence[TopicPartition]) -> None:
        """Read what is assigned, whatever there is."""

    # Membership.

    async def _keep_alive(self) -> None:
        backoff = Backoff(self._settings.retry_backoff_ms)
        while not self._stopping.is_set():
            if not await self._beat():
                await pause(self._stopping, backoff.next_ms())
                continue
            backoff.reset()
            if self._member.is_settled or not await self._reconcile():
                await pause(self._stopping, self._member.heartbeat_interval_ms)

    async def _beat(self) -> bool:
        """Send a heartbeat; False without an answer that the member can go on with."""
        epoch, is_settled, asked_us = self._member.epoch, self._member.is_settled, loop_now_us()
        try:
            answer = await self._coordinator.ask(
                self._member.heartbeat(), _HEARTBEAT_VERSION, lambda _: ErrorCode.NONE
            )
        except (OSError, Malformed, KafkaError) as error:
            self._member.not_answered()
            self.progress.count_error(code_of(error).name)
            return False
        code = self._member.answered(answer)
        if code is not ErrorCode.NONE:
            self.progress.count_error(code.name)
            self._coordinator.heed(code)
            if not self._member.owned:
                self.positions.clear()
                self._unplaced.clear()
            return False
        if not self._member.is_settled:
            self._asked_us = asked_us
            self._epoch_before = epoch if is_settled else min(epoch, self._epoch_before)
        elif self._member.epoch != epoch:
            self._asked_us = asked_us
            self._write_down()
        return True

    async def _reconcile(self) -> bool:
        """Read what is to be read and nothing else; False while its topic is not known."""
        target = self._member.target
        if any(topic_id != self._topic_id for topic_id, _ in target):
            with suppress(OSError):
                view = await self._client.view([self.topic])
                self._topic_id = view.topic_ids.get(self.topic, self._topic_id)
            if any(topic_id != self._topic_id for topic_id, _ in target):
                return False
        async with self._turn:
            wanted = [TopicPartition(self.topic, partition) for _, partition in target]
            owned = [TopicPartition(self.topic, partition) for _, partition in self._member.owned]
            self._is_new = dict.fromkeys(tp for tp in wanted if tp not in owned)
            for tp in [tp for tp in self.positions if tp not in wanted]:
                del self.positions[tp]
            self._unplaced = dict.fromkeys(tp for tp in wanted if tp not in self.positions)
            self._member.reconciled()
            self._write_down()
        return True

    def _write_down(self) -> None:
        owned = tuple(TopicPartition(self.topic, partition) for _, partition in self._member.owned)
        placed = tuple(tp for tp in owned if tp in self.positions)
        told = Assignment(self.group, self._member.epoch, owned, self._asked_us, placed)
        with self._history.begin(self._client.client_id, Function.ASSIGN, told) as assigning:
            assigning.ok(told)

    # Offsets.

    async def _place(self) -> None:
        """Find out from where on what is assigned is to be read."""
        while not self._stopping.is_set():
            if self._unplaced:
                try:
                    await self._fetch_offsets(list(self._unplaced))
                except (OSError, Malformed, KafkaError) as error:
                    self.progress.count_error(code_of(error).name)
            await pause(self._stopping, _LOOK_MS)

    async def _fetch_offsets(self, wanted: Sequence[TopicPartition]) -> None:
        topic = OffsetFetchRequestTopics(
            topic_id=self._topic_id, partition_indexes=[tp.partition for tp in wanted]
        )
        group = OffsetFetchRequestGroup(
            group_id=self.group,
            member_id=self._member.member_id,
            member_epoch=self._member.epoch,
            topics=[topic],
        )
        request = OffsetFetchRequest(groups=[group], require_stable=True)
        answer = await self._coordinator.ask(
            request, _OFFSETS_VERSION, lambda answer: answer.groups[0].error_code
        )
        for row in answer.groups[0].topics[0].partitions:
            tp = TopicPartition(self.topic, row.partition_index)
            if row.error_code != ErrorCode.NONE:
                self.progress.count_error(ErrorCode(row.error_code).name)
            elif tp in self._unplaced:
                del self._unplaced[tp]
                offset = max(row.committed_offset, 0)
                self.positions[tp] = Position(tp, offset, row.committed_leader_epoch)
                if tp in self._is_new:
                    del self._is_new[tp]
                    await self._commit_late(tp, offset)

    async def _commit_late(self, tp: TopicPartition, offset: int) -> None:
        """Commit under an epoch in which somebody else had the partition, as a late client might.

        Nobody took the partition in an epoch before the one that the member knew until then.
        """
        epoch = max(self._epoch_before - 1, JOINING)
        commit = Commit(self.group, ((tp, offset),), is_late=True)
        with self._history.begin(self._client.client_id, Function.COMMIT, commit) as committing:
            request = self._commit_request(commit.offsets, [NO_EPOCH], epoch)
            try:
                await self._coordinator.ask(request, _OFFSETS_VERSION, first_code_in)
            except (OSError, Malformed, KafkaError) as error:
                committing.fail(code_of(error).name)
            else:
                committing.ok(commit)

    async def _after_read(self, reads: Sequence[Read]) -> None:
        """Commit what was read; somebody else may have the partitions by now."""
        if not reads:
            return
        offsets = tuple((read.tp, read.records[-1][0] + 1) for read in reads)
        epochs = [self.positions[tp].epoch for tp, _ in offsets]
        commit = Commit(self.group, offsets)
        with self._history.begin(self._client.client_id, Function.COMMIT, commit) as committing:
            done = await self._coordinator.insist(
                lambda: self._commit_request(offsets, epochs),
                _OFFSETS_VERSION,
                first_code_in,
                for_ms=COMMIT_MS_MAX,
                retried=[ErrorCode.STALE_MEMBER_EPOCH],
            )
            if done.code is ErrorCode.NONE:
                committing.ok(commit)
            elif done.may_be_done:
                committing.unknown(done.code.name)
            else:
                committing.fail(done.code.name)

    def _commit_request(
        self,
        offsets: Sequence[tuple[TopicPartition, int]],
        epochs: Sequence[int],
        member_epoch: int | None = None,
    ) -> OffsetCommitRequest:
        """Make one; ``member_epoch`` is the member's own where nothing else is said."""
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=tp.partition,
                committed_offset=offset,
                committed_leader_epoch=epoch,
                committed_metadata="",
            )
            for (tp, offset), epoch in zip(offsets, epochs, strict=True)
        ]
        return OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=(
                self._member.epoch if member_epoch is None else member_epoch
            ),
            member_id=self._member.member_id,
            topics=[OffsetCommitRequestTopic(topic_id=self._topic_id, partitions=partitions)],
        )
