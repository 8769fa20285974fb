"""FindCoordinator: well-formed and never available."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.coordinators import FindCoordinatorRequest
from tests.broker.fakes import FakeBroker


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
