"""What idempotent producers wrote to one log: duplicates, gaps and fenced epochs.

It keeps the last five batches per producer, as Kafka does, no records, and where open transactions
begin. What ended is in `broker.core.transactions`.
Source: ProducerStateManager.java, ProducerAppendInfo.java, KIP-98, KIP-360.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker.core.producer_entry import (
    BATCHES_KEPT,
    Duplicate,
    Producer,
    ProducerEntry,
    WrittenBatch,
    out_of_order,
)
from broker.core.transactions import EndedTransaction, EndMarker, read_marker
from broker.core.verification import (
    ALREADY_OPEN,
    VerificationGuard,
    Verifications,
    not_verified,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_OFFSET, NO_SEQUENCE, NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader

LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000
UNIQUE_EPOCHS_SINCE: Final = 2
"""The transaction version from which on a marker's epoch must be newer than the data's.

Where nothing is open it may be the same: the marker is written already and was sent again, as its
answer was lost (KAFKA-19999).
"""


class ProducerStates:
    """The producers of one log."""

    __slots__ = ("_batches_kept", "_open", "_producers", "_verifications")

    def __init__(
        self, entries: Iterable[ProducerEntry] = (), *, batches_kept: int = BATCHES_KEPT
    ) -> None:
        """Begin with the entries of a snapshot.

        ``batches_kept``: 1 is enough for whoever writes snapshots and judges nobody.
        """
        self._batches_kept = batches_kept
        self._producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}
        """First offset -> producer id of every open transaction, ascending."""
        self._verifications = Verifications()
        self.load(entries)

    def __len__(self) -> int:
        return len(self._producers)

    # What clients and coordinators may write.

    def check(
        self, header: BatchHeader, guard: VerificationGuard | None = None
    ) -> Duplicate | None:
        """Decide whether a client's batch may be appended; the Duplicate when it was before.

        A producer that is not known may start with any sequence. A transactional batch must bring
        the ``guard`` of ``begin_verification``; None: transactions are not verified.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance has written;
                OUT_OF_ORDER_SEQUENCE_NUMBER, records before this batch are missing, or it repeats
                one older than the last five; INVALID_TXN_STATE, a transaction is open and the batch
                is no part of it, or it is not verified that the batch's transaction is open.
        """
        producer = self._producers.get(header.producer_id)
        if guard is not None:
            duplicate = None if producer is None else producer.duplicate_of(header)
            if duplicate is not None:
                return duplicate
            self._check_verified(header, guard)
        if producer is None:
            return None
        if header.producer_epoch == producer.epoch:
            duplicate = producer.check_sequence(header)
            if duplicate is not None:
                return duplicate
        else:
            _check_epoch(header.producer_id, header.producer_epoch, producer.epoch)
            if header.base_sequence != 0:
                raise out_of_order(header, "a new producer epoch begins with sequence 0")
        if producer.transaction_first_offset != NO_OFFSET and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has a transaction open since offset "
                f"{producer.transaction_first_offset}: the batch must be part of it",
            )
        return None

    def check_epoch(self, header: BatchHeader, guard: VerificationGuard | None = None) -> None:
        """Decide whether a coordinator's batch may be appended, in which sequences mean nothing.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance of the producer has written;
                INVALID_TXN_STATE, it is not verified that its transaction is open.
        """
        producer = self._producers.get(header.producer_id)
        if producer is not None:
            _check_epoch(header.producer_id, header.producer_epoch, producer.epoch)
        if guard is not None and not self.is_verified(
            header.producer_id, header.producer_epoch, guard
        ):
            raise not_verified(header.producer_id)

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, *, raises_epochs: bool, now_ms: int
    ) -> VerificationGuard:
        """Return what a transactional batch must bring; ALREADY_OPEN: nobody is to be asked.

        What a fenced instance asks leaves nothing behind: its sequence is not one that must come
        before those of the newest one.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance of the producer has written.

        Source: UnifiedLog.maybeStartTransactionVerification (4.3).
        """
        producer = self._producers.get(producer_id)
        if producer is not None:
            _check_epoch(producer_id, epoch, producer.epoch)
        if self._is_open(producer_id, epoch):
            return ALREADY_OPEN
        return self._verifications.begin(
            producer_id, epoch, sequence, raises_epochs=raises_epochs, now_ms=now_ms
        )

    def is_verified(self, producer_id: int, epoch: int, guard: VerificationGuard) -> bool:
        """Tell whether a transaction is open here, or was verified since its last marker."""
        return self._is_open(producer_id, epoch) or self._verifications.is_guarded_by(
            producer_id, guard
        )

    def _is_open(self, producer_id: int, epoch: int) -> bool:
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.epoch == epoch
            and producer.transaction_first_offset != NO_OFFSET
        )

    def _check_verified(self, header: BatchHeader, guard: VerificationGuard) -> None:
        """Look at the epoch first: who is fenced is told so, and may begin anew."""
        producer = self._producers.get(header.producer_id)
        if producer is not None:
            _check_epoch(header.producer_id, header.producer_epoch, producer.epoch)
        if not self.is_verified(header.producer_id, header.producer_epoch, guard):
            raise not_verified(header.producer_id)
        has_batches = producer is not None and bool(producer.batches)
        self._verifications.check_sequence(header, is_known=has_batches)

    def check_marker(self, marker: EndMarker) -> None:
        """Decide whether a coordinator's marker may be appended. One without a transaction may.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, a newer instance has written, or, from transaction
                version 2 on, the open transaction is a later one than the marker's;
                TRANSACTION_COORDINATOR_FENCED, a newer coordinator has.
        """
        producer = self._producers.get(marker.producer_id)
        if producer is None:
            return
        is_open = producer.transaction_first_offset != NO_OFFSET
        is_late = is_open and marker.transaction_version >= UNIQUE_EPOCHS_SINCE
        _check_epoch(marker.producer_id, marker.producer_epoch, producer.epoch + is_late)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch} for producer {marker.producer_id}, "
                f"the last one seen is {producer.coordinator_epoch}",
            )

    # What was written.

    def update(
        self,
        header: BatchHeader,
        base_offset: int,
        *,
        timestamp: int | None = None,
        now_ms: int = NO_TIMESTAMP,
    ) -> None:
        """Note a data batch that gets ``base_offset``; a leader must ``check`` it before.

        Args:
            header: the batch; one without a producer id changes nothing.
            base_offset: the offset of its first record, whatever the header says.
            timestamp: the batch's max timestamp when it is stamped with the append time.
            now_ms: wall clock; without it the record timestamps tell how long a producer is idle.
        """
        producer_id = header.producer_id
        if producer_id < 0:
            return
        producer = self._producer_of(producer_id, header.producer_epoch)
        at = header.max_timestamp if timestamp is None else timestamp
        producer.timestamp = at
        producer.seen_ms = now_ms
        delta = header.last_offset_delta
        last_sequence = header.last_sequence
        producer.last_sequence = last_sequence
        batches = producer.batches
        batches.append(
            WrittenBatch(header.base_sequence, last_sequence, base_offset + delta, delta, at)
        )
        if len(batches) > self._batches_kept:
            del batches[0]
        if header.is_transactional and producer.transaction_first_offset == NO_OFFSET:
            producer.transaction_first_offset = base_offset
            self._open[base_offset] = producer_id
            self._verifications.data_written(producer_id)

    def end_transaction(
        self, marker: EndMarker, offset: int, *, timestamp: int, now_ms: int = NO_TIMESTAMP
    ) -> EndedTransaction | None:
        """Note a marker that gets ``offset``; a leader must ``check_marker`` it before.

        None when it ends nothing: there was no data, or another marker came first.
        """
        self._verifications.marker_written(marker.producer_id, marker.producer_epoch)
        producer = self._producer_of(marker.producer_id, marker.producer_epoch)
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.timestamp = timestamp
        producer.seen_ms = now_ms
        first_offset = producer.transaction_first_offset
        if first_offset == NO_OFFSET:
            return None
        producer.transaction_first_offset = NO_OFFSET
        del self._open[first_offset]
        first_open = self.first_open_offset
        return EndedTransaction(
            marker.producer_id,
            first_offset,
            offset,
            offset + 1 if first_open == NO_OFFSET else first_open,
            not marker.is_commit,
        )

    def note(
        self, header: BatchHeader, buffer: Buffer, position: int, *, now_ms: int = NO_TIMESTAMP
    ) -> EndedTransaction | None:
        """Note a batch with a producer id that has its offset: replicated, or found on disk.

        A control batch must lie whole in ``buffer``; of others only ``header`` is used. Returns the
        transaction that it ended.

        Raises:
            Malformed: the record of a control batch cannot be read.
        """
        if not header.is_control:
            self.update(header, header.base_offset, now_ms=now_ms)
            return None
        marker = read_marker(header, buffer, position)
        if marker is None:
            return None
        at = header.max_timestamp
        return self.end_transaction(marker, header.base_offset, timestamp=at, now_ms=now_ms)

    # What a snapshot left out.

    def lacks_batches(self, first_offset: int) -> bool:
        """Tell whether a producer that wrote at ``first_offset`` or behind has more in the log."""
        return any(producer.lacks_batches(first_offset) for producer in self._producers.values())

    def recall(self, headers: Iterable[BatchHeader]) -> None:
        """Fill in the last batches of producers that come from a snapshot, which names one each.

        ``headers`` are of the log's batches up to the snapshot, in order, without a gap.
        """
        found: dict[int, list[WrittenBatch]] = {}
        for header in headers:
            producer = self._producers.get(header.producer_id)
            if producer is None or header.is_control or header.producer_epoch != producer.epoch:
                continue
            delta, at = header.last_offset_delta, header.max_timestamp
            found.setdefault(header.producer_id, []).append(
                WrittenBatch(
                    header.base_sequence, header.last_sequence, header.last_offset, delta, at
                )
            )
        for producer_id, batches in found.items():
            self._producers[producer_id].recall(batches)

    # What is open.

    @property
    def first_open_offset(self) -> int:
        """Where the oldest open transaction begins, -1 without one."""
        return next(iter(self._open), NO_OFFSET)

    def has_late_transaction(self, now_ms: int, timeout_max_ms: int) -> bool:
        """Tell whether the producer with the oldest open transaction has been silent too long.

        Its coordinator should have aborted it after ``timeout_max_ms`` at the latest, and some
        minutes. Times are those of records.
        """
        for producer_id in self._open.values():
            last_ms = self._producers[producer_id].timestamp
            return last_ms > 0 and now_ms - last_ms > timeout_max_ms + LATE_TRANSACTION_BUFFER_MS
        return False

    # What is forgotten.

    def expire(self, now_ms: int, expiration_ms: int) -> list[int]:
        """Forget producers that are idle for ``expiration_ms`` and have nothing open.

        One that was found on disk with records that bear no time counts from now on.
        Returns their ids.
        """
        for producer in self._producers.values():
            if producer.last_seen_ms < 0:
                producer.seen_ms = now_ms
        expired = [
            producer_id
            for producer_id, producer in self._producers.items()
            if producer.transaction_first_offset == NO_OFFSET
            and now_ms - producer.last_seen_ms >= expiration_ms
        ]
        self.forget(expired)
        self._verifications.expire(now_ms, expiration_ms)
        return expired

    def forget(self, producer_ids: Iterable[int]) -> None:
        """Forget producers that have nothing open; unknown ones are ignored."""
        for producer_id in producer_ids:
            producer = self._producers.get(producer_id)
            if producer is not None and producer.transaction_first_offset == NO_OFFSET:
                del self._producers[producer_id]

    def truncate_from_end(self, offset: int) -> None:
        """Forget batches that reach ``offset`` or beyond, as far as it is known what was before.

        The sequence before the oldest forgotten batch is known from that batch, so the producer
        must go on exactly there. The truth is in the log: read it and ``load`` it.
        """
        for producer in self._producers.values():
            producer.truncate_from_end(offset)
        self._open = {first: one for first, one in self._open.items() if first < offset}

    def clear(self) -> None:
        """Forget all producers: the log was truncated fully."""
        self._producers.clear()
        self._open.clear()

    def snapshot_entries(self) -> list[ProducerEntry]:
        """Return the entries of a snapshot, by producer id."""
        return [
            self._producers[producer_id].entry(producer_id)
            for producer_id in sorted(self._producers)
        ]

    def for_snapshots(self) -> ProducerStates:
        """Return a copy that keeps of each producer what a snapshot needs."""
        return ProducerStates(self.snapshot_entries(), batches_kept=1)

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Replace everything by the entries of a snapshot."""
        self._producers = {entry.producer_id: Producer.from_entry(entry) for entry in entries}
        self._open = {
            first_offset: producer_id
            for first_offset, producer_id in sorted(
                (producer.transaction_first_offset, producer_id)
                for producer_id, producer in self._producers.items()
            )
            if first_offset != NO_OFFSET
        }

    def _producer_of(self, producer_id: int, epoch: int) -> Producer:
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = Producer(epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.last_sequence = NO_SEQUENCE
            producer.batches.clear()
        return producer


def _check_epoch(producer_id: int, epoch: int, known: int) -> None:
    if epoch < known:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {producer_id} has epoch {epoch}, it must be {known} or above",
        )
