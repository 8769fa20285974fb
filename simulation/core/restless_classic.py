"""A restless member that speaks the classic protocol (``simulation.core.restless_members``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from broker.core.groups.subscription import assignment_of, encoded_assignment, subscription_of
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.consumer_protocol import TopicPartition as OwnedPartitions
from protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from protocol.stored_records import encode_versioned
from simulation.core.restless_members import (
    COMMIT_WITH_TIME_VERSION,
    REBALANCE_TIMEOUT_MS,
    Asking,
    Chance,
    KnownTopic,
    Place,
    Wave,
    commit_request,
    ignored,
    long_ago,
    others_of,
)

SESSION_TIMEOUTS_MS: Final = (500, 2_000, 2_000)
"""Of these each join says one. The shorter one ends before the others are waited for no more."""
_JOIN, _SYNC, _BEAT, _LEAVE, _COMMIT = 9, 5, 4, 5, 8
"""Versions of the requests. A commit of before version 9 knows no member epochs."""
_OLDER_JOIN: Final = 4
"""The first one after which a new member has to say the id that it is told."""
_OLDER_SYNC: Final = 4
"""The last one that names no protocol."""
_COMMIT_WITH_RETENTION: Final = 4
"""An older client says how long its offsets are kept."""
_KEPT_MS: Final = 400
_SUBSCRIPTION_VERSION: Final = 2
_PROTOCOL, _OTHER_PROTOCOL = "range", "sticky"
_TYPE: Final = "consumer"
_PASSING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REBALANCE_IN_PROGRESS,
)


class ClassicSide:
    """A member of the classic protocol."""

    def __init__(
        self,
        place: Place,
        topics: Sequence[str],
        rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    ) -> None:
        self.is_out = False
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._session_timeout_ms = SESSION_TIMEOUTS_MS[-1]
        self._place = place
        self._topics = topics
        self._member_id = ""
        self._generation = -1
        self._owned: dict[str, list[int]] = {}
        self._said: JoinGroupRequest | None = None
        """How it joined last: it may ask again, as if no answer had come."""
        self._joined: JoinGroupResponse | None = None
        """Answered, and the assignment is yet to be asked for."""
        self._is_called = True
        """Whether it is to join, for the first time or again."""

    def speaks(self, wave: Wave) -> bool:
        """Tell whether it is of those that come then."""
        return wave != "consumer"

    @property
    def is_awaited(self) -> bool:
        """Whether it has joined and is yet to ask for its assignment."""
        return self._joined is not None

    @property
    def identity(self) -> MemberIdentity:
        """Who it is, for who removes it."""
        return MemberIdentity(member_id=self._member_id, group_instance_id=self._place.instance_id)

    def next(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Join when it is called, at times later; then ask for its assignment, then beat.

        A static member may end before it is assigned anything, and come back.
        """
        if self._joined is not None and (drawn := chance.randrange(12)):
            if drawn <= 2 and self._place.instance_id is not None:
                return self._come_back()
            return self._sync_somehow(drawn, self._joined, known)
        if self._is_called and (self._generation < 0 or chance.randrange(3)):
            drawn = chance.randrange(3)
            self._session_timeout_ms = SESSION_TIMEOUTS_MS[drawn]
            is_older = not drawn and self._place.instance_id is None
            return self._join(_OLDER_JOIN if is_older else _JOIN)
        return self._stay(chance)

    def _stay(self, chance: Chance) -> Asking:
        match chance.randrange(12):
            case 0:
                return self._go(chance)
            case 1 | 2 | 3:
                self._topics = others_of(chance, self._place.topics, self._topics)
                return self._join()
            case 4 | 5 | 6:
                return self._commit(chance)
            case 7 if self._said is not None:
                return self._join_with(replace(self._said, member_id=self._member_id))
            case drawn:
                return self._beat(self._generation - (drawn == 8))

    def _go(self, chance: Chance) -> Asking:
        """Leave; or come back as one whose process was restarted and has no member id yet."""
        if self._place.instance_id is None or chance.randrange(2):
            return self.leave(chance)
        return self._come_back()

    def _come_back(self) -> Asking:
        self._member_id, self._generation, self._owned = "", -1, {}
        self._joined = None
        return self._join()

    def leave(self, _chance: Chance, /) -> Asking:
        """Leave for good."""
        request = LeaveGroupRequest(group_id=self._place.group, members=[self.identity])
        return Asking(request, _LEAVE, self._gone)

    def again(self, chance: Chance, asked: Asking, /) -> Asking:
        """Ask the same; or come back, as a static member whose process was restarted meanwhile."""
        is_restarted = self._place.instance_id is not None and not chance.randrange(3)
        return self._come_back() if is_restarted else asked

    def _gone(self, answer: LeaveGroupResponse) -> None:
        self.is_out = answer.error_code not in _PASSING

    def _join(self, version: int = _JOIN) -> Asking:
        owned = [
            OwnedPartitions(topic=name, partitions=found) for name, found in self._owned.items()
        ]
        said = ConsumerProtocolSubscription(
            topics=self._topics, owned_partitions=owned, generation_id=self._generation
        )
        request = JoinGroupRequest(
            group_id=self._place.group,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self._member_id,
            group_instance_id=self._place.instance_id,
            protocol_type=_TYPE,
            protocols=[
                JoinGroupRequestProtocol(
                    name=_PROTOCOL, metadata=encode_versioned(said, _SUBSCRIPTION_VERSION)
                )
            ],
        )
        return self._join_with(request, version)

    def _join_with(self, request: JoinGroupRequest, version: int = _JOIN) -> Asking:
        self._said = request
        return Asking(request, version, self._has_joined)

    def _has_joined(self, answer: JoinGroupResponse) -> None:
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        elif code is ErrorCode.NONE:
            self._member_id, self._generation = answer.member_id, answer.generation_id
            self._joined, self._is_called = answer, False
        else:
            self._refused(code)

    def _refused(self, code: ErrorCode) -> None:
        self._joined = None
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._is_called = True
        elif code not in _PASSING:
            self.is_out = True

    def _sync_somehow(
        self, drawn: int, joined: JoinGroupResponse, known: Mapping[str, KnownTopic]
    ) -> Asking:
        """Ask for its assignment; at times as an older client, or as is refused."""
        asking = self._sync(joined, known)
        match drawn:
            case 3:
                asking.message.protocol_name = _OTHER_PROTOCOL
                return asking._replace(answered=ignored)
            case 4 | 5:
                asking.message.protocol_type = asking.message.protocol_name = None
                return asking._replace(version=_OLDER_SYNC)
            case _:
                return asking

    def _sync(self, joined: JoinGroupResponse, known: Mapping[str, KnownTopic]) -> Asking:
        is_leader = joined.leader == joined.member_id
        request = SyncGroupRequest(
            group_id=self._place.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._place.instance_id,
            protocol_type=_TYPE,
            protocol_name=joined.protocol_name,
            assignments=self._shares(joined, known) if is_leader else [],
        )
        return Asking(request, _SYNC, self._synced)

    def _shares(
        self, joined: JoinGroupResponse, known: Mapping[str, KnownTopic]
    ) -> list[SyncGroupRequestAssignment]:
        """Assign as their leader; in some generations it does not name those that get nothing."""
        names_all = joined.generation_id % 2
        found = _assigned(joined.members, known)
        return [
            SyncGroupRequestAssignment(member_id=each, assignment=encoded_assignment(has, 1))
            for each, has in found.items()
            if has or names_all
        ]

    def _synced(self, answer: SyncGroupResponse) -> None:
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            self._refused(code)
            return
        self._joined = None
        rows = assignment_of(answer.assignment).assigned_partitions if answer.assignment else ()
        self._owned = {row.topic: list(row.partitions) for row in rows}

    def _beat(self, generation: int) -> Asking:
        request = HeartbeatRequest(
            group_id=self._place.group,
            generation_id=generation,
            member_id=self._member_id,
            group_instance_id=self._place.instance_id,
        )
        return Asking(request, _BEAT, self._beaten)

    def _beaten(self, answer: HeartbeatResponse) -> None:
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            self._refused(code)

    def _commit(self, chance: Chance) -> Asking:
        offsets = {
            TopicPartition(name, index): chance.randrange(1_000)
            for name, found in self._owned.items()
            for index in found
        }
        offsets = offsets or {TopicPartition(self._place.topics[0], 0): 1}
        generation = self._generation - (not chance.randrange(3))
        request = commit_request(self._place, self._member_id, generation, offsets)
        drawn = 0 if self._place.instance_id is not None else chance.randrange(4)
        if drawn == 3:
            return Asking(long_ago(request), COMMIT_WITH_TIME_VERSION, ignored)
        if drawn == 2:
            request.retention_time_ms = _KEPT_MS
            return Asking(request, _COMMIT_WITH_RETENTION, ignored)
        return Asking(request, _COMMIT, ignored)


# Any: of the answer to a join.
def _assigned(
    members: Iterable[Any], known: Mapping[str, KnownTopic]
) -> dict[str, dict[str, list[int]]]:
    """Give every partition to one of those that read its topic, in turn."""
    readers: dict[str, list[str]] = {}
    for member in members:
        try:
            topics = subscription_of(member.metadata).topics
        except Malformed:
            topics = ()
        for topic in topics:
            readers.setdefault(topic, []).append(member.member_id)
    has: dict[str, dict[str, list[int]]] = {member.member_id: {} for member in members}
    for topic, found in sorted(readers.items()):
        count = known[topic].partitions if topic in known else 0
        for index in range(count):
            has[found[index % len(found)]].setdefault(topic, []).append(index)
    return has
