"""A source broker and a follower's log, as far as the fetch loops can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from broker.core.leader_epochs import EpochEnd
from broker.core.log_dirs import LogDirFailed
from broker.core.rebuild_throttle import RebuildThrottle
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import FetchedRecords, FetchPosition
from broker.engine.follow.follower_request import FetchSettings
from broker.engine.follow.follower_throttle import FollowerThrottle
from broker.engine.follow.reconciler import Reconciler
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.offsets import (
    EARLIEST,
    LATEST,
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from protocol.wire.fast import codec

TOPIC_ID = b"T" * 16
SETTINGS = FetchSettings(
    broker_id=2,
    broker_epoch=lambda: 7,
    max_wait_ms=500,
    min_bytes=1,
    response_max_bytes=1 << 20,
    partition_max_bytes=1 << 20,
    backoff_ms=1_000,
    timeout_ms=30_000,
)


def now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


class FakeReplica:
    """A log that is only a number."""

    def __init__(self, index: int = 0) -> None:
        self.tp = TopicPartition("orders", index)
        self.topic_id = TOPIC_ID
        self.is_throttled = False
        self.start = 0
        self.end = 0
        self.epoch = -1
        self.appended: list[bytes] = []
        self.answers: list[EpochEnd] = []
        self.high_watermarks: list[int] = []
        self.ranges: list[tuple[int, int]] = []
        self.work: asyncio.Future[Any] | None = None
        self.log_start_write: asyncio.Future[bool] | None = None
        self.unsettled: asyncio.Future[Any] | None = None
        self.finished = [True]
        self.error: Exception | None = None

    def position(self) -> FetchPosition:
        return FetchPosition(self.end, self.start, self.epoch)

    def settle(self) -> asyncio.Future[Any] | None:
        work, self.unsettled = self.unsettled, None
        return work

    def append(self, fetched: FetchedRecords) -> asyncio.Future[Any] | None:
        if self.error is not None:
            raise self.error
        self.appended.append(bytes(fetched.records))
        self.end += 1
        return self.work

    def note_high_watermark(self, fetched: FetchedRecords) -> bool:
        self.high_watermarks.append(fetched.high_watermark)
        rises, self.start = fetched.log_start_offset > self.start, fetched.log_start_offset
        return rises

    def reconcile(self, answer: EpochEnd) -> tuple[asyncio.Future[Any] | None, bool]:
        if isinstance(self.error, LogDirFailed):
            raise self.error
        self.answers.append(answer)
        return self.work, self.finished.pop(0) if len(self.finished) > 1 else self.finished[0]

    def return_to_range(self, leader_start: int, leader_end: int) -> asyncio.Future[Any] | None:
        if isinstance(self.error, LogDirFailed):
            raise self.error
        self.ranges.append((leader_start, leader_end))
        return self.work


@dataclass
class FakeLeader:
    """Answers from a script; without one, a poll waits its time and finds nothing."""

    fetches: list[tuple[float, FetchRequest]] = field(
        default_factory=list[tuple[float, FetchRequest]]
    )
    epoch_requests: list[OffsetForLeaderEpochRequest] = field(
        default_factory=list[OffsetForLeaderEpochRequest]
    )
    script: list[Callable[[FetchRequest], FetchResponse]] = field(
        default_factory=list[Callable[[FetchRequest], FetchResponse]]
    )
    on_fetch: Callable[[], None] = lambda: None
    epoch_code: int = ErrorCode.NONE
    unlisted: tuple[int, ...] = ()
    """Partitions of whose range it says nothing."""
    unlisted_timestamps: tuple[int, ...] = (EARLIEST, LATEST)
    """What of their range."""
    range_code: int = ErrorCode.NONE
    unanswered: tuple[int, ...] = ()
    """Partitions of whose epochs it says nothing."""
    range_requests: list[ListOffsetsRequest] = field(default_factory=list[ListOffsetsRequest])
    is_down: bool = False
    trouble: ConnectionError = field(default_factory=lambda: ConnectionError("down"))
    """What who asks gets while it ``is_down``."""
    is_unknown: bool = False
    """Whether nobody knows its address."""
    connects_s: list[float] = field(default_factory=list[float])
    """When somebody wanted a connection."""
    closed: int = 0

    @property
    def connects(self) -> int:
        return len(self.connects_s)

    def connect(self) -> FakeLeader | None:
        self.connects_s.append(asyncio.get_running_loop().time())
        return None if self.is_unknown else self

    def close(self) -> None:
        self.closed += 1

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        assert timeout_ms == SETTINGS.timeout_ms
        codec(cast("type[Any]", type(message)), version)  # There is such a version.
        await asyncio.sleep(0.001)
        if self.is_down:
            raise self.trouble
        if isinstance(message, FetchRequest):
            return await self._fetch(message)
        if isinstance(message, ListOffsetsRequest):
            self.range_requests.append(message)
            return self._list(message)
        self.epoch_requests.append(message)
        return self._epochs(message)

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        self.fetches.append((asyncio.get_running_loop().time(), request))
        self.on_fetch()
        if self.script:
            return self.script.pop(0)(request)
        await asyncio.sleep(request.max_wait_ms / 1000)
        return FetchResponse(session_id=5)

    def _epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        EpochEndOffset(
                            partition=asked.partition,
                            error_code=self.epoch_code,
                            leader_epoch=asked.leader_epoch,
                            end_offset=7,
                        )
                        for asked in topic.partitions
                        if asked.partition not in self.unanswered
                    ],
                )
                for topic in request.topics
            ]
        )

    def _list(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=asked.partition_index,
                            error_code=self.range_code,
                            offset={EARLIEST: 10, LATEST: 20}[asked.timestamp],
                        )
                        for asked in topic.partitions
                        if asked.partition_index not in self.unlisted
                        or asked.timestamp not in self.unlisted_timestamps
                    ],
                )
                for topic in request.topics
            ]
        )


def answer(
    index: int = 0, *, code: int = 0, records: bytes = b"", high_watermark: int = 3, top: int = 0
) -> Callable[[FetchRequest], FetchResponse]:
    """A scripted fetch response about one partition."""
    data = PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=0,
        records=records,
    )
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
    return lambda _request: FetchResponse(
        error_code=top, session_id=5, responses=[] if top else topics
    )


class Loops:
    """Both loops of one source, running."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.leader = FakeLeader()
        self.quota = ReplicationQuota()
        throttle = FollowerThrottle(self.quota, RebuildThrottle(), now_ms)
        self.fetcher = Fetcher(1, SETTINGS, self.leader.connect, throttle)
        self.reconciler = Reconciler(self.fetcher)
        self._tasks = [
            group.create_task(self.fetcher.run()),
            group.create_task(self.reconciler.run()),
        ]

    def follow_one_throttled(self, *, bytes_per_second: int, answered_bytes: int) -> FakeReplica:
        """Follow partition 0, of which the leader has so much, and 1; return 0: it is throttled."""
        throttled, free = FakeReplica(0), FakeReplica(1)
        throttled.is_throttled = True
        self.quota.limit_bytes_per_second = bytes_per_second
        self.leader.script = [answer(0, records=b"x" * answered_bytes, high_watermark=9)]
        for replica in (throttled, free):
            self.fetcher.follow(replica, 0)
        return throttled

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
