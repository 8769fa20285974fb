"""The fetch loop of one source broker: all partitions that this broker follows there.

One connection and one session for fetches, one connection for questions about epochs. A partition
that cannot go on is left out, never spun on; the others go on. It writes no log: see `followed`.
Source: AbstractFetcherThread.scala, ReplicaFetcherThread.scala, KIP-227, KIP-595.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from broker.core.follower_session import FollowerSession
from broker.core.leader_epochs import EpochEnd
from broker.core.log_dirs import LogDirFailed
from broker.engine.follow.followed import (
    FIRST_RETRY_MS,
    FetchedRecords,
    Followed,
    FollowedReplica,
    FollowState,
)
from broker.engine.follow.follower_request import FETCH_VERSION, FetchSettings, follower_request
from broker.engine.follow.follower_throttle import FollowerThrottle
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicIdPartition
from protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from protocol.ports import RpcPort

logger = logging.getLogger(__name__)

BUSY_GRACE_S: Final = 0.05
"""How long a round waits for its slowest disk before it goes on without that one."""
SHORT_WAIT_MS: Final = 50
"""The longest poll while a partition is about to come back into the fetch."""
_LEFT_OUT: Final = (FollowState.READY, FollowState.FAILED, FollowState.THROTTLED)
"""States that a poll does not have to end for before the throttle lets go."""
_LOST: Final = (ConnectionError, TimeoutError)


Connect = Callable[[], RpcPort | None]
"""A new client for the source's present address; None while that is unknown."""


class Fetcher:
    """Follows one source broker. ``run`` ends only by cancellation."""

    def __init__(
        self, source_id: int, settings: FetchSettings, connect: Connect, throttle: FollowerThrottle
    ) -> None:
        self.source_id = source_id
        self.settings = settings
        self.connect = connect
        self._throttle = throttle
        self._held: list[Followed] = []
        self._entries: dict[TopicIdPartition, Followed] = {}
        self._ready: dict[TopicIdPartition, Followed] = {}
        self._changed: dict[TopicIdPartition, None] = {}
        self._dropped: dict[TopicIdPartition, None] = {}
        self._told_again: dict[TopicIdPartition, None] = {}
        self._session: FollowerSession[TopicIdPartition] = FollowerSession()
        self._is_session_over = False
        self._client: RpcPort | None = None
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._round = 0
        self._busy_count = 0
        """Disks that this round waits for; those of earlier rounds had their time."""
        self._connect_delay_ms = FIRST_RETRY_MS
        self.unreconciled: dict[TopicIdPartition, Followed] = {}
        """For the reconciler: partitions to ask the leader about."""
        self.questions = asyncio.Event()
        """For the reconciler: set when ``unreconciled`` is not empty."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def failed_count(self) -> int:
        """Partitions set aside until the next LeaderAndIsr."""
        return sum(entry.state is FollowState.FAILED for entry in self._entries.values())

    @property
    def unsettled(self) -> list[TopicIdPartition]:
        """What is not, or not yet, fetched within a session, but for what is throttled."""
        is_incremental = self._session.is_incremental
        return [
            key
            for key, entry in self._entries.items()
            if not (is_incremental and entry.state is FollowState.READY)
            and entry.state is not FollowState.THROTTLED
        ]

    def follow(self, replica: FollowedReplica, leader_epoch: int) -> None:
        """Fetch ``replica`` from now on, as of ``leader_epoch``; also after every new epoch."""
        entry = Followed(replica, leader_epoch)
        self.unfollow(replica)
        self._entries[entry.key] = entry
        self._connect_delay_ms = FIRST_RETRY_MS
        self.ask(entry, FollowState.RECONCILING)

    def unfollow(self, replica: FollowedReplica) -> None:
        """Stop fetching ``replica``; unknown ones are no error."""
        entry = self._entries.pop((replica.topic_id, replica.tp.partition), None)
        if entry is not None:
            self._leave(entry, FollowState.FAILED)
            self.unreconciled.pop(entry.key, None)

    def begin_anew(self) -> None:
        """Begin another session: a log was lost, and what this one told of it is not told twice.

        Such as its high watermark. Kafka loads no log while a session lasts.
        """
        self._is_session_over = True

    def tell_again(self, replica: FollowedReplica) -> None:
        """Name ``replica`` in the next request, though nothing came for it: its log start rose.

        What the request under way brings of it still counts: a session tells a high watermark once.
        Source: FetchSessionHandler.Builder.build, which compares log start offsets, too.
        """
        self._told_again[replica.topic_id, replica.tp.partition] = None

    # States. Each change goes through one of these.

    def ask(self, entry: Followed, state: FollowState) -> None:
        """Have the reconciler ask the leader about ``entry``."""
        self._leave(entry, state)
        self.unreconciled[entry.key] = entry
        self.questions.set()

    def ready(self, entry: Followed) -> None:
        """Fetch ``entry`` in the next round."""
        entry.enter(FollowState.READY)
        key = entry.key
        self._ready[key] = entry
        self._changed[key] = None
        self._wanted.set()

    def busy(
        self, entry: Followed, work: asyncio.Future[Any] | None, then: Callable[[Followed], None]
    ) -> None:
        """Leave ``entry`` out until ``work`` ended, then do ``then`` with it."""
        if work is None:
            then(entry)
            return
        self._leave(entry, FollowState.BUSY)
        self._busy_count += 1
        self._settled.clear()
        work.add_done_callback(partial(self._worked, entry, entry.turn, self._round, then))

    def _worked(
        self,
        entry: Followed,
        turn: int,
        round_number: int,
        then: Callable[[Followed], None],
        work: asyncio.Future[Any],
    ) -> None:
        if round_number == self._round:
            self._busy_count -= 1
            if self._busy_count == 0:
                self._settled.set()
        error = None if work.cancelled() else work.exception()
        if entry.turn != turn:
            return
        if error is not None:
            self.fail(entry, error)
        else:
            then(entry)

    def delay(self, entry: Followed) -> None:
        """Leave ``entry`` out for a while, longer each time."""
        self._leave(entry, FollowState.DELAYED)
        delay_ms = entry.retry_ms
        entry.retry_ms = min(delay_ms * 2, self.settings.backoff_ms)
        loop = asyncio.get_running_loop()
        loop.call_later(delay_ms / 1000, self._retry, entry, entry.turn)

    def _retry(self, entry: Followed, turn: int) -> None:
        if entry.turn == turn:
            self.ask(entry, FollowState.RECONCILING)

    def fail(self, entry: Followed, reason: object) -> None:
        """Set ``entry`` aside until the next LeaderAndIsr."""
        self._leave(entry, FollowState.FAILED)
        logger.warning(
            "%s is no longer fetched from broker %d: %s", entry.replica.tp, self.source_id, reason
        )

    def _hold_back(self) -> None:
        """Leave throttled partitions out while the quota is used up."""
        max_bytes = self.settings.partition_max_bytes
        held, changed = self._throttle.divide(self._ready.values(), max_bytes)
        self._changed.update((entry.key, None) for entry in changed)
        for entry in held:
            self._leave(entry, FollowState.THROTTLED)
        if held and not self._held:
            wait_s = self._throttle.wait_ms(held) / 1000
            asyncio.get_running_loop().call_later(wait_s, self._let_go)
        self._held += held

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for entry in held:
            if entry.state is FollowState.THROTTLED:
                self.ready(entry)

    def refused(self, entry: Followed, code: int) -> None:
        """Act on an error of the leader for ``entry``."""
        if code == ErrorCode.FENCED_LEADER_EPOCH:
            # A newer LeaderAndIsr is on its way; until then every try would end the same.
            self.fail(entry, ErrorCode.FENCED_LEADER_EPOCH.name)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.ask(entry, FollowState.OUT_OF_RANGE)
        else:
            self.delay(entry)

    def _leave(self, entry: Followed, state: FollowState) -> None:
        key = entry.key
        if self._ready.pop(key, None) is not None:
            self._dropped[key] = None
        entry.enter(state)

    # The loop.

    async def run(self) -> None:
        """Fetch, one request at a time, for as long as there is something to fetch."""
        while True:
            self._hold_back()
            if not self._ready:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            response = await self._ask_once()
            if response is not None:
                self._take(response)
            await self._let_disks_work()

    def close(self) -> None:
        """Drop the fetch connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    async def _ask_once(self) -> FetchResponse | None:
        client = self._client or self.connect()
        if client is None:
            await self._back_off("its address is unknown")
            return None
        self._client = client
        request = self._next_request()
        try:
            response: FetchResponse = await client.request(
                request, FETCH_VERSION, timeout_ms=self.settings.timeout_ms
            )
        except _LOST as error:
            self.close()
            self._session.reset()
            await self._back_off(str(error))
            return None
        if not self._session.answered(response.error_code, response.session_id):
            await self._back_off(f"error {response.error_code}")
            return None
        self._connect_delay_ms = FIRST_RETRY_MS
        return response

    async def _back_off(self, reason: str) -> None:
        logger.debug("broker %d cannot be fetched from: %s", self.source_id, reason)
        delay_ms = self._connect_delay_ms
        self._connect_delay_ms = min(delay_ms * 2, self.settings.backoff_ms)
        await asyncio.sleep(delay_ms / 1000)

    def _next_request(self) -> FetchRequest:
        changed, self._changed = self._changed, {}
        changed.update(self._told_again)
        self._told_again.clear()
        dropped, self._dropped = self._dropped, {}
        if self._is_session_over:
            self._session.reset()
            self._is_session_over = False
        plan = self._session.next_request(self._ready, changed, dropped)
        return follower_request(self.settings, plan, self._ready, self._wait_ms())

    def _wait_ms(self) -> int:
        """Return how long the leader may wait: not past the return of a partition left out."""
        wait_ms = self.settings.max_wait_ms
        if len(self._ready) == len(self._entries):
            return wait_ms
        states = {entry.state: None for entry in self._entries.values()}
        if any(state not in _LEFT_OUT for state in states):
            return SHORT_WAIT_MS
        if FollowState.THROTTLED in states:
            return min(wait_ms, max(self._throttle.wait_ms(self._held), SHORT_WAIT_MS))
        return wait_ms

    def _take(self, response: FetchResponse) -> None:
        for topic in response.responses:
            topic_id = bytes(topic.topic_id)
            for data in topic.partitions:
                entry = self._ready.get((topic_id, data.partition_index))
                # Not ready any more: followed anew, or stopped, while the answer was on its way.
                if entry is not None and (topic_id, data.partition_index) not in self._changed:
                    self._take_partition(entry, data)

    def _take_partition(self, entry: Followed, data: PartitionData) -> None:
        if data.error_code != ErrorCode.NONE:
            self.refused(entry, data.error_code)
            return
        try:
            self._apply(entry, data)
        except LogDirFailed as error:
            self.fail(entry, error)
        except KafkaError as error:
            logger.warning("%s from broker %d: %s", entry.replica.tp, self.source_id, error)
            self.delay(entry)
        else:
            if data.diverging_epoch.end_offset < 0:
                entry.retry_ms = FIRST_RETRY_MS

    def _apply(self, entry: Followed, data: PartitionData) -> None:
        replica = entry.replica
        diverging = data.diverging_epoch
        if diverging.end_offset >= 0:
            self._reconcile(entry, EpochEnd(diverging.epoch, diverging.end_offset))
            return
        records = b"" if data.records is None else data.records
        assert not isinstance(records, tuple), "decoded records are one buffer"
        fetched = FetchedRecords(records, data.high_watermark, data.log_start_offset)
        if len(fetched.records) == 0:
            if replica.note_high_watermark(fetched):
                self._tell_log_start(entry)
        else:
            self.busy(entry, replica.append(fetched), self._tell_log_start)
        self._throttle.fetched(entry, len(fetched.records), data.high_watermark)

    def _reconcile(self, entry: Followed, end: EpochEnd) -> None:
        """Truncate, and go on at once, unless what a damaged leader serves diverges each time."""
        work, finished = entry.replica.reconcile(end)
        then = self.ready if finished else self._ask_again
        if end == entry.diverged_at:
            entry.retry_ms, then = self.settings.backoff_ms, self.delay
        entry.diverged_at = end
        self.busy(entry, work, then)

    def _tell_log_start(self, entry: Followed) -> None:
        """Fetch it again, which the leader may wait for, once the own log start is written down."""
        self.busy(entry, entry.replica.log_start_write, self.ready)

    def _ask_again(self, entry: Followed) -> None:
        self.ask(entry, FollowState.RECONCILING)

    async def _let_disks_work(self) -> None:
        """Wait for the writes of this round, but not long for a slow disk."""
        if self._busy_count == 0:
            return
        timer = asyncio.get_running_loop().call_later(BUSY_GRACE_S, self._settled.set)
        try:
            await self._settled.wait()
        finally:
            timer.cancel()
            self._round += 1
            self._busy_count = 0
