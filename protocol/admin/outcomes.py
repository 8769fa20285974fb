"""What became of an order, as its answer tells it: for the whole of it and for each part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition


class Told(Protocol):
    """An answer, or a part of one, that tells its error by code and message."""

    error_code: int
    error_message: str | None


class Outcome(NamedTuple):
    """Of an order, or of a part of it."""

    code: ErrorCode
    message: str | None = None
    """None where the answer has none, or no room for one."""

    @classmethod
    def of(cls, told: Told) -> Outcome:
        """Return what an answer tells."""
        return cls(ErrorCode(told.error_code), told.error_message)

    def check(self) -> None:
        """Raise an error.

        Raises:
            KafkaError: unless the code is NONE.
        """
        if self.code is not ErrorCode.NONE:
            raise KafkaError(self.code, self.message or "")


class PartitionOutcomes(NamedTuple):
    """Of an order about partitions."""

    whole: Outcome
    """An error here stands for every partition."""
    parts: Mapping[TopicPartition, Outcome]

    def of(self, tp: TopicPartition) -> Outcome:
        """Return that of a partition; one that the answer leaves out fares as the whole."""
        return self.parts.get(tp, self.whole) if self.whole.code is ErrorCode.NONE else self.whole

    def check(self) -> None:
        """Raise the first error: of the whole, else of a part.

        Raises:
            KafkaError: there is one.
        """
        self.whole.check()
        for outcome in self.parts.values():
            outcome.check()
