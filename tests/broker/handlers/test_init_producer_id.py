"""InitProducerId: a new id for each idempotent producer, a clear refusal for transactions."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.producer_ids import InitProducerIdRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", range(6))
async def test_an_idempotent_producer_gets_a_new_id_and_epoch_0(broker: FakeBroker, version: int):
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    if version >= 3:
        request.producer_id, request.producer_epoch = 5, 7
    response = await broker.ask(request, version)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 1_001, 0)


@pytest.mark.parametrize(
    ("transactional_id", "code"),
    [("", ErrorCode.INVALID_REQUEST), ("tx", ErrorCode.COORDINATOR_NOT_AVAILABLE)],
)
async def test_transactions_are_refused(broker: FakeBroker, transactional_id: str, code: ErrorCode):
    request = InitProducerIdRequest(transactional_id=transactional_id)
    response = await broker.ask(request, 4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)


async def test_without_ids_the_producer_is_told_to_try_again(broker: FakeBroker):
    broker.producer_ids.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    response = await broker.ask(InitProducerIdRequest(transactional_id=None), 4)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
