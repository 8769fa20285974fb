"""DescribeCluster: live brokers, and this one as the door to the controller."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.cluster import DescribeClusterRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", range(2))
async def test_the_cluster_is_described(broker: FakeBroker, version: int):
    response = await broker.ask(DescribeClusterRequest(), version)
    assert (response.error_code, response.error_message) == (0, None)
    assert (response.cluster_id, response.controller_id) == ("cluster", 1)
    assert [(b.broker_id, b.port) for b in response.brokers] == [(1, 9091), (2, 9092)]
    assert response.cluster_authorized_operations == -(2**31)


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
