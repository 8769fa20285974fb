"""Classic groups with a clock that stands, and members that ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from broker.core.coordination import Decided, Record
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer
from protocol.configs.coordination import CoordinationConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.groups import (
    HeartbeatRequest,
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
from protocol.stored_records import GROUP_RECORDS, decode_key, decode_versioned

GROUP = "readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
DELAY_MS = 3_000
WALL_MS = 1_700_000_000_000
RANGE = {"range": b"r"}


class Lab:
    """One shard's groups; each request gets a waiter, and what it is told is remembered."""

    def __init__(self, *, batch_bytes_max: int = 1_048_588, **config: int) -> None:
        self.config = replace(CoordinationConfig(), **config)
        self.batch_bytes_max = batch_bytes_max
        self.groups = ClassicGroups(self.config, lambda: self.batch_bytes_max)
        self.now_ms = 0
        self.records: list[Record] = []
        self.told: dict[int, Any] = {}
        self.waiter = 0

    @property
    def wall_ms(self) -> int:
        return WALL_MS + self.now_ms

    @property
    def group(self) -> ClassicGroup:
        group = self.groups.get(GROUP)
        assert group is not None
        return group

    def take(self, decided: Decided) -> Decided:
        self.records += decided.records
        for answer in decided.answers:
            assert answer.waiter not in self.told, "told twice"
            self.told[answer.waiter] = answer.response
        return decided

    def asked(self) -> int:
        self.waiter += 1
        return self.waiter

    def later(self, ms: int) -> Decided:
        """Let time pass, and what is due happen, each at its time."""
        end_ms = self.now_ms + ms
        decided = Decided()
        while (due_ms := self.groups.next_due_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            decided = self.take(self.groups.expire(self.now_ms, self.wall_ms))
        self.now_ms = end_ms
        return decided

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] = RANGE,
        version: int = 9,
        **fields: Any,
    ) -> int:
        """Ask to join and return the waiter."""
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=said)
                for name, said in protocols.items()
            ],
        )
        waiter = self.asked()
        joining = Joining(
            waiter, replace(request, **fields), version, "client", "/127.0.0.1", f"uuid{waiter}"
        )
        self.take(self.groups.join(joining, self.now_ms, self.wall_ms))
        return waiter

    def id_for(self, **fields: Any) -> str:
        """Get an id to join with."""
        response = self.told[self.join(**fields)]
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return response.member_id

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        version: int = 5,
        **fields: Any,
    ) -> int:
        """Ask for the assignment; the leader says all of them."""
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation if generation is None else generation,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name=self.group.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=to, assignment=given)
                for to, given in (assignments or {}).items()
            ],
        )
        waiter = self.asked()
        self.take(
            self.groups.sync(waiter, replace(request, **fields), version, self.now_ms, self.wall_ms)
        )
        return waiter

    def heartbeat(
        self, member_id: str, *, generation: int | None = None, **fields: Any
    ) -> ErrorCode:
        known = self.groups.get(GROUP)
        current = -1 if known is None else known.generation
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=current if generation is None else generation,
            member_id=member_id,
        )
        waiter = self.asked()
        self.take(
            self.groups.heartbeat(waiter, replace(request, **fields), self.now_ms, self.wall_ms)
        )
        return ErrorCode(self.told[waiter].error_code)

    def leave(
        self, *members: str | tuple[str, str | None], group_id: str = GROUP
    ) -> list[ErrorCode]:
        """Have members leave, by id or by (id, instance id); return the code of each."""
        identities = [
            MemberIdentity(member_id=who) if isinstance(who, str) else _identity(*who)
            for who in members
        ]
        request = LeaveGroupRequest(group_id=group_id, member_id="", members=identities)
        waiter = self.asked()
        self.take(self.groups.leave(waiter, request, self.now_ms, self.wall_ms))
        response: LeaveGroupResponse = self.told[waiter]
        if response.error_code:
            return [ErrorCode(response.error_code)]
        return [ErrorCode(row.error_code) for row in response.members]

    def commit(self, **committer: Any) -> ErrorCode:
        """Return the code that a commit gets."""
        try:
            said: dict[str, Any] = {"is_transactional": False, **committer}
            self.groups.validate_commit(GROUP, Committer(**said), self.now_ms)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    def joined(self, waiter: int) -> JoinGroupResponse:
        response = self.told[waiter]
        assert isinstance(response, JoinGroupResponse)
        return response

    def synced(self, waiter: int) -> SyncGroupResponse:
        response = self.told[waiter]
        assert isinstance(response, SyncGroupResponse)
        return response

    def code(self, waiter: int) -> ErrorCode:
        return ErrorCode(self.told[waiter].error_code)

    def stable(self, count: int = 3, **fields: Any) -> list[str]:
        """Make a stable group; the first of the ids returned leads."""
        ids = [self.id_for(**fields) for _ in range(count)]
        waiters = [self.join(member_id, **fields) for member_id in ids]
        self.later(DELAY_MS)
        while waiters[0] not in self.told:
            self.later(DELAY_MS)
        self.settle(ids)
        return ids

    def settle(self, ids: Sequence[str]) -> None:
        """Let all sync; each is assigned its own id."""
        leader = self.group.leader_id
        for member_id in ids:
            given = {each: each.encode() for each in ids} if member_id == leader else None
            self.sync(member_id, given)

    def reloaded(self) -> Lab:
        """Return what another broker loads from the records of this one."""
        lab = Lab()
        lab.config = self.config
        lab.batch_bytes_max = self.batch_bytes_max
        lab.groups = ClassicGroups(self.config, lambda: lab.batch_bytes_max)
        lab.now_ms = self.now_ms
        for key, value in self.records:
            record, about = decode_key(GROUP_RECORDS, key)
            lab.groups.replay(
                about.group,
                None if value is None else decode_versioned(record.value, value)[0],
            )
        lab.take(lab.groups.loaded(lab.now_ms, lab.wall_ms))
        return lab


def _identity(member_id: str, instance_id: str | None) -> MemberIdentity:
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id)
