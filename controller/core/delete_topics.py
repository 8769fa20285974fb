"""DeleteTopics: queues topics and answers once every reachable broker has forgotten them.

The deletion itself may take longer: replicas on dead brokers and offline log dirs wait. Source:
KafkaApis.handleDeleteTopicsRequest (3.9).
"""

from __future__ import annotations

from controller.core import deletion
from controller.core.events import RequestArrived
from controller.core.step import Step
from controller.core.told_answers import answer_once_told
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)


def delete_topics(step: Step, event: RequestArrived) -> None:
    """Serve DeleteTopics v0-6."""
    request: DeleteTopicsRequest = event.request
    wanted = _wanted(request, event.version)
    if not step.defaults.delete_topic_enable:
        is_new = event.version >= 3
        code = ErrorCode.TOPIC_DELETION_DISABLED if is_new else ErrorCode.INVALID_REQUEST
        results = [_result(entry.name, entry.topic_id, code) for entry in wanted]
    elif any(entry.name is not None and entry.topic_id != ZERO_UUID for entry in wanted):
        results = [
            _result(entry.name, entry.topic_id, ErrorCode.INVALID_REQUEST) for entry in wanted
        ]
    else:
        results = [_look_up(step, entry) for entry in wanted]
    found = [r.name for r in results if r.error_code == ErrorCode.NONE and r.name is not None]
    if found:
        deletion.queue_topics(step, dict.fromkeys(found))
    answer_once_told(
        step,
        event,
        results,
        lambda results: DeleteTopicsResponse(responses=results),
        lambda result: _result(result.name, result.topic_id, ErrorCode.REQUEST_TIMED_OUT),
        is_waiting=bool(found),
    )


def _wanted(request: DeleteTopicsRequest, version: int) -> list[DeleteTopicState]:
    if version >= 6:
        return list(request.topics)
    return [DeleteTopicState(name=name) for name in request.topic_names]


def _look_up(step: Step, entry: DeleteTopicState) -> DeletableTopicResult:
    if entry.name is None and entry.topic_id == ZERO_UUID:
        return _result(None, ZERO_UUID, ErrorCode.INVALID_REQUEST)
    if entry.name is None:
        name = step.state.topic_names.get(bytes(entry.topic_id))
        if name is None:
            return _result(None, entry.topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
        return _result(name, entry.topic_id, ErrorCode.NONE)
    topic = step.state.topics.get(entry.name)
    if topic is None:
        return _result(entry.name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return _result(entry.name, topic.topic_id, ErrorCode.NONE)


def _result(name: str | None, topic_id: bytes, code: ErrorCode) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=bytes(topic_id), error_code=code)
