"""Simulated producers write what they saw."""

from __future__ import annotations

from protocol.ids import TopicPartition
from protocol.metrics.rows import ClientRow
from simulation.core.client_view import history_rows
from simulation.core.history import Function, History, Send

TP = TopicPartition("orders", 0)


def test_a_history_becomes_rows_of_its_producers() -> None:
    now_us = 0
    history = History(lambda: now_us)
    for at_us, is_ok in ((100_000, True), (700_000, False), (900_000, True)):
        with history.begin("writer", Function.SEND, Send(TP, (1, 2), -1)) as operation:
            now_us = at_us
            if is_ok:
                operation.ok(operation.value)
            else:
                operation.fail("NOT_LEADER_OR_FOLLOWER")
    history.note("story", "a fault")
    (row,) = [row for row in history_rows(history, 1_000) if isinstance(row, ClientRow)]
    assert (row.client, row.acknowledged_count, row.failed_count) == ("writer", 4, 2)
    assert (row.silence_ms, row.silence_ended_at_ms) == (800, 1_900)
