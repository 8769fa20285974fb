"""DescribeCluster: live brokers, and this one as the door to the controller."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", range(3))
async def test_the_cluster_is_described(broker: FakeBroker, version: int):
    response = await broker.ask(DescribeClusterRequest(), version)
    assert (response.error_code, response.error_message) == (0, None)
    assert (response.cluster_id, response.controller_id) == ("cluster", 1)
    assert [(b.broker_id, b.port) for b in response.brokers] == [(1, 9091), (2, 9092)]
    assert response.cluster_authorized_operations == -(2**31)


async def test_fenced_brokers_are_those_that_the_controller_knows(broker: FakeBroker):
    fenced = DescribeClusterBroker(broker_id=3, host="there", port=9093, is_fenced=True)
    broker.controller.answer = DescribeClusterResponse(controller_id=100, brokers=[fenced])
    response = await broker.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert [(b.broker_id, b.port, b.is_fenced) for b in response.brokers] == [(3, 9093, True)]
    assert response.controller_id == 1, "clients ask brokers"


async def test_a_controller_that_is_away_is_told(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no answer")
    response = await broker.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert (response.error_code, response.error_message) == (7, "no answer")


async def test_a_controller_that_refuses_is_no_cluster_without_brokers(broker: FakeBroker):
    broker.controller.answer = DescribeClusterResponse(
        error_code=ErrorCode.NOT_CONTROLLER, error_message="not I"
    )
    response = await broker.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
    assert (response.error_code, response.error_message) == (41, "not I")
    assert not response.brokers


async def test_operations_come_on_request(broker: FakeBroker):
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert (await broker.ask(request, 1)).cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
async def test_controllers_cannot_be_asked_here(
    broker: FakeBroker, endpoint_type: int, code: ErrorCode
):
    response = await broker.ask(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert response.error_code == code
