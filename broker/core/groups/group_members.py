"""All groups of one shard that have members, or had, whichever protocol these speak.

A group without members takes the protocol of the next one that joins.
Source: GroupMetadataManager (getOrMaybeCreateConsumerGroup, classicGroupJoin).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from broker.core.coordination import Decided, Record, Waiter
from broker.core.groups.assignors.assignment import Assign
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.classic_groups import ClassicGroups
from broker.core.groups.consumer.committing import commit_error, fetch_error
from broker.core.groups.consumer.consumer_group import ConsumerGroup, ConsumerGroupState
from broker.core.groups.consumer.consumer_groups import ConsumerGroups, existing
from broker.core.groups.consumer.consumer_heartbeats import Heartbeating
from broker.core.groups.consumer.conversion import downgraded, may_downgrade, upgraded
from broker.core.groups.consumer.group_log import RECORDS, Groups, apply
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.decision import Decision, answered
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer, ExpiryRule
from broker.core.groups.rebalances import join_refused
from protocol.configs.coordination import CoordinationConfig
from protocol.configs.group import GroupConfig
from protocol.configs.group_parsing import group_config
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from protocol.stored_records import RecordType, decode_versioned
from protocol.topic_names import CONSUMER_OFFSETS


class GroupMembers:
    """A `membership.Membership`."""

    __slots__ = ("_batch_bytes_max", "_config", "classic", "consumer")

    def __init__(
        self,
        config: CoordinationConfig,
        batch_bytes_max: Callable[[], int],
        topics: KnownTopics,
        assignors: Mapping[str, Assign],
        config_of: Callable[[str], GroupConfig] | None = None,
    ) -> None:
        """Begin without a group.

        Args:
            config: the broker's.
            batch_bytes_max: ``max.message.bytes`` of the topic.
            topics: those of the cluster.
            assignors: all that there are, by name.
            config_of: gives what a group is configured to, now; None: all have the defaults.
        """
        defaults = group_config({}, config)
        self._config = config
        self._batch_bytes_max = batch_bytes_max
        self.classic = ClassicGroups(config, batch_bytes_max)
        self.consumer = ConsumerGroups(
            config, topics, assignors, self._downgrade, config_of or (lambda _: defaults)
        )

    # The log, and time.

    def replay(self, record: RecordType, key: Any, value: bytes | None) -> None:
        """Take over a record of the log that is about members.

        Raises:
            Malformed: it has no such value.
        """
        if record.number in RECORDS:
            found = None if value is None else decode_versioned(record.value, value)[0]
            self.consumer.replay(key, found)
        elif record.value is GroupMetadataValue:
            group = None if value is None else decode_versioned(GroupMetadataValue, value)[0]
            self.classic.replay(key.group, group)

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        """Let sessions begin again."""
        self.consumer.loaded(now_ms)
        return self.classic.loaded(now_ms, wall_ms)

    def next_due_ms(self) -> int | None:
        """Return when ``expire`` has something to do."""
        due = (self.classic.next_due_ms(), self.consumer.next_due_ms())
        return min((due_ms for due_ms in due if due_ms is not None), default=None)

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        """Do what is due, or the first of it: what one batch has room for."""
        decision = Decision(now_ms, wall_ms)
        bytes_max = self._batch_bytes_max() // 2
        while decision.size_bytes < bytes_max and (due := self.consumer.take_due(now_ms)):
            group, member_id = due
            self.consumer.rebalances.fence(group, [member_id], decision)
        fenced = decision.decided()
        if decision.size_bytes >= bytes_max:
            return fenced
        expired = self.classic.expire(now_ms, wall_ms)
        return Decided((*fenced.records, *expired.records), (*fenced.answers, *expired.answers))

    # What members of the consumer protocol ask.

    def beat(
        self, waiter: Waiter, heartbeating: Heartbeating, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a ConsumerGroupHeartbeatResponse.

        Raises:
            KafkaError: why it is refused; UNKNOWN_SERVER_ERROR when the log would not take what it
                changes, and nothing changed.
        """
        self.consumer.check_request(heartbeating)
        group_id = heartbeating.request.group_id
        group = self.consumer.get(group_id)
        if heartbeating.is_leaving:
            group = existing(group, group_id)
            leave = partial(self.consumer.heartbeats.leave, group, heartbeating)
            return answered(waiter, leave, now_ms, wall_ms)
        decision = Decision(now_ms, wall_ms)
        classic = self.classic.get(group_id)
        if classic is not None:
            self._upgrade(classic, heartbeating, decision)
        elif group is None and heartbeating.is_joining:
            self.consumer.check_member(ConsumerGroup(group_id), heartbeating)
        else:
            self.consumer.check_member(existing(group, group_id), heartbeating)
        decision.answer(waiter, self.consumer.beat(heartbeating, decision))
        self._check_size(heartbeating, decision)
        if classic is not None:
            self.classic.dissolve(classic, decision)
        return decision.decided()

    def _check_size(self, heartbeating: Heartbeating, decision: Decision) -> None:
        """Take back what the log would refuse: else all groups of the shard would be loaded anew.

        Raises:
            KafkaError: UNKNOWN_SERVER_ERROR, it would.
        """
        most = self._batch_bytes_max()
        if decision.fits(most):
            return
        self.consumer.revert(heartbeating, decision)
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Group {heartbeating.request.group_id} would change by {decision.size_bytes} bytes of"
            f" records; max.message.bytes of {CONSUMER_OFFSETS} is {most}.",
        )

    def _upgrade(
        self, classic: ClassicGroup, heartbeating: Heartbeating, decision: Decision
    ) -> None:
        """Make a classic group one of the consumer protocol, for somebody who joins it.

        It is still there then, and goes when all that is decided fits into the log.

        Raises:
            KafkaError: it has to stay what it is, or would not take who joins.
        """
        group_id = classic.group_id
        if not heartbeating.is_joining:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
            )
        if classic.is_empty:
            self.consumer.check_member(ConsumerGroup(group_id), heartbeating)
            self.classic.write_end(classic, decision)
            return
        changes = upgraded(
            classic,
            self.consumer.topics,
            policy=self._config.group_consumer_migration_policy,
            size_max=self._config.group_consumer_max_size,
        )
        draft: Groups = {}
        for change in changes:
            apply(draft, change)
        self.consumer.check_member(draft[group_id], heartbeating)
        self.classic.write_end(classic, decision)
        self.consumer.write_upgraded(group_id, changes, decision)

    def _downgrade(self, group: ConsumerGroup, leaving: Sequence[str], decision: Decision) -> bool:
        """Make a group without ``leaving`` a classic one, if all others are classic members."""
        if not may_downgrade(
            group,
            leaving,
            policy=self._config.group_consumer_migration_policy,
            size_max=self._config.group_max_size,
        ):
            return False
        is_settled = not leaving and group.state is ConsumerGroupState.STABLE
        classic = downgraded(group, leaving, self.consumer.topics, decision.wall_ms)
        self.consumer.remove(group, decision)
        self.classic.adopt(classic, decision, rebalance=not is_settled)
        return True

    # What members of the classic protocol ask.

    def join(self, joining: Joining, now_ms: int, wall_ms: int) -> Decided:
        """Answer with a JoinGroupResponse, when the group's join phase ends."""
        group = self.consumer.get(joining.request.group_id)
        if group is None:
            return self.classic.join(joining, now_ms, wall_ms)
        if not group.is_empty:
            self.classic.check_join(joining.request)
            join = partial(self._join_consumers, group, joining)
            return answered(joining.waiter, join, now_ms, wall_ms)
        joined = self.classic.join(joining, now_ms, wall_ms)
        if self.classic.knows(group.group_id):
            gone = self.consumer.delete(group)
            return Decided((*gone, *joined.records), joined.answers)
        return joined

    def _join_consumers(
        self, group: ConsumerGroup, joining: Joining, decision: Decision
    ) -> JoinGroupResponse:
        """Take a member in, or refuse it without naming it.

        Source: GroupCoordinatorService.joinGroup.
        """
        try:
            return self.consumer.join(group, joining, decision)
        except KafkaError as refused:
            return join_refused(refused.code)

    def sync(
        self, waiter: Waiter, request: SyncGroupRequest, version: int, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a SyncGroupResponse, when the leader has assigned."""
        group = self.consumer.get(request.group_id)
        if group is None:
            return self.classic.sync(waiter, request, version, now_ms, wall_ms)
        sync = partial(self.consumer.classic_members.sync, group, request, version)
        return answered(waiter, sync, now_ms, wall_ms)

    def heartbeat(
        self, waiter: Waiter, request: HeartbeatRequest, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a HeartbeatResponse."""
        group = self.consumer.get(request.group_id)
        if group is None:
            return self.classic.heartbeat(waiter, request, now_ms, wall_ms)
        heartbeat = partial(self.consumer.classic_members.heartbeat, group, request)
        return answered(waiter, heartbeat, now_ms, wall_ms)

    def leave(
        self, waiter: Waiter, request: LeaveGroupRequest, now_ms: int, wall_ms: int
    ) -> Decided:
        """Answer with a LeaveGroupResponse; a single ``member_id`` is one of ``members``."""
        group = self.consumer.get(request.group_id)
        if group is None:
            return self.classic.leave(waiter, request, now_ms, wall_ms)
        leave = partial(self.consumer.classic_members.leave, group, request)
        return answered(waiter, leave, now_ms, wall_ms)

    # What the offsets of groups ask, and administrators.

    def get(self, group_id: str) -> ClassicGroup | ConsumerGroup | None:
        """Return a group; None for one that is not there, which Kafka calls dead."""
        return self.consumer.get(group_id) or self.classic.get(group_id)

    def group_ids(self) -> Iterable[str]:
        """Give every group that has members, or had."""
        yield from self.classic.group_ids()
        yield from (group.group_id for group in self.consumer.groups)

    def knows(self, group_id: str) -> bool:
        """Tell whether it is one of them."""
        return self.get(group_id) is not None

    def validate_commit(
        self, group_id: str, committer: Committer, tps: Iterable[TopicPartition], now_ms: int
    ) -> None:
        """Check who commits; a member of the classic protocol that does so is alive.

        Raises:
            KafkaError: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
                REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION.
        """
        group = self.consumer.get(group_id)
        if group is None:
            self._validate_classic_commit(group_id, committer, now_ms)
            return
        error = commit_error(group, committer, tps, self.consumer.topics)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)

    def _validate_classic_commit(self, group_id: str, committer: Committer, now_ms: int) -> None:
        is_unknown = committer.generation >= 0 and not self.classic.knows(group_id)
        if is_unknown and committer.has_member_epoch:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        self.classic.validate_commit(group_id, committer, now_ms)

    def validate_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Check who asks for offsets.

        Raises:
            KafkaError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, ILLEGAL_GENERATION.
        """
        group = self.consumer.get(group_id)
        if group is None:
            return
        error = fetch_error(group, member_id, member_epoch)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)

    def topics_in_use(self, group_id: str) -> Collection[str]:
        """Return the topics whose offsets may not be deleted.

        Raises:
            KafkaError: NON_EMPTY_GROUP, when members are there that are no consumers.
        """
        group = self.consumer.get(group_id)
        return self.classic.topics_in_use(group_id) if group is None else group.topics()

    def expiry(self, group_id: str) -> ExpiryRule:
        """Return what of a group's offsets may expire."""
        group = self.consumer.get(group_id)
        return self.classic.expiry(group_id) if group is None else self.consumer.expiry(group)

    def offsets_gone(self, group_id: str) -> Sequence[Record]:
        """Forget a group without offsets, if it has no member either; return the tombstones."""
        group = self.consumer.get(group_id)
        if group is None:
            return self.classic.offsets_gone(group_id)
        return self.consumer.delete(group) if group.is_empty else ()

    def deletion_error(self, group_id: str) -> ErrorCode:
        """Return why a group cannot be deleted; NONE if it can, or only its offsets are there."""
        group = self.consumer.get(group_id)
        if group is None:
            return self.classic.deletion_error(group_id)
        return ErrorCode.NONE if group.is_empty else ErrorCode.NON_EMPTY_GROUP

    def delete(self, group_id: str) -> Sequence[Record]:
        """Forget a group without members, and return what the log is to be told of that."""
        group = self.consumer.get(group_id)
        if group is None:
            return self.classic.delete(group_id)
        return self.consumer.delete(group)
