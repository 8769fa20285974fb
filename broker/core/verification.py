"""What one log remembers of producers whose transaction is being verified (KIP-890, part 1).

A leader asks the coordinator before it takes the first batch of a transaction. It makes a guard
before it asks, and the batch must bring that guard: a marker that is written meanwhile takes the
guard away, so an answer that is out of date lets nothing in. Who is asked, and what is told to
clients, is in `broker.core.transaction_state.verifying`.
Source: VerificationStateEntry.java, VerificationGuard.java, ProducerStateManager.java,
UnifiedLog.updateProducers.
"""

from __future__ import annotations

from typing import Final

from broker.core.producer_entry import out_of_order
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import BatchHeader


class VerificationGuard:
    """Stands for one verification; it equals only itself."""

    __slots__ = ()


ALREADY_OPEN: Final = VerificationGuard()
"""Of a batch whose transaction was open already: nobody was asked, and it must be open still."""


class _Verification:
    """One producer of one log. ``created_ms`` is wall-clock time."""

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "raises_epochs")

    def __init__(self, sequence: int, epoch: int, *, raises_epochs: bool, now_ms: int) -> None:
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.raises_epochs = raises_epochs
        self.created_ms = now_ms

    def note(self, sequence: int, epoch: int) -> None:
        """Keep the lowest sequence that was seen of the newest epoch."""
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


class Verifications:
    """All of one log that are under way or were not used. Memory only: a new leader asks anew."""

    __slots__ = ("_of_producers",)

    def __init__(self) -> None:
        self._of_producers: dict[int, _Verification] = {}

    def begin(
        self, producer_id: int, epoch: int, sequence: int, *, raises_epochs: bool, now_ms: int
    ) -> VerificationGuard:
        """Return the guard that a batch must bring: one for all that a producer asks meanwhile.

        ``raises_epochs``: the producer has an epoch of its own for every transaction.
        """
        known = self._of_producers.get(producer_id)
        if known is None:
            known = _Verification(sequence, epoch, raises_epochs=raises_epochs, now_ms=now_ms)
            self._of_producers[producer_id] = known
        known.note(sequence, epoch)
        return known.guard

    def is_guarded_by(self, producer_id: int, guard: VerificationGuard) -> bool:
        """Tell whether a guard is the one that was given last, and no marker came since."""
        known = self._of_producers.get(producer_id)
        return known is not None and known.guard is guard

    def check_sequence(self, header: BatchHeader, *, is_known: bool) -> None:
        """Refuse a batch that would be the first though a lower one was seen on its way.

        ``is_known``: the log has batches of the producer.

        Raises:
            KafkaError: OUT_OF_ORDER_SEQUENCE_NUMBER.

        Source: ProducerAppendInfo.checkSequence.
        """
        known = self._of_producers.get(header.producer_id)
        if known is None:
            return
        if known.raises_epochs and not is_known and header.base_sequence != 0:
            raise out_of_order(header, "a transaction of version 2 begins with sequence 0")
        if header.base_sequence > known.lowest_sequence:
            raise out_of_order(header, f"{known.lowest_sequence} was seen and must come first")

    def data_written(self, producer_id: int) -> None:
        """The transaction is open in the log: from now on that is what counts."""
        self._of_producers.pop(producer_id, None)

    def marker_written(self, producer_id: int, epoch: int) -> None:
        """The transaction is over. A verification of the next one stays.

        Only where every transaction has its own epoch can the two be told apart: the marker has
        that of the next one.
        """
        known = self._of_producers.get(producer_id)
        if known is not None and not (known.raises_epochs and known.epoch == epoch):
            del self._of_producers[producer_id]

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget those from which no batch came."""
        expired = [
            producer_id
            for producer_id, known in self._of_producers.items()
            if now_ms - known.created_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._of_producers[producer_id]


def not_verified(producer_id: int) -> KafkaError:
    """Return the refusal of a batch whose transaction is neither open here nor verified."""
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"producer {producer_id} has no transaction open in this partition",
    )
