"""Forms and first steps of members of groups."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import Any, Final

from conformance.core.script import Coordinator, Form, Script, Topic, ask
from protocol.errors import ErrorCode

BYTES: Final = base64.b64encode(b"\0\1").decode()
"""What members of the classic protocol tell each other."""
JOIN: Final = 5
"""A version of JoinGroup, SyncGroup v3, that every release from 2.3 on has."""
SYNC: Final = 3
SESSION_MS: Final = 30_000


def join_form(group: str, member: str = "", **more: Any) -> dict[str, Any]:
    """Return a JoinGroup of the classic protocol."""
    form = {
        "groupId": group,
        "sessionTimeoutMs": SESSION_MS,
        "rebalanceTimeoutMs": SESSION_MS,
        "memberId": member,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": BYTES}],
    }
    return form | more


def sync_form(group: str, generation: int, member: str) -> dict[str, Any]:
    """Return a SyncGroup that assigns something to this member, should it lead."""
    return {
        "groupId": group,
        "generationId": generation,
        "memberId": member,
        "protocolType": "consumer",
        "protocolName": "range",
        "assignments": [{"memberId": member, "assignment": BYTES}],
    }


def joined(version: int, group: str, **more: Any) -> Generator[Any, Any, tuple[str, int]]:
    """Have one member join and be assigned; return its id and generation."""
    to = Coordinator(group)
    answer: Form = yield from ask("JoinGroup", version, join_form(group, **more), to=to)
    member = answer.get("memberId", "")
    if answer.get("errorCode") == ErrorCode.MEMBER_ID_REQUIRED:
        form = join_form(group, member, **more)
        answer = yield from ask("JoinGroup", version, form, to=to)
    generation = answer.get("generationId", -1)
    yield from ask("SyncGroup", SYNC, sync_form(group, generation, member), to=to)
    return member, generation


def left(group: str, member: str) -> Script:
    """Have one member leave."""
    form = {"groupId": group, "memberId": member, "members": [{"memberId": member}]}
    return ask("LeaveGroup", 3, form, to=Coordinator(group))


def commit_form(
    group: str, topic: Topic, rows: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """Return an OffsetCommit by nobody, of partitions of one topic."""
    form = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": ""}
    topics = [{"name": topic.name, "topicId": topic.id, "partitions": rows}]
    return form | {"retentionTimeMs": -1, "topics": topics} | more


def offset_row(partition: int, offset: int, metadata: str | None = "m") -> dict[str, Any]:
    """Return one partition of an OffsetCommit."""
    row = {"partitionIndex": partition, "committedOffset": offset, "committedLeaderEpoch": 0}
    return row | {"committedMetadata": metadata, "commitTimestamp": -1}


def offsets_form(group: str, topic: Topic, partitions: list[int] | None) -> dict[str, Any]:
    """Return an OffsetFetch of partitions of one topic; None: of all that the group has."""
    row = {"name": topic.name, "partitionIndexes": partitions}
    topics = None if partitions is None else [row]
    with_ids = None if partitions is None else [row | {"topicId": topic.id}]
    groups = [{"groupId": group, "topics": with_ids}]
    return {"groupId": group, "topics": topics, "groups": groups}
