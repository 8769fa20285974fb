"""The command line of ``kafka-consumer-groups``: its options, and which go together.

Source: ConsumerGroupCommandOptions.java, ConsumerGroupCommand.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jbodlab.kafka_tools.core.failures import (
    ToolFailure,
    UsageFailure,
    whole_number,
)
from jbodlab.kafka_tools.core.options import Option, Words, check_forbidden, check_required
from protocol.ids import TopicPartition

OPTIONS: Final = (
    Option("all-groups", "All groups of consumers, in place of --group."),
    Option("all-topics", "With --reset-offsets: every partition with an offset of the group."),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("by-duration", "Reset to the first record of the last P1DT2H3M4.5S.", "duration"),
    Option("command-config", "Properties file for the connection.", "file"),
    Option("delete", "Delete groups without members, with all their offsets."),
    Option("delete-offsets", "Delete offsets of one group in the topics of --topic."),
    Option("describe", "Describe groups: offsets and lag, members or state."),
    Option("dry-run", "With --reset-offsets: only show what would be set. The default."),
    Option("execute", "With --reset-offsets: set the offsets."),
    Option("export", "With --reset-offsets: write the offsets as CSV, for --from-file."),
    Option("from-file", "Reset to the offsets of a CSV file, as --export writes it.", "file"),
    Option("group", "The group; may be given more than once.", "name"),
    Option("list", "List groups."),
    Option("members", "With --describe: the members of the groups."),
    Option("offsets", "With --describe: offsets and lag. The default."),
    Option("reset-offsets", "Set offsets of groups without members."),
    Option("shift-by", "Reset by so many records, back where it is negative.", "count"),
    Option(
        "state",
        "With --describe: the state of the groups. With --list: states, or only groups in these.",
        "stable,empty,...",
        is_bare_too=True,
    ),
    Option("timeout", "How long to wait for each answer; 5000.", "ms"),
    Option("to-current", "Reset to the group's offset, or the end where it has none."),
    Option("to-datetime", "Reset to the first record from then on.", "2026-01-31T23:59:59.999"),
    Option("to-earliest", "Reset to the first record."),
    Option("to-latest", "Reset to the end."),
    Option("to-offset", "Reset to an offset.", "offset"),
    Option(
        "topic",
        "With --reset-offsets and --delete-offsets: a topic, or some of its partitions, as "
        "name:0,1. May be given more than once.",
        "topic",
    ),
    Option("type", "With --list: types, or only groups of these.", "classic,...", is_bare_too=True),
    Option("verbose", "With --describe --members: what each member is assigned."),
)
ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
RESETS: Final = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing.In a future major "
    "release, the default behavior of this command will be to prompt the user before executing the "
    "reset rather than doing a dry run. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)
_VIEWS: Final = ("members", "offsets", "state")
_AVAILABLE_WITH: Final = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
_STATES: Final = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
_TYPES: Final = ("Consumer", "Classic")


@dataclass(frozen=True, slots=True)
class NamedPartitions:
    """What ``--topic`` names, as often as it was given."""

    partitions: tuple[TopicPartition, ...]
    whole_topics: tuple[str, ...]


def check_words(words: Words) -> str:
    """Check which options go together, and return the action.

    Raises:
        UsageFailure: one is missing or one too many.
    """
    _check_available(words)
    check_required(words, ["bootstrap-server"])
    actions = words.given(ACTIONS)
    _check_describe(words)
    if words.has("delete"):
        _check_group(words, "delete")
        if words.has("topic"):
            raise UsageFailure(
                "The consumer does not support topic-specific offset deletion from a consumer "
                "group."
            )
    if words.has("delete-offsets") and not (words.has("group") and words.has("topic")):
        raise UsageFailure("Option [delete-offsets] takes the following options: [group], [topic]")
    _check_reset(words)
    check_forbidden(words, "group", ["all-groups", "list"])
    check_forbidden(words, "topic", ["list", "describe"])
    if len(actions) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        raise UsageFailure(f"Command must include exactly one action: {listed}")
    return actions[0]


def check_scope(words: Words) -> None:
    """Check that a reset says of which partitions, and to which offsets.

    Raises:
        UsageFailure: it does not.
    """
    if not words.given(("all-topics", "topic", "from-file")):
        raise UsageFailure("One of the reset scopes should be defined: --all-topics, --topic.")
    if not words.given(RESETS):
        listed = ", ".join(f"[{reset}]" for reset in RESETS)
        raise UsageFailure(
            f"Option '[reset-offsets]' requires one of the following scenarios: [{listed}]"
        )


def wanted_states(words: Words) -> tuple[str, ...]:
    """Return the states that are listed; none stands for all.

    Raises:
        UsageFailure: there is no such state.
    """
    return _chosen(words.value("state"), _STATES, "state")


def wanted_types(words: Words) -> tuple[str, ...]:
    """Return the types that are listed; none stands for all.

    Raises:
        UsageFailure: there is no such type.
    """
    return _chosen(words.value("type"), _TYPES, "types")


def named_partitions(topics: Sequence[str]) -> NamedPartitions:
    """Return what ``orders`` and ``orders:0,1`` name.

    Raises:
        UsageFailure: there are two colons, or a partition is no number.
    """
    partitions: list[TopicPartition] = []
    for word in topics:
        if ":" not in word:
            continue
        topic, *rest = word.split(":")
        if len(rest) != 1 or not rest[0]:
            raise UsageFailure(f"Invalid topic arg '{word}', expected topic name and partitions")
        partitions += [
            TopicPartition(topic, _partition(number, word)) for number in rest[0].split(",")
        ]
    whole = tuple(word for word in topics if ":" not in word)
    return NamedPartitions(tuple(dict.fromkeys(partitions)), whole)


def all_named(
    named: NamedPartitions, sizes: Mapping[str, Iterable[TopicPartition]]
) -> list[TopicPartition]:
    """Return all partitions that are named, sorted; ``sizes``: those of each whole topic."""
    whole = [tp for topic in named.whole_topics for tp in sizes.get(topic, ())]
    return sorted({*named.partitions, *whole})


def _check_available(words: Words) -> None:
    for option, actions in _AVAILABLE_WITH.items():
        if words.has(option) and not words.given(actions):
            raise UsageFailure(
                f"Option(s) [{option}] are unavailable given other options on the command line"
            )


def _check_describe(words: Words) -> None:
    if not words.has("describe"):
        return
    _check_group(words, "describe")
    if len(words.given(_VIEWS)) > 1:
        listed = ", ".join(f"[{view}]" for view in _VIEWS)
        raise UsageFailure(f"Option [describe] takes at most one of these options: {listed}")
    if words.value("state"):
        raise UsageFailure("Option [describe] does not take a value for [state]")


def _check_reset(words: Words) -> None:
    if not words.has("reset-offsets"):
        return
    if words.has("dry-run") and words.has("execute"):
        raise UsageFailure("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    _check_group(words, "reset-offsets")
    for reset in RESETS:
        check_forbidden(words, reset, [each for each in RESETS if each != reset])


def _check_group(words: Words, action: str) -> None:
    if not words.given(("group", "all-groups")):
        raise UsageFailure(f"Option [{action}] takes one of these options: [all-groups], [group]")


def _chosen(text: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    names = {name.lower(): name for name in known}
    wanted = [word.strip().lower() for word in text.split(",")] if text else []
    if any(word not in names for word in wanted):
        raise UsageFailure(
            f"Invalid {what} list '{text}'. Valid {what.removesuffix('s')}s are: {', '.join(known)}"
        )
    return tuple(names[word] for word in wanted)


def _partition(number: str, word: str) -> int:
    try:
        return whole_number(number)
    except ToolFailure as error:
        raise UsageFailure(
            f"Invalid partition '{number}' specified in topic arg '{word}''"
        ) from error
