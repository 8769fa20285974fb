"""A follower's Fetch: which partitions it names, from where on and how much.

What is new in a session is decided in `broker.core.follower_session`. Source:
RemoteLeaderEndPoint.buildFetch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from broker.core.follower_session import SessionRequest
from broker.engine.follow.followed import Followed
from protocol.ids import ZERO_UUID, TopicIdPartition
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

FETCH_VERSION: Final = 15
"""The first one that tells the life of the follower's broker, too (KIP-903).

By the ids of topics (from 13 on) one that is made again under its old name is not mixed up.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """The ``replica.fetch.*`` and ``replica.socket.*`` settings."""

    broker_id: int
    broker_epoch: Callable[[], int]
    """Of this life of the broker; -1 before it is registered."""
    max_wait_ms: int
    min_bytes: int
    response_max_bytes: int
    partition_max_bytes: int
    backoff_ms: int
    timeout_ms: int


def follower_request(
    settings: FetchSettings,
    plan: SessionRequest[TopicIdPartition],
    ready: Mapping[TopicIdPartition, Followed],
    wait_ms: int,
) -> FetchRequest:
    """Return the request of a plan; ``ready`` has all that it sends."""
    return FetchRequest(
        replica_state=ReplicaState(
            replica_id=settings.broker_id, replica_epoch=settings.broker_epoch()
        ),
        max_wait_ms=wait_ms,
        min_bytes=settings.min_bytes,
        max_bytes=settings.response_max_bytes,
        isolation_level=0,
        session_id=plan.session_id,
        session_epoch=plan.session_epoch,
        topics=_topics(plan, ready, settings.partition_max_bytes),
        forgotten_topics_data=_forgotten(plan),
        rack_id="",
    )


def _topics(
    plan: SessionRequest[TopicIdPartition],
    ready: Mapping[TopicIdPartition, Followed],
    max_bytes: int,
) -> list[FetchTopic]:
    topics: dict[bytes, list[FetchPartition]] = {}
    for key in plan.send:
        topic_id, index = key
        entry = ready[key]
        position = entry.replica.position()
        topics.setdefault(topic_id, []).append(
            FetchPartition(
                partition=index,
                replica_directory_id=ZERO_UUID,
                current_leader_epoch=entry.leader_epoch,
                fetch_offset=position.fetch_offset,
                last_fetched_epoch=position.last_fetched_epoch,
                log_start_offset=position.log_start_offset,
                partition_max_bytes=min(entry.share_bytes, max_bytes),
            )
        )
    return [
        FetchTopic(topic="", topic_id=topic_id, partitions=rows)
        for topic_id, rows in topics.items()
    ]


def _forgotten(plan: SessionRequest[TopicIdPartition]) -> list[ForgottenTopic]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, index in plan.forget:
        topics.setdefault(topic_id, []).append(index)
    return [
        ForgottenTopic(topic="", topic_id=topic_id, partitions=rows)
        for topic_id, rows in topics.items()
    ]
