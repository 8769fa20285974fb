import pytest
from kafka.errors import BrokerResponseError

from protocol.errors import (
    REFRESH_METADATA,
    RETRIABLE,
    ErrorCode,
    KafkaError,
    Malformed,
    MalformedAnswer,
)

NAMED_OTHERWISE = {
    -1: "UNKNOWN",
    0: "NO_ERROR",
    6: "NOT_LEADER_FOR_PARTITION",
    10: "MESSAGE_SIZE_TOO_LARGE",
    17: "INVALID_TOPIC",
    39: "INVALID_REPLICATION_ASSIGNMENT",
}
"""Codes that kafka-python calls by an older or a shorter name."""


def kafka_python_names() -> dict[int, str]:
    found: dict[int, str] = {}
    waiting = [BrokerResponseError]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if isinstance(cls.errno, int):
            found[cls.errno] = cls.message
    return found


def test_codes_are_the_whole_range_of_kafka_4_3() -> None:
    assert [code.value for code in ErrorCode] == list(range(-1, 134))


def test_kafka_python_has_the_same_names() -> None:
    theirs = kafka_python_names()
    ours = {code: NAMED_OTHERWISE.get(code, ErrorCode(code).name) for code in theirs}
    assert len(theirs) > 120
    assert theirs == ours


def test_a_storage_error_is_retried_after_fresh_metadata() -> None:
    assert ErrorCode.KAFKA_STORAGE_ERROR in RETRIABLE
    assert ErrorCode.KAFKA_STORAGE_ERROR in REFRESH_METADATA
    assert REFRESH_METADATA <= RETRIABLE


@pytest.mark.parametrize(
    ("message", "text"),
    [("", "LOG_DIR_NOT_FOUND"), ("/data/9", "LOG_DIR_NOT_FOUND: /data/9")],
)
def test_an_error_reads_as_its_code_and_its_message(message: str, text: str) -> None:
    error = KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, message)
    assert (str(error), error.code, error.message) == (text, 57, message)


def test_a_malformed_message_is_a_value_error() -> None:
    assert issubclass(Malformed, ValueError)


def test_who_is_to_blame_is_in_the_type() -> None:
    """A lost connection to who asked, and never a reason to hang up on a client."""
    assert issubclass(MalformedAnswer, ConnectionError)
    assert not issubclass(MalformedAnswer, Malformed)


def test_a_code_that_nobody_knows_is_an_unexpected_error() -> None:
    assert ErrorCode(12_345) is ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(ValueError, match="is no error code"):
        ErrorCode("NONE")
