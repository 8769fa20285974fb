from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.history import Function, History, Invocation, Kind, Operation, Order, Send

TP = TopicPartition("orders", 0)
SEND = Send(TP, (1, 2), acks=-1)


class _Clock:
    def __init__(self) -> None:
        self.us = 0

    def __call__(self) -> int:
        self.us += 10
        return self.us


def _history() -> History:
    return History(_Clock())


def _begin(history: History, client: str = "writer") -> Invocation:
    return history.begin(client, Function.SEND, SEND)


def test_an_operation_begins_and_ends_as_two_entries_of_one_process() -> None:
    history = _history()

    with _begin(history) as sending:
        sending.ok(SEND._replace(base_offset=7, broker=2))

    begun, ended = history
    assert begun == Operation(0, 10, 0, "writer", Kind.INVOKE, Function.SEND, SEND)
    assert (ended.number, ended.at_us, ended.process, ended.kind) == (1, 20, 0, Kind.OK)
    assert ended.value == SEND._replace(base_offset=7, broker=2)


def test_operations_under_way_together_have_processes_of_their_own() -> None:
    history = _history()

    first, second = _begin(history), _begin(history)

    assert (first.process, second.process) == (0, 1)


def test_an_idle_process_of_the_same_client_is_used_again() -> None:
    history = _history()
    first, second = _begin(history), _begin(history)
    second.fail("NOT_ENOUGH_REPLICAS")
    first.ok(SEND)

    assert _begin(history).process == 0
    assert _begin(history).process == 1
    assert _begin(history, "another").process == 2


def test_a_process_that_does_not_know_what_became_of_its_operation_does_no_other() -> None:
    history = _history()
    _begin(history).unknown("timed out")

    assert _begin(history).process == 1


def test_an_operation_left_without_an_end_is_unknown() -> None:
    history = _history()
    with _begin(history):
        pass

    assert history.operations[-1].kind is Kind.INFO
    assert history.operations[-1].error == "given up"


def test_an_operation_ended_by_an_error_says_which() -> None:
    history = _history()
    with pytest.raises(RuntimeError), _begin(history):
        raise RuntimeError("the loop ends")

    assert history.operations[-1].error == "the loop ends"


def test_an_operation_ends_only_once() -> None:
    sending = _begin(_history())
    sending.ok(SEND)

    with pytest.raises(AssertionError, match="send of writer ended twice"):
        sending.fail("late")


def test_a_note_begins_and_ends_at_once() -> None:
    history = _history()

    history.note("run", "broker-1 killed")

    begun, ended = history
    assert begun.value == ended.value == Order(detail="broker-1 killed")
    assert (begun.kind, ended.kind, len(history)) == (Kind.INVOKE, Kind.OK, 2)
