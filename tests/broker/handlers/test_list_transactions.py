"""ListTransactions: what passes the filters, of what this broker coordinates."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.begin import BeginAsked
from broker.handlers import served
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import ListTransactionsRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_transactional_ids_are_listed_by_state(broker: FakeBroker, version: int):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    for states, names in (([], ["pay"]), (["Empty"], ["pay"]), (["Ongoing", "Odd"], [])):
        request = ListTransactionsRequest(state_filters=states, producer_id_filters=[])
        response = await broker.ask(request, version)
        assert response.error_code == ErrorCode.NONE
        assert [row.transactional_id for row in response.transaction_states] == names
        assert list(response.unknown_state_filters) == [name for name in states if name == "Odd"]


async def test_transactional_ids_are_listed_by_producer_duration_and_pattern(broker: FakeBroker):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    (pay,) = (await broker.ask(ListTransactionsRequest(), 2)).transaction_states
    for request, is_listed in (
        (ListTransactionsRequest(producer_id_filters=[pay.producer_id]), True),
        (ListTransactionsRequest(producer_id_filters=[pay.producer_id + 1]), False),
        (ListTransactionsRequest(duration_filter=2**62), False),
        (ListTransactionsRequest(transactional_id_pattern="p.*"), True),
        (ListTransactionsRequest(transactional_id_pattern="p"), False),
    ):
        response = await broker.ask(request, 2)
        assert [row.transactional_id for row in response.transaction_states] == ["pay"] * is_listed


async def test_a_pattern_that_is_none_is_refused(broker: FakeBroker):
    request = ListTransactionsRequest(state_filters=["Odd"], transactional_id_pattern="(")
    response = await broker.ask(request, 2)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert not response.unknown_state_filters
    assert not response.transaction_states


async def test_nothing_is_listed_while_a_partition_is_loaded(broker: FakeBroker):
    broker.transactions.shards.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    response = await broker.ask(ListTransactionsRequest(), 0)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_the_version_with_patterns_is_announced_as_of_4_1():
    announced = {release: served(release)[66].high for release in ("3.7", "3.9", "4.0", "4.1")}
    assert announced == {"3.7": 0, "3.9": 1, "4.0": 1, "4.1": 2}
    assert served(None)[66].high == 2
