"""The answer of a request whose results stand once brokers were told of them.

Source: ZkAdminManager.scala topicPurgatory, DelayedCreatePartitions, DelayedDeleteTopics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from controller.core.effects import Answer
from controller.core.events import RequestArrived
from controller.core.step import Step
from protocol.errors import ErrorCode


class Result(Protocol):
    """What an answer says of one topic."""

    error_code: int


R = TypeVar("R", bound=Result)


def answer_once_told(
    step: Step,
    event: RequestArrived,
    results: list[R],
    respond: Callable[[list[R]], Any],
    timed_out: Callable[[R], R],
    *,
    is_waiting: bool,
) -> None:
    """Answer once brokers were told, or at the request's timeout; at once if nobody is told.

    Args:
        step: of this event.
        event: of a request that has a ``timeout_ms``; up to 0 nothing is waited for.
        results: of all topics.
        respond: makes an answer of results.
        timed_out: makes of the result of a topic that was changed what a late answer says of it.
        is_waiting: whether brokers are told of any.
    """
    done = Answer(event.token, respond(results))
    if not is_waiting:
        step.effects.append(done)
        return
    late = Answer(
        event.token,
        respond([timed_out(r) if r.error_code == ErrorCode.NONE else r for r in results]),
    )
    if event.request.timeout_ms <= 0:
        step.effects.append(late)
    else:
        step.when_told(done, late=late, deadline_ms=step.now_ms + event.request.timeout_ms)
