"""Makes evidence of transactions by hand: what was told, read and found in the logs."""

from __future__ import annotations

from typing import Literal

from protocol.ids import TopicPartition
from simulation.core.history import Assignment, Function, Invocation, Poll, Read, Send, Txn
from simulation.core.samples import BatchSample, LogSample
from tests.simulation.core.checkers.build import TP, Story

OTHER = TopicPartition("orders", 1)
RESULTS = TopicPartition("results", 0)
Marker = Literal["commit", "abort"]


def send(record: int, offset: int = -1, tp: TopicPartition = TP) -> Send:
    return Send(tp, (record,), -1, base_offset=offset)


class TransactionStory(Story):
    """Producers of transactions, and readers."""

    def begin_txn(self, *sends: Send, client: str = "writer") -> Invocation:
        return self.history.begin(client, Function.TXN, Txn(client, sends))

    def txn(self, *sends: Send, client: str = "writer") -> None:
        """One that was answered as committed."""
        self.begin_txn(*sends, client=client).ok(Txn(client, sends))

    def refused_commit(
        self, after_s: float, *, is_alone: bool = True, error: str = "INVALID_TXN_STATE"
    ) -> None:
        """One whose record was acknowledged, and whose commit was refused so much later."""
        self.at(1)
        txn = Txn("writer", (send(1, 0),), is_alone=is_alone)
        committing = self.history.begin("writer", Function.TXN, txn)
        self.at(1 + after_s)
        committing.unknown(error)

    def transform(self, offsets: list[int], *sends: Send) -> None:
        """One that makes a result of each of these records, which was answered as committed."""
        read = Read(TP, 0, records=tuple((offset, 100 + offset) for offset in offsets))
        told = Txn("teller", sends, (read,), "g")
        self.history.begin("teller", Function.TXN, told).ok(told)

    def assign(self, client: str, *tps: TopicPartition, group: str = "") -> None:
        told = Assignment(group, 1, tps)
        self.history.begin(client, Function.ASSIGN, told).ok(told)

    def poll(
        self,
        client: str,
        *records: tuple[int, int],
        tp: TopicPartition = TP,
        is_committed: bool = True,
    ) -> None:
        told = Poll(-1, (Read(tp, 0, records=records),), is_committed)
        self.history.begin(client, Function.POLL, told).ok(told)

    def ended_log(
        self, *parts: tuple[int, int] | Marker, tp: TopicPartition = TP, start: int = 0
    ) -> None:
        """The leader's log: (producer, record) in a transaction, or a marker of producer 7.

        Producer -1 writes without transactions.
        """
        batches = tuple(_batch(offset, part) for offset, part in enumerate(parts, start))
        log = LogSample(
            1, "d1", tp, is_future=False, is_leader=True, log_start_offset=start, batches=batches
        )
        self.samples.logs.append(log)


def _batch(offset: int, part: tuple[int, int] | Marker) -> BatchSample:
    if isinstance(part, str):
        return BatchSample(offset, offset + 1, 0, 7, 0, -1, (), is_transactional=True, marker=part)
    producer, record = part
    return BatchSample(
        offset, offset + 1, 0, producer, 0, 0, ((offset, record),), is_transactional=producer >= 0
    )
