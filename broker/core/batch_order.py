"""Where a batch may stand in a log that compaction or a move copies.

Base offset and leader epoch lie outside of a batch's CRC, so that a misread one looks whole: what
its log knows of its own segments says that it is not. Differs from Kafka, which believes them.
"""

from __future__ import annotations

from broker.core.leader_epochs import LeaderEpochs
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.entries import check_stored_crc, iterate_stored_batches


class BatchOrder:
    """The batches of a segment or log, in order: each is taken if it is right."""

    __slots__ = ("_end_offset", "_epochs", "_next_offset")

    def __init__(self, base_offset: int, end_offset: int, epochs: LeaderEpochs) -> None:
        """``end_offset`` is where the next segment begins; ``epochs`` are those of the log.

        Of what lies before the first known epoch, and of messages of old formats, none is known.
        """
        self._next_offset = base_offset
        self._end_offset = end_offset
        self._epochs = epochs

    def take(self, header: BatchHeader) -> str | None:
        """Go on behind the batch that stands next; return what is wrong with one that cannot."""
        first, last, epoch = header.base_offset, header.last_offset, header.partition_leader_epoch
        if first < self._next_offset or last >= self._end_offset:
            expected = f"{self._next_offset} to {self._end_offset - 1}"
            return f"offsets {first} to {last}, expected within {expected}"
        known = self._epochs.epoch_at(first)
        if NO_EPOCH not in (known, epoch) and epoch != known:
            return f"leader epoch {epoch} at offset {first}, expected {known}"
        self._next_offset = header.next_offset
        return None

    def goes_back(self, header: BatchHeader) -> bool:
        """Tell whether a batch begins before the end of the one before it."""
        return header.base_offset < self._next_offset


def check_copied(buffer: Buffer, order: BatchOrder) -> list[BatchHeader]:
    """Return the headers of whole batches that a move has read; ``order`` takes them.

    Raises:
        KafkaError: CORRUPT_MESSAGE: a batch is cut, its CRC is wrong, or it cannot stand there;
            OFFSET_OUT_OF_RANGE: it goes back, which ends a move, as Kafka's.
    """
    batches: list[BatchHeader] = []
    size_bytes = 0
    try:
        for position, header in iterate_stored_batches(buffer):
            if not check_stored_crc(buffer, position, header):
                raise _corrupt(f"wrong CRC of the batch at offset {header.base_offset}")
            reason = order.take(header)
            if reason is not None and order.goes_back(header):
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
            if reason is not None:
                raise _corrupt(reason)
            batches.append(header)
            size_bytes = position + header.size_bytes
    except Malformed as error:
        raise _corrupt(str(error)) from error
    if size_bytes != len(buffer):
        raise _corrupt(f"{size_bytes} of {len(buffer)} bytes are whole batches")
    return batches


def _corrupt(text: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, text)
