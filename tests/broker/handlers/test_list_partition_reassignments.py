"""ListPartitionReassignments: passed on; a silent controller has a code."""

from __future__ import annotations

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.broker.fakes import FakeBroker


async def test_the_controller_answers(broker: FakeBroker):
    broker.controller.answer = ListPartitionReassignmentsResponse(error_message="")
    response = await broker.ask(ListPartitionReassignmentsRequest(timeout_ms=99), 0)
    assert (response.error_code, list(response.topics)) == (0, [])
    assert broker.controller.forwarded[0][1:] == (0, 99)


async def test_a_silent_controller_has_a_code(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silent")
    response = await broker.ask(ListPartitionReassignmentsRequest(), 0)
    assert (response.error_code, response.error_message) == (7, "silent")
