"""Failures carry the names and words that people know from Kafka's tools."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import (
    NO_SUCH_FILE,
    ToolFailure,
    answered,
    command_failed,
    executed,
    from_kafka,
    java_class,
    told,
    whole_number,
)
from protocol.errors import ErrorCode, KafkaError

ERRORS = "org.apache.kafka.common.errors"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, "KafkaStorageException"),
        (ErrorCode.LOG_DIR_NOT_FOUND, "LogDirNotFoundException"),
        (ErrorCode.REQUEST_TIMED_OUT, "TimeoutException"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "InvalidTopicException"),
        (ErrorCode.TOPIC_ALREADY_EXISTS, "TopicExistsException"),
        (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "PreferredLeaderNotAvailableException"),
    ],
)
def test_codes_have_the_names_of_kafkas_exceptions(code: ErrorCode, name: str):
    assert java_class(code) == f"{ERRORS}.{name}"


def test_a_code_without_a_message_gets_one():
    assert answered(ErrorCode.REQUEST_TIMED_OUT).message == "The request timed out."
    assert answered(ErrorCode.REQUEST_TIMED_OUT, "5 s").message == "5 s"
    assert answered(ErrorCode.FENCED_LEADER_EPOCH).message == "FENCED_LEADER_EPOCH"
    # An empty one is a message, too.
    assert from_kafka(answered(ErrorCode.REQUEST_TIMED_OUT, "")).headline == (
        f"{ERRORS}.TimeoutException: "
    )


def test_a_trace_names_all_causes_and_no_lines_of_code():
    failure = ToolFailure("a.B", "over", executed(KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, "no")))
    assert failure.trace() == [
        "a.B: over",
        f"Caused by: java.util.concurrent.ExecutionException: {ERRORS}.LogDirNotFoundException: no",
        f"Caused by: {ERRORS}.LogDirNotFoundException: no",
    ]


def test_numbers_have_at_most_32_bits():
    assert [whole_number(text) for text in ("7", "-7", "+7")] == [7, -7, 7]
    for text in ("", "x", "1.5", " 1", "2147483648", "-"):
        with pytest.raises(ToolFailure) as caught:
            whole_number(text)
        assert caught.value.message == f'For input string: "{text}"'


def test_people_are_told_no_java_class_and_nothing_twice():
    cause = from_kafka(KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, "no such log dir"))
    failure = command_failed("Failed to alter dir for a-0-1", cause)
    assert told([f"Error: {failure.message}", *failure.trace()]).split("\n") == [
        "Error: Failed to alter dir for a-0-1",
        "no such log dir",
    ]
    missing = ToolFailure(NO_SUCH_FILE, "/x")
    assert told(["heading", *missing.trace()]) == "heading\nthere is no file /x"
    assert told(["an option list", "  an option", "  an option"]).count("an option") == 3
