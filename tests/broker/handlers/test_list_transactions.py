"""ListTransactions: what passes the filters, of what this broker coordinates."""

from __future__ import annotations

import pytest

from broker.core.transaction_state.begin import BeginAsked
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.transactions import ListTransactionsRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", [0, 1])
async def test_transactional_ids_are_listed_by_state(broker: FakeBroker, version: int):
    await broker.transactions.begin(BeginAsked("pay", 60_000))
    for states, names in (([], ["pay"]), (["Empty"], ["pay"]), (["Ongoing", "Odd"], [])):
        request = ListTransactionsRequest(state_filters=states, producer_id_filters=[])
        response = await broker.ask(request, version)
        assert response.error_code == ErrorCode.NONE
        assert [row.transactional_id for row in response.transaction_states] == names
        assert list(response.unknown_state_filters) == [name for name in states if name == "Odd"]


async def test_nothing_is_listed_while_a_partition_is_loaded(broker: FakeBroker):
    broker.transactions.shards.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    response = await broker.ask(ListTransactionsRequest(), 0)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
