"""InitProducerId: a new id for each idempotent producer, epochs for transactional ones."""

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


async def begin(broker: FakeBroker, version: int = 5, **fields: int) -> tuple[int, int, int]:
    request = InitProducerIdRequest(
        transactional_id="pay", transaction_timeout_ms=fields.pop("timeout_ms", 60_000)
    )
    for name, value in fields.items():
        setattr(request, name, value)
    response = await broker.ask(request, version)
    return response.error_code, response.producer_id, response.producer_epoch


async def test_an_empty_transactional_id_is_refused(broker: FakeBroker):
    response = await broker.ask(InitProducerIdRequest(transactional_id=""), 4)
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize("version", range(6))
async def test_a_transactional_id_gets_one_epoch_after_the_other(broker: FakeBroker, version: int):
    assert await begin(broker, version) == (0, 70, 0)
    assert await begin(broker, version) == (0, 70, 1)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
async def test_who_goes_on_with_an_old_epoch_is_fenced(
    broker: FakeBroker, version: int, code: ErrorCode
):
    for _ in range(3):
        await begin(broker)
    assert await begin(broker, version, producer_id=70, producer_epoch=0) == (code, -1, -1)
    assert await begin(broker, version, producer_id=70, producer_epoch=2) == (0, 70, 3)


async def test_a_timeout_above_the_brokers_limit_is_refused(broker: FakeBroker):
    code, *_ = await begin(broker, timeout_ms=900_001)
    assert code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_another_broker_coordinates_it(broker: FakeBroker):
    broker.transactions.shards.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    assert await begin(broker) == (ErrorCode.NOT_COORDINATOR, -1, -1)


async def test_without_ids_the_producer_is_told_to_try_again(broker: FakeBroker):
    broker.producer_ids.error = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    response = await broker.ask(InitProducerIdRequest(transactional_id=None), 4)
    assert response.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
