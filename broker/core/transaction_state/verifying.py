"""How leaders ask a coordinator whether a partition is in an open transaction (KIP-890).

Producers of transaction.version 2 do not ask by themselves: the leader adds the partition for them
by the same request. Here are the rules of what is asked together, and of what clients are told.
Source: AddPartitionsToTxnManager.java, ReplicaManager.handleProduceAppend,
CoordinatorOperationExceptionHelper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition

VERIFICATIONS_VERSION: Final = 5
"""Of AddPartitionsToTxn. Leaders ask in version 4 or later, in which a request has many ids."""
_PRODUCE_ABORTABLE_SINCE: Final = 11
_PRODUCE_ADDS_SINCE: Final = 12
_OFFSET_COMMIT_ABORTABLE_SINCE: Final = 4
_OFFSET_COMMIT_ADDS_SINCE: Final = 5


class Verifying(Enum):
    """What a client's request asks of the leader, by its version. Source: KIP-890, KIP-1050."""

    FOR_OLD_CLIENT = "the client does not know TRANSACTION_ABORTABLE"
    FOR_NEW_CLIENT = "the client does"
    ADDING = "the client leaves it to the leader to add the partition"


@dataclass(frozen=True, slots=True, eq=False)
class VerificationAsked:
    """One question of a leader; it equals only itself."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    tps: tuple[TopicPartition, ...]
    how: Verifying


class Refused(NamedTuple):
    """A question that is not asked, and why."""

    asked: VerificationAsked
    code: ErrorCode


def verifying_of_produce(version: int) -> Verifying:
    """Return what Produce of ``version`` asks."""
    return _verifying(version, _PRODUCE_ABORTABLE_SINCE, _PRODUCE_ADDS_SINCE)


def verifying_of_offset_commit(version: int) -> Verifying:
    """Return what TxnOffsetCommit of ``version`` asks."""
    return _verifying(version, _OFFSET_COMMIT_ABORTABLE_SINCE, _OFFSET_COMMIT_ADDS_SINCE)


def _verifying(version: int, abortable_since: int, adds_since: int) -> Verifying:
    if version >= adds_since:
        return Verifying.ADDING
    return Verifying.FOR_NEW_CLIENT if version >= abortable_since else Verifying.FOR_OLD_CLIENT


class VerificationBatch:
    """What goes into the next request to one coordinator: each transactional id once."""

    def __init__(self) -> None:
        self._asked: dict[str, VerificationAsked] = {}

    def __bool__(self) -> bool:
        return bool(self._asked)

    def add(self, asked: VerificationAsked) -> Refused | None:
        """Put a question in; return the one that it pushes out, or itself.

        The older epoch is fenced. Of one epoch the newer stays: the client sent its request again.
        """
        before = self._asked.get(asked.transactional_id)
        if before is not None and before.producer_epoch > asked.producer_epoch:
            return Refused(asked, ErrorCode.INVALID_PRODUCER_EPOCH)
        self._asked[asked.transactional_id] = asked
        if before is None:
            return None
        is_same = before.producer_epoch == asked.producer_epoch
        code = ErrorCode.NETWORK_EXCEPTION if is_same else ErrorCode.INVALID_PRODUCER_EPOCH
        return Refused(before, code)

    def take(self) -> list[VerificationAsked]:
        """Return all, in the order in which they came, and begin anew."""
        taken = list(self._asked.values())
        self._asked.clear()
        return taken


def verified_code(code: ErrorCode, how: Verifying) -> ErrorCode:
    """Return what a coordinator's ``code`` is to whoever waits for the verification."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and how is Verifying.FOR_OLD_CLIENT:
        return ErrorCode.INVALID_TXN_STATE
    return code


def is_worth_retrying(codes: Iterable[ErrorCode], how: Verifying) -> bool:
    """Tell whether the leader asks again by itself: the transaction before is being ended.

    Only those are served so whose next transaction begins with the first batch: the client would
    wait longer, and send its records twice.
    """
    return how is Verifying.ADDING and ErrorCode.CONCURRENT_TRANSACTIONS in codes


class ToldCode(NamedTuple):
    """A code and a text for a client."""

    code: ErrorCode
    message: str


_TRANSIENT: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def produce_refusal(code: ErrorCode, how: Verifying) -> ToldCode:
    """Return what a producer is told.

    Many clients do not try again after the coordinator's codes; they do after NOT_ENOUGH_REPLICAS,
    and do not look for another leader then.
    """
    if code is ErrorCode.INVALID_TXN_STATE:
        return ToldCode(code, "Partition was not added to the transaction")
    if code in _TRANSIENT or _is_unknown_to_client(code, how):
        return ToldCode(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. "
            f"Underlying error: {code.name}",
        )
    return ToldCode(code, "")


def offset_commit_refusal(code: ErrorCode, how: Verifying) -> ErrorCode:
    """Return what TxnOffsetCommit is told: clients try again after COORDINATOR_LOAD_IN_PROGRESS."""
    if code is ErrorCode.NETWORK_EXCEPTION or _is_unknown_to_client(code, how):
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return code


def _is_unknown_to_client(code: ErrorCode, how: Verifying) -> bool:
    """Tell whether a client would not try again after a code by which its leader may."""
    return code is ErrorCode.CONCURRENT_TRANSACTIONS and how is not Verifying.ADDING
