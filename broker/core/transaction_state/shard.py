"""One partition of ``__transaction_state``: the transactional ids in it, and who asked for what.

Every method that takes a waiter decides at once. What must happen when the log has it, the
markers of an ended transaction, is an effect. Source: TransactionCoordinator.scala,
TransactionStateManager.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from broker.core.coordination import Answer, Decided, Record, Waiter, batch_size_bound
from broker.core.transaction_state.begin import (
    AbortedFirst,
    BeginAsked,
    ProducerIdAndEpoch,
    begun,
    needs_producer_id,
)
from broker.core.transaction_state.end import (
    EndAsked,
    EndedAlready,
    aborted_by_coordinator,
    ended,
    may_need_producer_id,
)
from broker.core.transaction_state.metadata import (
    AT_REST,
    PREPARED,
    TransactionMetadata,
    TransactionState,
    completed,
    with_partitions,
)
from broker.core.transaction_state.stored import (
    key_of,
    read_metadata,
    read_transactional_id,
    record_of,
)
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

EXPIRED_OF_A_BATCH_MAX: Final = 1_000
"""Transactional ids; the rest waits for the next look."""


END_ROOM_BYTES: Final = 64
"""What the record of a transaction grows by when it ends: the next producer id, and tags."""


class TransactionLimits(NamedTuple):
    """Configurations, in ms."""

    timeout_ms_max: int
    """``transaction.max.timeout.ms``."""
    id_expiration_ms: int
    """``transactional.id.expiration.ms``."""
    abort_interval_ms: int
    """``transaction.abort.timed.out.transaction.cleanup.interval.ms``."""
    expiry_interval_ms: int
    """``transaction.remove.expired.transaction.cleanup.interval.ms``."""


class Initialized(NamedTuple):
    """The answer to InitProducerId and EndTxn."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class MarkersDue(NamedTuple):
    """An effect: write these markers, then say that it ``is_done``."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    transaction_version: int


class TransactionShard:
    """A `coordination.Shard`."""

    def __init__(
        self,
        limits: TransactionLimits,
        transaction_version: int,
        batch_bytes_max: Callable[[], int],
    ) -> None:
        """Begin without a transactional id; ``batch_bytes_max`` is what the log takes, now."""
        self._limits = limits
        self._transaction_version = transaction_version
        self._batch_bytes_max = batch_bytes_max
        self._ids: dict[str, TransactionMetadata] = {}
        self._next_abort_ms: int | None = None
        self._next_expiry_ms = 0

    # Loading.

    def replay(self, key: bytes, value: bytes | None, *, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take over one record of the log."""
        del producer_id  # No producer writes here but this coordinator.
        transactional_id = read_transactional_id(key)
        if value is None:
            self._ids.pop(transactional_id, None)
        else:
            self._ids[transactional_id] = read_metadata(transactional_id, value)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Take over a marker: there is none in this topic."""

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        """Send the markers of transactions whose end was decided before."""
        del wall_ms
        self._next_abort_ms = now_ms + self._limits.abort_interval_ms
        self._next_expiry_ms = now_ms + self._limits.expiry_interval_ms
        return Decided(effects=[_due(one) for one in self._ids.values() if one.state in PREPARED])

    def unloaded(self, error: ErrorCode) -> Sequence[Answer]:
        """End: whoever waits is told ``error`` by whoever runs the shard."""
        del error
        return ()

    # Timers.

    def next_due_ms(self) -> int | None:
        """Return when transactions are looked at for being late, or ids for being old."""
        if self._next_abort_ms is None:
            return None
        return min(self._next_abort_ms, self._next_expiry_ms)

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        """Abort transactions that are late; forget ids that nobody used for long."""
        records: list[Record] = []
        effects: list[MarkersDue] = []
        if self._next_abort_ms is not None and now_ms >= self._next_abort_ms:
            self._next_abort_ms = now_ms + self._limits.abort_interval_ms
            for late in self._late(wall_ms):
                aborted = aborted_by_coordinator(late, self._transaction_version, wall_ms)
                records.append(self._put(aborted))
                effects.append(_due(aborted))
        if now_ms >= self._next_expiry_ms:
            self._next_expiry_ms = now_ms + self._limits.expiry_interval_ms
            for transactional_id in self._unused(wall_ms):
                del self._ids[transactional_id]
                records.append((key_of(transactional_id), None))
        return Decided(records, effects=effects, is_atomic=False)

    def _late(self, wall_ms: int) -> list[TransactionMetadata]:
        return [
            one
            for one in self._ids.values()
            if (deadline_ms := one.deadline_ms) is not None and deadline_ms < wall_ms
        ]

    def _unused(self, wall_ms: int) -> list[str]:
        before_ms = wall_ms - self._limits.id_expiration_ms
        unused = (
            name
            for name, one in self._ids.items()
            if one.state in AT_REST and one.updated_ms <= before_ms
        )
        return [name for name, _ in zip(unused, range(EXPIRED_OF_A_BATCH_MAX), strict=False)]

    # Producers.

    def needs_producer_id_to_begin(self, asked: BeginAsked) -> bool:
        """Tell whether ``begin`` wants a producer id that nobody had; get it before."""
        return needs_producer_id(self._ids.get(asked.transactional_id), asked)

    def begin(
        self, waiter: Waiter, asked: BeginAsked, *, new_producer_id: int, wall_ms: int
    ) -> Decided:
        """InitProducerId; the answer is ``Initialized``.

        ``new_producer_id`` of -1 where one is needed after all: another request came between, and
        the producer is told to ask again.
        """
        if not 0 < asked.timeout_ms <= self._limits.timeout_ms_max:
            return _told(waiter, Initialized(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
        known = self._ids.get(asked.transactional_id)
        if needs_producer_id(known, asked) and new_producer_id == NO_PRODUCER_ID:
            return _told(waiter, Initialized(ErrorCode.CONCURRENT_TRANSACTIONS))
        following = begun(
            known,
            asked,
            new_producer_id=new_producer_id,
            transaction_version=self._transaction_version,
            wall_ms=wall_ms,
        )
        if isinstance(following, ErrorCode):
            return _told(waiter, Initialized(following))
        if isinstance(following, AbortedFirst):
            aborted = following.metadata
            answer = Answer(waiter, Initialized(ErrorCode.CONCURRENT_TRANSACTIONS))
            return Decided([self._put(aborted)], [answer], effects=[_due(aborted)])
        told = Initialized(ErrorCode.NONE, following.producer_id, following.producer_epoch)
        return Decided([self._put(following)], [Answer(waiter, told)])

    def add_partitions(
        self,
        waiter: Waiter,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        *,
        client_transaction_version: int,
        wall_ms: int,
    ) -> Decided:
        """AddPartitionsToTxn and AddOffsetsToTxn; the answer is an ``ErrorCode``.

        A transaction that the log could not take is refused, and stays what it was. Source:
        TransactionStateManager.appendTransactionToLog.
        """
        known = self._ids.get(transactional_id)
        code = _check_producer(known, producer)
        if known is None or code is not ErrorCode.NONE:
            return _told(waiter, code)
        if known.state is TransactionState.ONGOING and set(partitions) <= set(known.partitions):
            return _told(waiter, ErrorCode.NONE)
        grown = with_partitions(
            known,
            partitions,
            client_transaction_version=client_transaction_version,
            wall_ms=wall_ms,
        )
        record = record_of(grown, self._transaction_version)
        if batch_size_bound([record]) + END_ROOM_BYTES > self._batch_bytes_max():
            return _told(waiter, ErrorCode.UNKNOWN_SERVER_ERROR)
        self._ids[transactional_id] = grown
        return Decided([record], [Answer(waiter, ErrorCode.NONE)])

    def verify_partitions(
        self,
        waiter: Waiter,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
    ) -> Decided:
        """Tell a leader whether partitions are in an open transaction (KIP-890, part 1).

        The answer is one ``ErrorCode`` for each, in order.
        """
        known = self._ids.get(transactional_id)
        code = _check_producer(known, producer)
        if known is None or code is not ErrorCode.NONE:
            return _told(waiter, [code] * len(partitions))
        inside = set(known.partitions)
        codes = [
            ErrorCode.NONE if each in inside else ErrorCode.TRANSACTION_ABORTABLE
            for each in partitions
        ]
        return _told(waiter, codes)

    def may_need_producer_id_to_end(self, transactional_id: str, asked: EndAsked) -> bool:
        """Tell whether ``end`` may want a producer id that nobody had; get it before."""
        return may_need_producer_id(self._ids.get(transactional_id), asked)

    def end(
        self,
        waiter: Waiter,
        transactional_id: str,
        asked: EndAsked,
        *,
        new_producer_id: int,
        wall_ms: int,
    ) -> Decided:
        """EndTxn; the answer is ``Initialized``: what the producer goes on with."""
        known = self._ids.get(transactional_id)
        if may_need_producer_id(known, asked) and new_producer_id == NO_PRODUCER_ID:
            return _told(waiter, Initialized(ErrorCode.CONCURRENT_TRANSACTIONS))
        following = ended(known, asked, new_producer_id=new_producer_id, wall_ms=wall_ms)
        if isinstance(following, ErrorCode):
            return _told(waiter, Initialized(following))
        if isinstance(following, EndedAlready):
            return _told(waiter, Initialized(ErrorCode.NONE, *following))
        told = Initialized(ErrorCode.NONE, *_shown(following))
        record, answer = self._put(following), Answer(waiter, told)
        return Decided([record], [answer], effects=[_due(following)])

    def markers_written(self, due: MarkersDue, wall_ms: int) -> Decided:
        """Complete a transaction whose markers all partitions have, unless it went on since."""
        known = self._ids.get(due.transactional_id)
        if known is None or known.state not in PREPARED or _due(known) != due:
            return Decided()
        return Decided([self._put(completed(known, wall_ms))])

    # Looking.

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """Return what is known of a transactional id."""
        return self._ids.get(transactional_id)

    def transactions(self) -> Iterator[TransactionMetadata]:
        """Yield all that is known."""
        yield from self._ids.values()

    def _put(self, metadata: TransactionMetadata) -> Record:
        self._ids[metadata.transactional_id] = metadata
        return record_of(metadata, self._transaction_version)


def _told(waiter: Waiter, response: object) -> Decided:
    return Decided(answers=[Answer(waiter, response)])


def _check_producer(known: TransactionMetadata | None, producer: ProducerIdAndEpoch) -> ErrorCode:
    """Tell whether a producer may have partitions in a transaction now."""
    if known is not None and known.will_be(producer.producer_id):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if known is None or known.producer_id != producer.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if known.producer_epoch != producer.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if known.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE


def _shown(metadata: TransactionMetadata) -> tuple[int, int]:
    """Return the id and epoch with which a producer goes on after an end."""
    if metadata.next_producer_id != NO_PRODUCER_ID:
        return metadata.next_producer_id, 0
    return metadata.producer_id, metadata.producer_epoch


def _due(metadata: TransactionMetadata) -> MarkersDue:
    return MarkersDue(
        metadata.transactional_id,
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.state is TransactionState.PREPARE_COMMIT,
        metadata.partitions,
        metadata.client_transaction_version,
    )
