"""``kafka-leader-election`` without a cluster: its options, its file, its words.

Source: LeaderElectionCommand.java.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from jbodlab.kafka_tools.core.failures import (
    NUMBER_FORMAT,
    RUNTIME,
    ToolFailure,
    command_failed,
    from_kafka,
    operation_failed,
)
from jbodlab.kafka_tools.core.json_fields import (
    as_integer,
    as_list,
    as_object,
    as_text,
    duplicates,
    field_of,
    parse,
)
from jbodlab.kafka_tools.core.options import Option, Words
from protocol.admin.elections import ElectionType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

OPTIONS: Final = (
    Option("admin.config", "As --command-config, until Kafka 4.1.", "file"),
    Option("all-topic-partitions", "Elect for all partitions that need it."),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("command-config", "Properties file for the connection.", "file"),
    Option(
        "election-type",
        "REQUIRED: preferred gives leadership back to the first replica; unclean lets a replica "
        "lead that is not in sync, where there is no leader.",
        "preferred|unclean",
    ),
    Option("partition", "The partition of --topic.", "number"),
    Option(
        "path-to-json-file",
        'The partitions: {"partitions": [{"topic": "a", "partition": 1}]}',
        "file",
    ),
    Option("topic", "The topic of --partition.", "name"),
)
_SELECTIONS: Final = ("topic", "all-topic-partitions", "path-to-json-file")


class NotElected(ToolFailure):
    """Some partitions got no leader."""

    def __init__(self, causes: Sequence[ToolFailure]) -> None:
        failure = command_failed(f"{len(causes)} replica(s) could not be elected")
        super().__init__(failure.java_class, failure.message)
        self._causes = causes

    def trace(self) -> list[str]:
        """Return the headline and those of all partitions."""
        return [self.headline, *(f"\tSuppressed: {cause.headline}" for cause in self._causes)]


def check_words(words: Words) -> None:
    """Check which options go together.

    Raises:
        ToolFailure: one is missing or one too many.
    """
    required = ("bootstrap-server", "election-type")
    missing = [name for name in required if not words.has(name)]
    if missing:
        raise command_failed(f"Missing required option(s): {', '.join(missing)}")
    has_topic, has_partition = words.has("topic"), words.has("partition")
    if len(words.given(_SELECTIONS)) != 1:
        raise command_failed(
            "One and only one of the following options is required: " + ", ".join(_SELECTIONS)
        )
    if has_topic and not has_partition:
        raise command_failed("Missing required option(s): partition")
    if has_partition and not has_topic:
        raise command_failed("Option partition is only allowed if topic is used")


def election_type(text: str) -> ElectionType:
    """Return a type of election by its name, in any case.

    Raises:
        ToolFailure: there is none of that name.
    """
    try:
        return ElectionType[text.upper()]
    except KeyError as error:
        raise ToolFailure(
            "joptsimple.OptionArgumentConversionException",
            f"Cannot parse argument '{text}' of option election-type",
        ) from error


def parse_partitions(text: str) -> list[TopicPartition]:
    """Read the file of ``--path-to-json-file``.

    Raises:
        ToolFailure: it is no JSON, lacks fields, or names a partition twice.
    """
    try:
        document = parse(text)
    except ToolFailure as failure:
        raise operation_failed("Replica election data is empty") from failure
    try:
        fields = as_object(document)
        if "partitions" not in fields:
            raise operation_failed('Replica election data is missing "partitions" field')
        listed = [_partition(as_object(each)) for each in as_list(fields["partitions"])]
    except ToolFailure as failure:
        raise _wrapped(failure) from failure
    twice = duplicates(listed)
    if twice:
        raise operation_failed(
            f"Replica election data contains duplicate partitions: [{', '.join(map(str, twice))}]"
        )
    return listed


def describe_results(
    kind: ElectionType, results: Mapping[TopicPartition, KafkaError | None]
) -> list[str]:
    """Return what is said of the partitions of an election; None stands for success."""
    elected = [str(each) for each, error in sorted(results.items(), key=_name) if error is None]
    not_needed = [
        str(each) for each, error in sorted(results.items(), key=_name) if _is_noop(error)
    ]
    lines: list[str] = []
    if elected:
        lines.append(
            f"Successfully completed leader election ({kind.name}) for partitions "
            f"{', '.join(elected)}"
        )
    if not_needed:
        lines.append(f"Valid replica already elected for partitions {', '.join(not_needed)}")
    for partition, failure in failures(results).items():
        lines.append(
            f"Error completing leader election ({kind.name}) for partition: {partition}: "
            f"{failure.message}"
        )
    return lines


def failures(
    results: Mapping[TopicPartition, KafkaError | None],
) -> dict[TopicPartition, ToolFailure]:
    """Return why partitions got no leader though they need one, sorted."""
    return {
        partition: from_kafka(error)
        for partition, error in sorted(results.items(), key=_name)
        if error is not None and not _is_noop(error)
    }


def _partition(fields: Mapping[str, object]) -> TopicPartition:
    named = dict(fields)
    return TopicPartition(
        as_text(field_of(named, "topic")), as_integer(field_of(named, "partition"))
    )


def _wrapped(failure: ToolFailure) -> ToolFailure:
    if failure.java_class in (RUNTIME, NUMBER_FORMAT) or failure.message.startswith("Replica "):
        return failure
    return ToolFailure(RUNTIME, failure.headline, failure)


def _is_noop(error: KafkaError | None) -> bool:
    return error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED


def _name(item: tuple[TopicPartition, KafkaError | None]) -> TopicPartition:
    return item[0]
