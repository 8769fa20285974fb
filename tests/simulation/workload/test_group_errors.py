"""What a member of aiokafka hears of an error that a group has as a whole."""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.errors import GroupLoadInProgressError
from aiokafka.protocol.commit import (
    OffsetFetchRequest,
    OffsetFetchResponse_v1,
    OffsetFetchResponse_v3,
)
from aiokafka.protocol.coordination import FindCoordinatorRequest, FindCoordinatorResponse_v0

from protocol.errors import ErrorCode
from simulation.workload.group_errors import hear_group_errors

_LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
_ASKED = OffsetFetchRequest("readers", [("orders", [0])])


class Client:
    """Answers everything in one way."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        hear_group_errors(self)

    async def send(self, node_id: int, request: Any, **words: Any) -> Any:
        del node_id, request, words
        return self.answer


async def test_an_error_of_the_whole_group_is_raised() -> None:
    with pytest.raises(GroupLoadInProgressError):
        await Client(OffsetFetchResponse_v3(0, [], _LOADING)).send(1, _ASKED)


@pytest.mark.parametrize(
    "answer",
    [
        OffsetFetchResponse_v3(0, [("orders", [(0, 5, "", 0)])], 0),
        # The library reads what partitions say.
        OffsetFetchResponse_v1([("orders", [(0, -1, "", _LOADING)])]),
    ],
)
async def test_all_else_comes_as_it_is(answer: Any) -> None:
    assert await Client(answer).send(1, _ASKED) is answer


async def test_other_answers_come_as_they_are() -> None:
    answer = FindCoordinatorResponse_v0(_LOADING, 1, "localhost", 9092)
    assert await Client(answer).send(1, FindCoordinatorRequest("readers", 0)) is answer
