"""Whether an answer is a failed one, wherever its code lies."""

from __future__ import annotations

from broker.core.answer_errors import STRUCTS_OF_A_STEP, error_finder, has_error_in_steps
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from protocol.messages.metadata import MetadataResponse


def answer(*codes: int) -> AlterReplicaLogDirsResponse:
    partitions = [
        AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
        for index, code in enumerate(codes)
    ]
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(topic_name="empty"),
            AlterReplicaLogDirTopicResult(topic_name="orders", partitions=partitions),
        ]
    )


def test_a_code_deep_in_the_answer_is_found():
    find = error_finder(AlterReplicaLogDirsResponse)
    assert not find(answer(0, 0))
    assert find(answer(0, 56))


def test_a_code_at_the_top_is_found():
    find = error_finder(ApiVersionsResponse)
    assert find(ApiVersionsResponse(error_code=35))
    assert not find(ApiVersionsResponse())


def test_null_arrays_hold_no_code():
    response = MetadataResponse()
    setattr(response, "topics", None)  # noqa: B010 - not what its type allows
    assert not error_finder(MetadataResponse)(response)


def test_a_message_without_codes_never_failed():
    assert not error_finder(ApiVersionsRequest)(ApiVersionsRequest())


def found_in_steps(message: object) -> tuple[bool, int]:
    """Return what was found, and in how many steps."""
    steps, count = has_error_in_steps(message), 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def test_a_large_answer_is_looked_through_in_steps():
    assert found_in_steps(answer(0, 0)) == (False, 1)
    assert found_in_steps(answer(*[0] * 3 * STRUCTS_OF_A_STEP, 56)) == (True, 4)
    assert found_in_steps(ApiVersionsResponse(error_code=35)) == (True, 1)
    assert found_in_steps(ApiVersionsRequest()) == (False, 1)
