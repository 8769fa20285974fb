"""FindCoordinator: well-formed and never available."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.coordinators import FindCoordinatorRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize("version", [0, 6])
async def test_the_log_names_a_client_that_waits_for_a_group_once(
    broker: FakeBroker, version: int, caplog: pytest.LogCaptureFixture
):
    request = FindCoordinatorRequest()
    if version == 0:
        request.key = "readers"
    else:
        request.coordinator_keys = ["readers"]
    for _ in range(3):
        await broker.ask(request, version)
    (line,) = caplog.messages
    assert "client 'test' from 127.0.0.1 asked for the coordinator of group 'readers'" in line


@pytest.mark.parametrize("version", range(7))
async def test_no_coordinator_is_available(broker: FakeBroker, version: int):
    request = FindCoordinatorRequest()
    if version >= 4:
        request.coordinator_keys = ["a", "b"]
    else:
        request.key = "a"
    response = await broker.ask(request, version)
    if version >= 4:
        assert [(c.key, c.error_code) for c in response.coordinators] == [("a", 15), ("b", 15)]
    else:
        assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert response.node_id == -1
