"""How Kafka's tools fail: exceptions by the names that they have there, and their words for people.

It prints nothing: each tool shows failures in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from protocol.errors import ErrorCode, KafkaError

ADMIN_COMMAND_FAILED: Final = "org.apache.kafka.server.common.AdminCommandFailedException"
ADMIN_OPERATION: Final = "org.apache.kafka.server.common.AdminOperationException"
CONFIG: Final = "org.apache.kafka.common.config.ConfigException"
EXECUTION: Final = "java.util.concurrent.ExecutionException"
ILLEGAL_ARGUMENT: Final = "java.lang.IllegalArgumentException"
IO: Final = "java.io.IOException"
JSON_MAPPING: Final = "com.fasterxml.jackson.databind.JsonMappingException"
JSON_PARSE: Final = "com.fasterxml.jackson.core.JsonParseException"
NO_SUCH_FILE: Final = "java.nio.file.NoSuchFileException"
NUMBER_FORMAT: Final = "java.lang.NumberFormatException"
RUNTIME: Final = "java.lang.RuntimeException"
TIMEOUT: Final = "org.apache.kafka.common.errors.TimeoutException"

_ERRORS: Final = "org.apache.kafka.common.errors"
# Where the class is not the code's name in camel case.
_CLASSES: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
}
# What a client says of a code that comes without a message, or in a field that has no room for one.
_TEXTS: Final = {
    ErrorCode.UNKNOWN_SERVER_ERROR: (
        "The server experienced an unexpected error when processing the request."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "The request attempted to perform an operation on an invalid topic."
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "Replica assignment is invalid.",
    ErrorCode.NOT_CONTROLLER: "This is not the correct controller for this cluster.",
    ErrorCode.KAFKA_STORAGE_ERROR: "Disk error when trying to access log file on the disk.",
    ErrorCode.LOG_DIR_NOT_FOUND: (
        "The user-specified log directory is not found in the broker config."
    ),
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: (
        "Eligible topic partition leaders are not available."
    ),
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.INVALID_GROUP_ID: "The configured groupId is invalid.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively "
        "subscribed to it."
    ),
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "Delegation Token feature is not enabled.",
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: "Delegation Token is not found on server.",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "Specified Principal is not valid Owner/Renewer.",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: (
        "Delegation Token requests are not allowed on PLAINTEXT/1-way SSL channels and on "
        "delegation token authenticated channels."
    ),
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "Delegation Token authorization failed.",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "Delegation Token is expired.",
    ErrorCode.INVALID_PRINCIPAL_TYPE: "Supplied principalType is not supported.",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "The regular expression is not valid.",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
}


_CLASS_NAMES: Final = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*Exception: ")
_MARKS: Final = re.compile(r"^(Caused by: |\tSuppressed: |Exception in thread \"main\" )")


def told(lines: Iterable[str]) -> str:
    """Return what people are told of a failure: Kafka's lines without the names of Java's classes.

    A line that says nothing new without them is left out.
    """
    said: list[str] = []
    for line in "\n".join(lines).split("\n"):
        words = line.replace(f"{NO_SUCH_FILE}: ", "there is no file ")
        words = _MARKS.sub("", _CLASS_NAMES.sub("", words))
        if words == line or not any(words in earlier for earlier in said):
            said.append(words)
    return "\n".join(said)


class ToolFailure(Exception):  # noqa: N818 - what ended a tool, whoever is to blame
    """Something that ends a tool with exit code 1, as an exception does in Kafka's."""

    def __init__(self, java_class: str, message: str, cause: ToolFailure | None = None) -> None:
        """Note what happened.

        Args:
            java_class: full name of the exception of Kafka's tool.
            message: what it says.
            cause: the failure that led to it.
        """
        super().__init__(message)
        self.java_class = java_class
        self.message = message
        self.cause = cause

    @property
    def headline(self) -> str:
        """Class and message, as Java prints them."""
        return f"{self.java_class}: {self.message}"

    def trace(self) -> list[str]:
        """Return a stack trace's lines without its frames: the headline and the causes."""
        lines = [self.headline]
        cause = self.cause
        while cause is not None:
            lines.append(f"Caused by: {cause.headline}")
            cause = cause.cause
        return lines


class TerseFailure(Exception):  # noqa: N818 - as ToolFailure
    """A failure of which only the message is shown."""


class UsageFailure(Exception):  # noqa: N818 - as ToolFailure
    """A command line without sense: its message, then all options, on stderr."""


def java_class(code: ErrorCode) -> str:
    """Return the full name of the exception that Kafka's clients throw for a code.

    Source: Errors.java.
    """
    camel_case = "".join(word.capitalize() for word in code.name.split("_"))
    return f"{_ERRORS}.{_CLASSES.get(code, camel_case + 'Exception')}"


def default_text(code: ErrorCode) -> str:
    """Return what a client says when a code comes without a message."""
    return _TEXTS.get(code, code.name)


def answered(code: int, message: str | None = None) -> KafkaError:
    """Return what an answer's error code stands for; a missing message is the client's own."""
    found = ErrorCode(code)
    return KafkaError(found, default_text(found) if message is None else message)


def from_kafka(error: KafkaError) -> ToolFailure:
    """Return an answer's error as the exception of Kafka's tools."""
    return ToolFailure(java_class(error.code), error.message)


def executed(error: KafkaError) -> ToolFailure:
    """Return an answer's error as a tool meets it that waits for a future."""
    cause = from_kafka(error)
    return ToolFailure(EXECUTION, cause.headline, cause)


def illegal(message: str) -> ToolFailure:
    """Return what a tool fails with that was told what cannot be."""
    return ToolFailure(ILLEGAL_ARGUMENT, message)


def command_failed(message: str, cause: ToolFailure | None = None) -> ToolFailure:
    """Return an AdminCommandFailedException."""
    return ToolFailure(ADMIN_COMMAND_FAILED, message, cause)


def operation_failed(message: str, cause: ToolFailure | None = None) -> ToolFailure:
    """Return an AdminOperationException."""
    return ToolFailure(ADMIN_OPERATION, message, cause)


def whole_number(text: str) -> int:
    """Return a number of at most 32 bits from its digits.

    Raises:
        ToolFailure: it is none.

    Source: Integer.parseInt.
    """
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and -(2**31) <= int(text) < 2**31):
        raise ToolFailure(NUMBER_FORMAT, f'For input string: "{text}"')
    return int(text)
