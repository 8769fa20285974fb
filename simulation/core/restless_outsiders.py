"""What somebody asks of a group of restless members who is none of them, and of a group beside it.

As administrators do: look at the group and at all that there are, remove several members at once,
delete offsets of topics that are read and of others, delete the group. Or as who takes himself for
a member. The group beside it has offsets alone: some are committed by who takes himself for one
of its members, some within a transaction that is open while they are deleted, some so that they
expire at once. Each ``next`` is one request; nobody but contracts judges the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

from protocol.admin.groups import COMMIT_BY_NAME_VERSION_MAX, delete_offsets_request
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
)
from protocol.messages.producer_ids import InitProducerIdResponse
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    EndTxnResponse,
    ListTransactionsRequest,
)
from simulation.core.consumer_member import GroupMetadata
from simulation.core.intrusions import intrusion
from simulation.core.restless_members import (
    COMMIT_WITH_TIME_VERSION,
    Asking,
    Chance,
    KnownTopic,
    Place,
    commit_request,
    ignored,
    long_ago,
)
from simulation.core.transaction_session import TransactionSession

TRANSACTION_TIMEOUT_MS: Final = 3_000
_OFFSET_MAX: Final = 1_000
_DELETE_OFFSETS, _DELETE_GROUPS, _LEAVE, _FETCH = 0, 2, 5, 9
"""Versions of the requests."""
_DESCRIBE, _DESCRIBE_CONSUMERS, _LIST, _LIST_TRANSACTIONS = (5, 6), 1, 5, 2
_DESCRIBE_TRANSACTIONS: Final = 0
_COMMIT_BEFORE_EPOCHS: Final = 8
_INITIALIZE, _COMMIT_IN_TRANSACTION, _END = 4, 5, 5
"""Those of transactions, as of KIP-890: the first commit begins one."""
_GROUP_STATES: Final = ((), ("stable", "Empty"), ("Reconciling", "Assigning"), ("no state",))
_GROUP_TYPES: Final = ((), ("consumer",), ("Classic",))
_STATES: Final = ((), ("Ongoing",), ("CompleteCommit", "CompleteAbort", "no state"))
_DURATIONS_MS: Final = (-1, 0, 300)
"""What is asked for when groups, and transactions, are listed."""
_GENERATIONS: Final = 6
"""He takes himself for a member of one up to this."""
_NOBODY: Final = ""
_PASSING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
"""After these it asks the same again, some time."""


class Errand(NamedTuple):
    """A request, and who is asked: whoever coordinates this group, or transactional id."""

    key: str
    asking: Asking
    is_of_transaction: bool = False
    is_emptying: bool = False
    """Whether it removes all members that there are."""


class Outsider:
    """Somebody outside of the group, with a producer of transactions or without one."""

    def __init__(self, group: str, topics: Sequence[str], transactional_id: str | None) -> None:
        self._group = group
        self._beside = f"{group}-beside"
        self._topics = topics
        self._id = transactional_id
        self._session: TransactionSession | None = None
        self._has_begun = False
        self._has_emptied = False

    def next(
        self, chance: Chance, known: Mapping[str, KnownTopic], members: Sequence[MemberIdentity]
    ) -> Errand:
        """Return what it asks next."""
        if self._has_emptied:
            self._has_emptied = False
            return self._reset(chance, known)
        if self._id is not None and not chance.randrange(3):
            return self._transact(chance, known)
        act = self._ACTS[chance.randrange(len(self._ACTS))]
        return act(self, chance, known, members)

    def last(self) -> Errand | None:
        """Return what is to be asked in the end: nothing is left open."""
        return self._end(is_committed=False) if self._session and self._has_begun else None

    def _either(self, chance: Chance) -> str:
        return (self._group, self._beside)[chance.randrange(2)]

    def _some(self, chance: Chance, known: Mapping[str, KnownTopic]) -> list[TopicPartition]:
        """Return mostly the first partition of a topic, at times all of it."""
        topic = self._topics[chance.randrange(len(self._topics))]
        count = known[topic].partitions if topic in known and not chance.randrange(3) else 1
        return [TopicPartition(topic, index) for index in range(count)]

    def _offsets(
        self, chance: Chance, known: Mapping[str, KnownTopic]
    ) -> dict[TopicPartition, int]:
        return {tp: chance.randrange(_OFFSET_MAX) for tp in self._some(chance, known)}

    def _delete_offsets(
        self, chance: Chance, known: Mapping[str, KnownTopic], _: Sequence[MemberIdentity]
    ) -> Errand:
        group = self._either(chance)
        request = delete_offsets_request(group, self._some(chance, known))
        return Errand(group, Asking(request, _DELETE_OFFSETS, ignored))

    def _delete_group(
        self, chance: Chance, _: Mapping[str, KnownTopic], __: Sequence[MemberIdentity]
    ) -> Errand:
        group = self._either(chance)
        request = DeleteGroupsRequest(groups_names=[group])
        return Errand(group, Asking(request, _DELETE_GROUPS, ignored))

    def _remove(
        self, chance: Chance, _: Mapping[str, KnownTopic], members: Sequence[MemberIdentity]
    ) -> Errand:
        """Remove all members or some, static ones by their instance id alone; one is nobody."""
        is_emptying = bool(members) and chance.randrange(3) > 0
        found = [each for each in members if is_emptying or chance.randrange(2)]
        named = [
            each
            if each.group_instance_id is None or chance.randrange(2)
            else MemberIdentity(member_id=_NOBODY, group_instance_id=each.group_instance_id)
            for each in found
        ]
        while len(named) < 2:
            named.append(MemberIdentity(member_id="nobody", group_instance_id=None))
        request = LeaveGroupRequest(group_id=self._group, members=named)
        self._has_emptied = is_emptying
        return Errand(self._group, Asking(request, _LEAVE, ignored), is_emptying=is_emptying)

    def _reset(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Errand:
        """Commit offsets of the group now that nobody is in it, mostly long ago."""
        request = self._commit_request(self._group, chance, known)
        if chance.randrange(3):
            request = long_ago(request)
        return Errand(self._group, Asking(request, COMMIT_WITH_TIME_VERSION, ignored))

    def _commit_request(
        self,
        group: str,
        chance: Chance,
        known: Mapping[str, KnownTopic],
        member_id: str = _NOBODY,
        epoch: int = -1,
    ) -> OffsetCommitRequest:
        place = Place(group, _NOBODY, None, ())
        return commit_request(place, member_id, epoch, self._offsets(chance, known))

    def _commit(
        self, chance: Chance, known: Mapping[str, KnownTopic], _: Sequence[MemberIdentity]
    ) -> Errand:
        """Commit as nobody, or as a member of a group that has none; at times long ago."""
        drawn = chance.randrange(6)
        group = self._group if drawn == 0 else self._beside
        member_id, epoch = ("was-there", drawn) if drawn in {1, 2} else (_NOBODY, -1)
        request = self._commit_request(group, chance, known, member_id, epoch)
        if drawn == 3:
            return Errand(group, Asking(long_ago(request), COMMIT_WITH_TIME_VERSION, ignored))
        version = (_COMMIT_BEFORE_EPOCHS, COMMIT_BY_NAME_VERSION_MAX)[chance.randrange(2)]
        return Errand(group, Asking(request, version, ignored))

    def _fetch(
        self, chance: Chance, _: Mapping[str, KnownTopic], __: Sequence[MemberIdentity]
    ) -> Errand:
        group = self._either(chance)
        row = OffsetFetchRequestGroup(group_id=group, member_id=None, member_epoch=-1, topics=None)
        request = OffsetFetchRequest(groups=[row], require_stable=bool(chance.randrange(2)))
        return Errand(group, Asking(request, _FETCH, ignored))

    def _look(
        self, chance: Chance, _: Mapping[str, KnownTopic], __: Sequence[MemberIdentity]
    ) -> Errand:
        """Have a group described, as one of each protocol, or all groups listed."""
        group = self._either(chance)
        match chance.randrange(4):
            case 0 | 1:
                request = ConsumerGroupDescribeRequest(group_ids=[group])
                return Errand(group, Asking(request, _DESCRIBE_CONSUMERS, ignored))
            case 2:
                version = _DESCRIBE[chance.randrange(len(_DESCRIBE))]
                request = DescribeGroupsRequest(groups=[group])
                return Errand(group, Asking(request, version, ignored))
            case _:
                request = ListGroupsRequest(
                    states_filter=_GROUP_STATES[chance.randrange(len(_GROUP_STATES))],
                    types_filter=_GROUP_TYPES[chance.randrange(len(_GROUP_TYPES))],
                )
                return Errand(group, Asking(request, _LIST, ignored))

    def _intrude(
        self, chance: Chance, _: Mapping[str, KnownTopic], members: Sequence[MemberIdentity]
    ) -> Errand:
        """Take himself for a static member: nobody is to let him in."""
        names = [each.group_instance_id for each in members if each.group_instance_id is not None]
        asking = intrusion(self._group, names, chance.randrange(_GENERATIONS), self._topics, chance)
        return Errand(self._group, asking)

    # Transactions.

    def _look_at_transactions(self, chance: Chance, transactional_id: str) -> Errand:
        """Have its own transaction described, or all listed that are like it, or unlike it."""
        if not chance.randrange(3):
            described = DescribeTransactionsRequest(transactional_ids=[transactional_id])
            asking = Asking(described, _DESCRIBE_TRANSACTIONS, ignored)
            return Errand(transactional_id, asking, is_of_transaction=True)
        own = self._producer_ids()
        request = ListTransactionsRequest(
            state_filters=_STATES[chance.randrange(len(_STATES))],
            producer_id_filters=((), own, (_OFFSET_MAX,))[chance.randrange(3)],
            duration_filter=_DURATIONS_MS[chance.randrange(len(_DURATIONS_MS))],
            transactional_id_pattern=(None, f"{transactional_id[:-1]}.", transactional_id[:-1])[
                chance.randrange(3)
            ],
        )
        asking = Asking(request, _LIST_TRANSACTIONS, ignored)
        return Errand(transactional_id, asking, is_of_transaction=True)

    def _producer_ids(self) -> Sequence[int]:
        return () if self._session is None else (self._session.producer_id,)

    def _transact(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Errand:
        """Begin with an id; commit offsets, mostly of the group beside, and end that."""
        assert self._id is not None
        if not chance.randrange(4):
            return self._look_at_transactions(chance, self._id)
        if self._session is None:
            session = TransactionSession(self._id, timeout_ms=TRANSACTION_TIMEOUT_MS)
            asking = Asking(session.initialize(), _INITIALIZE, self._initialized)
            return Errand(self._id, asking, is_of_transaction=True)
        if self._has_begun and not chance.randrange(3):
            return self._end(is_committed=chance.randrange(4) > 0)
        group = self._group if not chance.randrange(4) else self._beside
        request = self._session.commit_offsets(
            GroupMetadata(group, _NOBODY, -1), self._offsets(chance, known)
        )
        self._has_begun = True
        return Errand(group, Asking(request, _COMMIT_IN_TRANSACTION, ignored))

    def _initialized(self, answer: InitProducerIdResponse) -> None:
        if answer.error_code == ErrorCode.NONE and self._id is not None:
            self._session = TransactionSession(self._id, timeout_ms=TRANSACTION_TIMEOUT_MS)
            self._session.initialized(answer)
            self._has_begun = False

    def _end(self, *, is_committed: bool) -> Errand:
        assert self._session is not None
        assert self._id is not None
        request = self._session.end(is_committed=is_committed)
        return Errand(self._id, Asking(request, _END, self._ended), is_of_transaction=True)

    def _ended(self, answer: EndTxnResponse) -> None:
        """Go on, or begin anew as who was fenced does."""
        if answer.error_code == ErrorCode.NONE and self._session is not None:
            self._session.ended(answer)
            self._has_begun = False
        elif answer.error_code not in _PASSING:
            self._session = None

    _ACTS: ClassVar[tuple[Callable[..., Errand], ...]] = (
        *(_delete_offsets,) * 4,
        _delete_group,
        _remove,
        *(_commit,) * 4,
        _fetch,
        *(_look,) * 3,
        *(_intrude,) * 2,
    )
    """Of these one is drawn each time that it is not about its transaction."""
