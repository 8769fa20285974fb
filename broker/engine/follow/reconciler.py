"""Asks a source broker where leader epochs end, and has diverged logs truncated.

It works beside the fetch loop on a connection of its own. Its question also ends the fetch that
waits at the leader (see `broker.engine.serve.offsets`): partitions followed anew are fetched at
once and not only after the poll. Source: AbstractFetcherThread.scala, KIP-101, KIP-279.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from broker.core.leader_epochs import EpochEnd
from broker.core.log_dirs import LogDirFailed
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import FIRST_RETRY_MS, Followed, FollowState
from protocol.admin.offsets import (
    WantedEpoch,
    epoch_ends_request,
    list_offsets_request,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicIdPartition, TopicPartition
from protocol.messages.offsets import (
    EARLIEST,
    LATEST,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
)
from protocol.ports import RpcPort

logger = logging.getLogger(__name__)

EPOCH_VERSION: Final = 4
LIST_OFFSETS_VERSION: Final = 7


class Reconciler:
    """The second loop of one source broker. ``run`` ends only by cancellation."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._client: RpcPort | None = None
        self._delay_ms = FIRST_RETRY_MS

    async def run(self) -> None:
        """Answer the fetcher's questions as they come."""
        fetcher = self._fetcher
        while True:
            await fetcher.questions.wait()
            fetcher.questions.clear()
            entries = list(fetcher.unreconciled.values())
            fetcher.unreconciled.clear()
            entries = [entry for entry in entries if self._is_settled(entry)]
            if entries:
                await self._ask(entries)
            for entry in entries:
                if entry.state is FollowState.ASKED:  # The leader said nothing of it.
                    fetcher.delay(entry)

    def close(self) -> None:
        """Drop the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _is_settled(self, entry: Followed) -> bool:
        """Tell whether the log has its final end; else come back when its disk is done."""
        work = entry.replica.settle()
        if work is None:
            return True
        state = entry.state
        self._fetcher.busy(entry, work, lambda settled: self._fetcher.ask(settled, state))
        return False

    async def _ask(self, entries: Sequence[Followed]) -> None:
        epochs = [entry for entry in entries if entry.state is FollowState.RECONCILING]
        ranges = [entry for entry in entries if entry.state is FollowState.OUT_OF_RANGE]
        turns = {entry.key: entry.enter(FollowState.ASKED) for entry in entries}
        client = self._client or self._fetcher.connect()
        if client is None:
            return
        self._client = client
        try:
            if epochs:
                await self._ask_epochs(client, epochs, turns)
            if ranges:
                await self._ask_ranges(client, ranges, turns)
        except (ConnectionError, TimeoutError) as error:
            logger.debug("broker %d cannot be asked: %s", self._fetcher.source_id, error)
            self.close()

    async def _ask_epochs(
        self, client: RpcPort, entries: Sequence[Followed], turns: dict[TopicIdPartition, int]
    ) -> None:
        by_name = {entry.replica.tp: entry for entry in entries}
        response: OffsetForLeaderEpochResponse = await client.request(
            epoch_ends_request(
                {
                    entry.replica.tp: WantedEpoch(
                        entry.replica.position().last_fetched_epoch, entry.leader_epoch
                    )
                    for entry in entries
                },
                replica_id=self._fetcher.settings.broker_id,
            ),
            EPOCH_VERSION,
            timeout_ms=self._fetcher.settings.timeout_ms,
        )
        for topic in response.topics:
            for answer in topic.partitions:
                entry = by_name.get(TopicPartition(topic.topic, answer.partition))
                if entry is None or entry.turn != turns[entry.key]:
                    continue
                if answer.error_code == ErrorCode.FENCED_LEADER_EPOCH:
                    # It names topics without their ids: one that had this name may have fenced it.
                    self._fetcher.delay(entry)
                elif answer.error_code != ErrorCode.NONE:
                    self._fetcher.refused(entry, answer.error_code)
                else:
                    self._reconcile(entry, EpochEnd(answer.leader_epoch, answer.end_offset))

    def _reconcile(self, entry: Followed, answer: EpochEnd) -> None:
        fetcher = self._fetcher
        try:
            work, finished = entry.replica.reconcile(answer)
        except LogDirFailed as error:
            fetcher.fail(entry, error)
            return
        fetcher.busy(entry, work, fetcher.ready if finished else self._ask_again)

    def _ask_again(self, entry: Followed) -> None:
        self._fetcher.ask(entry, FollowState.RECONCILING)

    async def _ask_ranges(
        self, client: RpcPort, entries: Sequence[Followed], turns: dict[TopicIdPartition, int]
    ) -> None:
        latest = await self._list_offsets(client, entries, LATEST)
        earliest = await self._list_offsets(client, entries, EARLIEST)
        for entry in entries:
            if entry.turn != turns[entry.key]:
                continue
            tp = entry.replica.tp
            start, end = earliest.get(tp), latest.get(tp)
            if start is None or end is None:
                continue
            try:
                work = entry.replica.return_to_range(start, end)
            except LogDirFailed as error:
                self._fetcher.fail(entry, error)
                continue
            # Straight back, as in Kafka: a start that retention moves is gone after a while. But an
            # answer that changed nothing must not make a tight circle.
            self._fetcher.busy(
                entry, work, self._fetcher.delay if work is None else self._fetcher.ready
            )

    async def _list_offsets(
        self, client: RpcPort, entries: Sequence[Followed], timestamp: int
    ) -> dict[TopicPartition, int]:
        """Return the offsets of those that the leader has an answer for."""
        request = list_offsets_request(
            {entry.replica.tp: timestamp for entry in entries},
            current_epochs={entry.replica.tp: entry.leader_epoch for entry in entries},
            replica_id=self._fetcher.settings.broker_id,
        )
        response: ListOffsetsResponse = await client.request(
            request, LIST_OFFSETS_VERSION, timeout_ms=self._fetcher.settings.timeout_ms
        )
        return {
            TopicPartition(topic.name, answer.partition_index): answer.offset
            for topic in response.topics
            for answer in topic.partitions
            if answer.error_code == ErrorCode.NONE
        }
