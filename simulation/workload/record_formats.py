"""How records travel between clients and brokers, by the age of the client. Sends nothing.

Before Kafka 0.10 and 0.11 they were message sets of formats 0 and 1; brokers still take them, and
give them to consumers of that age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from simulation.core.history import ProducerRange

PRODUCE_VERSIONS: Final[Mapping[int, int]] = {0: 0, 1: 2, 2: 9}
"""Record format -> the version of Produce that a client sends."""
FETCH_VERSIONS: Final[Mapping[int, int]] = {0: 1, 1: 3, 2: 12}
"""Record format -> the version of Fetch that a client sends."""
NOT_IDEMPOTENT: Final = ProducerRange(-1, -1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFormat:
    """How a producer writes its records."""

    message_format: int = 2
    """0 and 1 have neither producer ids nor zstd."""
    compression: Compression = Compression.NONE

    @property
    def has_headers(self) -> bool:
        """Whether records have headers."""
        return self.message_format == max(PRODUCE_VERSIONS)

    @property
    def has_timestamps(self) -> bool:
        """Whether records say when they were made."""
        return self.message_format > 0

    @property
    def produce_version(self) -> int:
        """The version of Produce that carries it."""
        return PRODUCE_VERSIONS[self.message_format]

    def encoded(self, records: Sequence[NewRecord], producer: ProducerRange | None) -> bytearray:
        """Return the records of one request."""
        if self.message_format < max(PRODUCE_VERSIONS):
            return build_message_set(
                records,
                MessageSetOptions(magic=self.message_format, compression=self.compression),
            )
        numbers = producer or NOT_IDEMPOTENT
        return build_batch(
            records,
            BatchOptions(
                compression=self.compression,
                producer_id=numbers.producer_id,
                producer_epoch=numbers.producer_epoch,
                base_sequence=numbers.base_sequence,
            ),
        )


NEWEST_FORMAT: Final = RecordFormat()
"""Batches of format 2, not compressed."""
