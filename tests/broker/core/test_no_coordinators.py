"""What the log says of clients that wait for coordinators."""

from __future__ import annotations

from broker.core.no_coordinators import ClientsTold, no_transactions
from protocol.errors import ErrorCode


def test_each_client_is_told_of_once() -> None:
    told = ClientsTold()
    error = no_transactions(["readers"])
    first = told.warning("billing", "10.0.0.7", error)
    assert first is not None
    assert first.startswith("client 'billing' from 10.0.0.7 asked for transactions of ")
    assert "'readers'" in first
    assert "enable.idempotence" in first
    assert told.warning("billing", "10.0.0.7", error) is None
    assert told.warning("billing", "10.0.0.8", error) is not None
    assert told.warning("shipping", "10.0.0.7", error) is not None


def test_transactions_have_their_own_advice() -> None:
    error = no_transactions(["tx-1"])
    assert error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    told = ClientsTold().warning("p", "10.0.0.7", error)
    assert told is not None
    assert "transactions of 'tx-1'" in told
    assert "enable.idempotence" in told


def test_no_more_clients_are_remembered_than_a_bound_and_the_last_line_says_so() -> None:
    told = ClientsTold(clients_max=2)
    error = no_transactions(["g"])
    lines = [told.warning(f"client-{number}", "10.0.0.7", error) for number in range(4)]
    assert [line is None for line in lines] == [False, False, True, True]
    assert str(lines[1]).endswith("; no more clients are named")


def test_names_are_cut_and_take_no_line_of_their_own() -> None:
    told = ClientsTold()
    names = ["g\n" * 10_000, "a", "b", "c", "d"]
    line = told.warning("x\ny" * 10_000, "10.0.0.7", no_transactions(names))
    assert line is not None
    assert "\n" not in line
    assert "and 2 more" in line
    assert len(line) < 1_000
