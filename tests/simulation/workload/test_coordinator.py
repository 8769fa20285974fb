"""One client's coordinator: found, asked, and looked for anew where it is another one."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.coordinators import Coordinator as Row
from protocol.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.groups import HeartbeatRequest, HeartbeatResponse
from simulation.workload.coordinator import GROUP, Coordinator
from simulation.workload.progress import Progress

ASKED = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


class FakeClient:
    """Brokers 1 and 2; answers what it is given, in order: a code or an error."""

    def __init__(self, *answers: ErrorCode | OSError, found: ErrorCode = ErrorCode.NONE) -> None:
        self.asked: list[int] = []
        self._answers = list(answers)
        self._found = found
        self._finds = 0

    async def ask_any(self, message: Any, version: int) -> FindCoordinatorResponse:
        assert isinstance(message, FindCoordinatorRequest)
        assert (message.key_type, list(message.coordinator_keys), version) == (GROUP, ["g"], 4)
        self._finds += 1
        row = Row(key="g", node_id=self._finds, host="h", port=1, error_code=self._found)
        return FindCoordinatorResponse(coordinators=[row])

    async def ask(self, broker: int, message: Any, version: int) -> HeartbeatResponse:
        assert (message, version) == (ASKED, 4)
        self.asked.append(broker)
        answer = self._answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return HeartbeatResponse(error_code=answer)


def coordinator(client: FakeClient, progress: Progress | None = None) -> Coordinator:
    fake: Any = client
    return Coordinator(fake, "g", GROUP, progress or Progress())


def code_in(answer: HeartbeatResponse) -> int:
    return answer.error_code


async def test_it_is_found_once() -> None:
    client = FakeClient(ErrorCode.NONE, ErrorCode.NONE)
    one = coordinator(client)
    await one.ask(ASKED, 4, code_in)
    await one.ask(ASKED, 4, code_in)
    assert client.asked == [1, 1]


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, OSError("gone")]
)
async def test_it_is_looked_for_anew(error: ErrorCode | OSError) -> None:
    client = FakeClient(error, ErrorCode.NONE)
    one = coordinator(client)
    with pytest.raises((KafkaError, OSError)):
        await one.ask(ASKED, 4, code_in)
    await one.ask(ASKED, 4, code_in)
    assert client.asked == [1, 2]


async def test_nobody_is_asked_while_none_is_found() -> None:
    client = FakeClient(found=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        await coordinator(client).ask(ASKED, 4, code_in)
    assert client.asked == []


async def test_what_passes_is_asked_again_and_counted() -> None:
    progress = Progress()
    client = FakeClient(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE
    )
    done = await coordinator(client, progress).insist(
        lambda: ASKED, 4, code_in, for_ms=10_000, retried=[ErrorCode.STALE_MEMBER_EPOCH]
    )
    assert (done.code, done.may_be_done) == (ErrorCode.NONE, False)
    assert progress.errors == {"COORDINATOR_LOAD_IN_PROGRESS": 1, "STALE_MEMBER_EPOCH": 1}


async def test_what_does_not_pass_is_told_and_whether_it_may_be_done() -> None:
    client = FakeClient(OSError("gone"), ErrorCode.UNKNOWN_MEMBER_ID)
    done = await coordinator(client).insist(lambda: ASKED, 4, code_in, for_ms=10_000)
    assert (done.code, done.may_be_done) == (ErrorCode.UNKNOWN_MEMBER_ID, True)


async def test_it_is_given_up_after_a_while() -> None:
    client = FakeClient(*[ErrorCode.NOT_COORDINATOR] * 20)
    done = await coordinator(client).insist(lambda: ASKED, 4, code_in, for_ms=3_000)
    assert (done.code, done.may_be_done) == (ErrorCode.NOT_COORDINATOR, False)
    assert 3 < len(client.asked) < 10
