"""What all coordinators share: shards of an internal topic, what they decide, who waits for it.

One partition of ``__consumer_offsets`` or ``__transaction_state`` is one shard: a state machine
that its leader holds in memory. It decides at once and knows no log: whoever runs it appends what
it decided, and answers when that is replicated. Source: CoordinatorRuntime, CoordinatorShard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from broker.core.verification import VerificationGuard
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_ID
from protocol.records.batch import HEADER_SIZE_BYTES

Record: TypeAlias = tuple[bytes, bytes | None]
"""Key and value as they are stored; a value of None is a tombstone."""
Waiter: TypeAlias = int
"""Names a request that waits for its answer; whoever runs the shard gives it."""

_RECORD_OVERHEAD_BYTES: Final = 24
"""Lengths, attributes, deltas and the count of headers."""
_INT32: Final = 1 << 32
_INT32_SIGN: Final = 1 << 31


class TransactionProducer(NamedTuple):
    """Whose transaction records are part of."""

    producer_id: int
    producer_epoch: int
    guard: VerificationGuard | None = None
    """Of the verification that it is open; None: nobody verifies."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request that waits is told."""

    waiter: Waiter
    response: Any
    """Whatever the method that was given ``waiter`` says its answer is."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a shard wants done after its state has changed already."""

    records: Sequence[Record] = ()
    """In the log in this order."""
    answers: Sequence[Answer] = ()
    """Given when ``records``, and all that the shard decided before, are replicated."""
    producer: TransactionProducer | None = None
    """Whose transaction ``records`` are part of; None: of none."""
    effects: Sequence[Any] = ()
    """What else is to be done then, as the shard's own kind of effects; lost with the shard."""
    is_atomic: bool = True
    """Whether ``records`` are one batch, all of which the log has, or nothing. Else they are cut
    into as many as it takes, and the first of them may be all that a new leader finds."""


class Shard(Protocol):
    """One partition of an internal topic, as its leader knows it.

    Order of calls: ``replay`` for each record of the log, ``loaded`` once, then anything;
    ``unloaded`` once at the end, after which it is thrown away. When an append fails, too, it is
    thrown away, and another one is loaded from the log: memory never says more than the log.

    Of the two clocks ``now_ms`` is the loop's, for timers: it never jumps. ``wall_ms`` is the time
    of day in ms, for what is stored and compared with what was stored.
    """

    def replay(self, key: bytes, value: bytes | None, *, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take over one record of the log; later ones for a key replace earlier ones.

        One with a producer id is part of a transaction, and counts when that is committed.

        Raises:
            Malformed: it is not one of this topic's records; whoever loads logs it and goes on.
        """
        ...

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Take over a marker of the log, which ends the producer's transaction in it."""
        ...

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        """All that the log has was replayed: start timers, check what was found."""
        ...

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        """Do what is due; called at ``next_due_ms`` or later, perhaps without need."""
        ...

    def next_due_ms(self) -> int | None:
        """Return when, on the loop's clock, ``expire`` has something to do; None: never."""
        ...

    def unloaded(self, error: ErrorCode) -> Sequence[Answer]:
        """End: this broker leads no longer, or the log refused a batch.

        Returns answers for those that wait and deserve another one than ``error``; all others that
        wait get ``error`` from whoever runs the shard.
        """
        ...


def partition_for(key: str, partition_count: int) -> int:
    """Return the partition of its internal topic that a group or a transactional id is in.

    Source: GroupMetadataManager.partitionFor; String.hashCode; Utils.abs.
    """
    code_units = key.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(code_units), 2):
        hashed = (31 * hashed + (code_units[at] << 8 | code_units[at + 1])) % _INT32
    if hashed >= _INT32_SIGN:
        hashed = (_INT32 - hashed) % _INT32_SIGN  # The smallest int32 has no opposite; it is 0.
    return hashed % partition_count


def batch_size_bound(records: Iterable[Record]) -> int:
    """Return what a batch of these takes at most, in bytes, before it is compressed."""
    return HEADER_SIZE_BYTES + sum(record_size_bound(record) for record in records)


def record_size_bound(record: Record) -> int:
    """Return what one record takes in a batch at most, in bytes."""
    key, value = record
    return len(key) + len(value or b"") + _RECORD_OVERHEAD_BYTES


def in_batches(records: Iterable[Record], bytes_max: int) -> Iterator[list[Record]]:
    """Cut records into batches of at most ``bytes_max``, or of one that alone is larger."""
    batch: list[Record] = []
    size_bytes = HEADER_SIZE_BYTES
    for record in records:
        record_bytes = record_size_bound(record)
        if batch and size_bytes + record_bytes > bytes_max:
            yield batch
            batch, size_bytes = [], HEADER_SIZE_BYTES
        batch.append(record)
        size_bytes += record_bytes
    if batch:
        yield batch


def append_error(code: ErrorCode) -> ErrorCode:
    """Return what waits for a batch is told when the log refused it with ``code``.

    A commit that is too large is told INVALID_COMMIT_OFFSET_SIZE instead, by whoever asked for it.
    Source: CoordinatorOperationExceptionHelper.handleOperationException.
    """
    return _APPEND_ERRORS.get(code, code)


_APPEND_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
