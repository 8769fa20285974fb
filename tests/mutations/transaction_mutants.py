"""Parts of coordinators and leaders that break one promise of transactions or commits each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from broker.coordinators.shard_host import ShardHost
from broker.core.coordination import Answer, Decided, Waiter
from broker.core.groups.group_offsets import GroupOffsets
from broker.core.producers import ProducerStates
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import Initialized, TransactionShard
from broker.core.transactions import EndedTransaction, EndedTransactions
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader


class HastyHost(ShardHost[Any]):
    """Answers before what it answers is replicated."""

    def take(self, decided: Decided) -> None:
        self._give(decided.answers)
        super().take(replace(decided, answers=()))


class EagerMarkers(ShardHost[Any]):
    """Has markers written before the decision for them is replicated."""

    def take(self, decided: Decided) -> None:
        self._do(decided.effects)
        super().take(replace(decided, effects=()))


class AbortingShard(TransactionShard):
    """Aborts what it is asked to commit."""

    def end(
        self,
        waiter: Waiter,
        transactional_id: str,
        asked: EndAsked,
        *,
        new_producer_id: int,
        wall_ms: int,
    ) -> Decided:
        asked = asked._replace(is_commit=False)
        return super().end(
            waiter, transactional_id, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
        )


class RefusingShard(TransactionShard):
    """Says of each transaction that is to be committed that it is not open."""

    def end(
        self,
        waiter: Waiter,
        transactional_id: str,
        asked: EndAsked,
        *,
        new_producer_id: int,
        wall_ms: int,
    ) -> Decided:
        if asked.is_commit:
            return Decided(answers=[Answer(waiter, Initialized(ErrorCode.INVALID_TXN_STATE))])
        return super().end(
            waiter, transactional_id, asked, new_producer_id=new_producer_id, wall_ms=wall_ms
        )


class BlindToAborts(EndedTransactions):
    """Tells readers of no aborted transaction."""

    __slots__ = ()

    def aborted_between(self, start: int, end: int) -> tuple[EndedTransaction, ...] | None:
        del start, end
        return ()


class HastyEnds(EndedTransactions):
    """Takes every marker for replicated."""

    __slots__ = ()

    def first_unreplicated_offset(self, high_watermark: int) -> int:
        del high_watermark
        return NO_OFFSET


class ForgottenAborts(EndedTransactions):
    """Tells readers of those aborted transactions alone whose marker they are given, too."""

    __slots__ = ()

    def aborted_between(self, start: int, end: int) -> tuple[EndedTransaction, ...] | None:
        aborted = super().aborted_between(start, end)
        return aborted and tuple(ended for ended in aborted if ended.last_offset < end)


class DroppedOffsets(GroupOffsets):
    """Forgets the offsets of each transaction, committed or not."""

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> Collection[str]:
        del is_commit
        return super().end_transaction(producer_id, is_commit=False)


class DeafStates(ProducerStates):
    """Takes no note of what a follower fetches."""

    __slots__ = ()

    def note(
        self, header: BatchHeader, buffer: Buffer, position: int, *, now_ms: int = -1
    ) -> EndedTransaction | None:
        del header, buffer, position, now_ms
        return None
