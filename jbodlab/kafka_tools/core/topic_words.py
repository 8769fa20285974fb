"""The command line of ``kafka-topics``: its options, which go together, and what they mean.

Source: TopicCommand.java TopicCommandOptions.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jbodlab.kafka_tools.core.failures import (
    RUNTIME,
    ToolFailure,
    UsageFailure,
    command_failed,
    illegal,
    operation_failed,
    whole_number,
)
from jbodlab.kafka_tools.core.json_fields import duplicates
from jbodlab.kafka_tools.core.options import Option, Words, check_forbidden, check_required
from protocol.ids import uuid_from_text
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE

_ID_BYTES: Final = 16
_ID_CHARACTERS_MAX: Final = 24
"""With padding."""
_ID_DIGITS: Final = frozenset(string.ascii_letters + string.digits + "-_")

OPTIONS: Final = (
    Option("alter", "Add partitions to topics; for settings there is kafka-configs."),
    Option("at-min-isr-partitions", "Describe only partitions with just enough in-sync replicas."),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("command-config", "Properties file for the connection.", "file"),
    Option("config", "With --create: a setting. May be given more than once.", "name=value"),
    Option("create", "Create a topic."),
    Option("delete", "Delete topics."),
    Option("delete-config", "Not supported any more: there is kafka-configs.", "name"),
    Option("describe", "Describe topics."),
    Option("exclude-internal", "Leave internal topics out of --list and --describe."),
    Option("if-exists", "Do nothing when there is no such topic."),
    Option("if-not-exists", "Do nothing when there is such a topic."),
    Option("list", "List topics."),
    Option("partition-size-limit-per-response", "Partitions per answer; 2000.", "count"),
    Option("partitions", "With --create and --alter: how many there shall be.", "count"),
    Option(
        "replica-assignment",
        "Brokers of each partition: 1:2,2:3 are two partitions of two replicas.",
        "brokers",
    ),
    Option("replication-factor", "With --create: replicas of each partition.", "count"),
    Option("topic", "The topic; but for --create a regular expression.", "name"),
    Option("topic-id", "With --describe: the topic's id; goes before --topic.", "id"),
    Option("topics-with-overrides", "Describe only topics with settings of their own."),
    Option("unavailable-partitions", "Describe only partitions whose leader is not there."),
    Option("under-min-isr-partitions", "Describe only partitions with too few in-sync replicas."),
    Option("under-replicated-partitions", "Describe only partitions with replicas out of sync."),
)
ACTIONS: Final = ("create", "list", "alter", "describe", "delete")
REPORTS: Final = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
# The actions that an option goes with.
_GOES_WITH: Final = {
    "config": ("alter", "create"),
    "delete-config": ("alter",),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    **dict.fromkeys(REPORTS, ("describe",)),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
_INTERNAL: Final = (CONSUMER_OFFSETS, TRANSACTION_STATE)
_MIXED_UP: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTopic:
    """What ``--create`` and ``--alter`` say of a topic."""

    partitions: int | None
    replication_factor: int | None
    assignment: tuple[tuple[int, ...], ...]
    """Brokers by partition; empty for the cluster to choose."""
    configs: dict[str, str]


def check_words(words: Words) -> str:
    """Return the action of a command line.

    Raises:
        UsageFailure: there is none or more than one, an option is missing or does not go with it.
        ToolFailure: there is no ``--bootstrap-server``.
    """
    actions = words.given(ACTIONS)
    if len(actions) != 1:
        raise UsageFailure(
            "Command must include exactly one action: --list, --describe, --create, --alter or "
            "--delete"
        )
    (action,) = actions
    if not words.has("bootstrap-server"):
        raise illegal("--bootstrap-server must be specified")
    if action not in ("list", "describe"):
        check_required(words, ["topic"])
    if action == "alter":
        _check_alter(words)
    _check_pairs(words)
    return action


def wanted_topic(words: Words) -> WantedTopic:
    """Return what a command line wants a topic to be.

    Raises:
        ToolFailure: a number, a setting or an assignment makes no sense.
    """
    partitions = words.number("partitions", 0) if words.has("partitions") else None
    has_factor = words.has("replication-factor")
    return WantedTopic(
        partitions=partitions,
        replication_factor=words.number("replication-factor", 0) if has_factor else None,
        assignment=parse_assignment(words.value("replica-assignment")),
        configs=_configs(words.values("config")),
    )


def check_counts(topic: WantedTopic) -> None:
    """Check numbers that no cluster can fulfil.

    Raises:
        ToolFailure: a number is too small or too large.
    """
    if topic.replication_factor is not None and not 1 <= topic.replication_factor <= 32767:
        raise illegal("The replication factor must be between 1 and 32767 inclusive")
    if topic.partitions is not None and topic.partitions < 1:
        raise illegal("The partitions must be greater than 0")


def parse_assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """Return the brokers of each partition from ``1:2,2:3``.

    Raises:
        ToolFailure: a broker is no number or is there twice, or partitions differ in replicas.
    """
    assignment: list[tuple[int, ...]] = []
    for number, word in enumerate(text.split(",") if text else ()):
        brokers = tuple(whole_number(each.strip()) for each in word.split(":"))
        twice = duplicates(brokers)
        if twice:
            raise command_failed(
                "Partition replica lists may not contain duplicate entries: "
                + ",".join(map(str, twice))
            )
        if assignment and len(brokers) != len(assignment[0]):
            raise operation_failed(
                f"Partition {number} has different replication factor: "
                f"[{', '.join(map(str, brokers))}]"
            )
        assignment.append(brokers)
    return tuple(assignment)


def chosen_topics(
    topics: Sequence[str], pattern: str | None, *, excludes_internal: bool
) -> list[str]:
    """Return the topics that a pattern matches whole; None matches all.

    Raises:
        ToolFailure: it is no regular expression.

    Source: TopicFilter.java IncludeList.
    """
    if pattern is not None:
        expression = pattern.strip().replace(",", "|").replace(" ", "").strip("\"'")
        try:
            matches = re.compile(expression).fullmatch
        except re.error as error:
            raise ToolFailure(RUNTIME, f"{expression} is an invalid regex.") from error
        topics = [topic for topic in topics if matches(topic)]
    return [topic for topic in topics if not (excludes_internal and topic in _INTERNAL)]


def check_found(found: Sequence[object], what: str, wanted: str | None, words: Words) -> None:
    """Check that something was found where something was asked for.

    Raises:
        ToolFailure: nothing was, and ``--if-exists`` was not given.
    """
    if wanted and not found and not words.has("if-exists"):
        raise illegal(f"{what} '{wanted}' does not exist as expected")


def warning_for(name: str) -> str | None:
    """Return what is said of a name that metrics could mix up with another one."""
    return _MIXED_UP if "." in name or "_" in name else None


def _check_alter(words: Words) -> None:
    if words.has("config"):
        raise UsageFailure(
            'Option combination "[[bootstrap-server], [config]]" can\'t be used with option '
            '"[alter]" (the kafka-configs CLI supports altering topic configs with a '
            "--bootstrap-server option)"
        )
    check_required(words, ["partitions"])


def _check_pairs(words: Words) -> None:
    for option, goes_with in _GOES_WITH.items():
        check_forbidden(words, option, [each for each in ACTIONS if each not in goes_with])
    if words.has("create"):
        check_forbidden(words, "replica-assignment", ["partitions", "replication-factor"])
    for report in REPORTS:
        check_forbidden(words, report, ["topics-with-overrides"])


def _configs(words: Sequence[str]) -> dict[str, str]:
    pairs = [re.split(r"\s*=\s*", word) for word in words]
    if any(len(pair) != 2 for pair in pairs):
        raise illegal(
            "requirement failed: Invalid topic config: all configs to be added must be in the "
            'format "key=val".',
        )
    return {key.strip(): value.strip() for key, value in pairs}


def topic_id_of(text: str) -> bytes:
    """Return the 16 bytes that ``--topic-id`` names. Source: Uuid.java fromString, Base64.java.

    Raises:
        ToolFailure: it names none.
    """
    if len(text) > _ID_CHARACTERS_MAX:
        raise illegal(
            f"Input string with prefix `{text[:_ID_CHARACTERS_MAX]}` is too long to be decoded as "
            "a base64 UUID"
        )
    digits = text.rstrip("=")
    wrong = [digit for digit in digits if digit not in _ID_DIGITS]
    if wrong:
        raise illegal(f"Illegal base64 character {ord(wrong[0]):x}")
    if len(digits) % 4 == 1:
        raise illegal("Last unit does not have enough valid bits")
    size_bytes = len(digits) * 3 // 4
    if size_bytes != _ID_BYTES:
        raise illegal(
            f"Input string `{text}` decoded as {size_bytes} bytes, which is not equal to the "
            f"expected {_ID_BYTES} bytes of a base64-encoded UUID"
        )
    return uuid_from_text(digits)
