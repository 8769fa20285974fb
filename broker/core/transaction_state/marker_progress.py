"""The markers of one ended transaction, on their way to the leaders of its partitions.

Source: TransactionMarkerRequestCompletionHandler, TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final

from broker.core.transaction_state.shard import MarkersDue
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


class MarkerFate(Enum):
    """What a leader's answer for one partition means."""

    WRITTEN = auto()
    """Or it never can be, which is as good: the log has no transactions."""
    AGAIN = auto()
    """Ask whoever leads it then."""
    OVER = auto()
    """Another coordinator, or a later epoch of the producer, was there: all of this one is over."""


_FATES: Final = {
    ErrorCode.NONE: MarkerFate.WRITTEN,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: MarkerFate.WRITTEN,
    ErrorCode.INVALID_PRODUCER_EPOCH: MarkerFate.OVER,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: MarkerFate.OVER,
}


def fate_of(code: ErrorCode) -> MarkerFate:
    """Return what to do after an answer; whatever is not known better is asked again."""
    return _FATES.get(code, MarkerFate.AGAIN)


class MarkerProgress:
    """Which partitions still lack the marker of one transaction."""

    __slots__ = ("coordinator_epoch", "due", "is_over", "left")

    def __init__(self, due: MarkersDue, coordinator_epoch: int) -> None:
        self.due = due
        self.coordinator_epoch = coordinator_epoch
        """The leader epoch of the coordinator's partition: leaders refuse those before it."""
        self.left: dict[TopicPartition, None] = dict.fromkeys(due.partitions)
        self.is_over = False
        """Whether nobody wants the rest to be written any more."""

    @property
    def is_done(self) -> bool:
        """Whether every partition has its marker."""
        return not self.left and not self.is_over

    def answered(self, tp: TopicPartition, code: ErrorCode) -> MarkerFate:
        """Take in what a leader answered for one partition."""
        fate = fate_of(code)
        if fate is MarkerFate.WRITTEN:
            self.left.pop(tp, None)
        elif fate is MarkerFate.OVER:
            self.is_over = True
        return fate

    def forget(self, tps: Iterable[TopicPartition]) -> None:
        """Take partitions out that are deleted."""
        for tp in tps:
            self.left.pop(tp, None)
