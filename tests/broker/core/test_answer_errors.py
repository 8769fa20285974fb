"""Whether an answer is a failed one, wherever its code lies."""

from __future__ import annotations

from broker.core.answer_errors import error_finder
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
