"""The command line of kafka-consumer-groups."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.failures import UsageFailure
from jbodlab.kafka_tools.core.group_words import (
    OPTIONS,
    all_named,
    check_scope,
    check_words,
    named_partitions,
    wanted_states,
    wanted_types,
)
from jbodlab.kafka_tools.core.options import Words, read_words
from protocol.ids import TopicPartition


def words(line: str) -> Words:
    return read_words(shlex.split(f"--bootstrap-server a:1 {line}"), OPTIONS)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("--list --state --type", "list"),
        ("--describe --group a --group b --members --verbose", "describe"),
        ("--describe --all-groups --state", "describe"),
        ("--delete --group a", "delete"),
        ("--reset-offsets --group a --topic t --to-latest --execute", "reset-offsets"),
        ("--delete-offsets --group a --topic t:0", "delete-offsets"),
        (
            "--group a",
            "Command must include exactly one action: --list, --describe, --delete, "
            "--reset-offsets, --delete-offsets",
        ),
        ("--describe", "Option [describe] takes one of these options: [all-groups], [group]"),
        (
            "--describe --group a --members --state",
            "Option [describe] takes at most one of these options: [members], [offsets], [state]",
        ),
        (
            "--describe --group a --state empty",
            "Option [describe] does not take a value for [state]",
        ),
        (
            "--describe --group a --topic t",
            'Option "[topic]" can\'t be used with option "[describe]"',
        ),
        ("--list --group a", 'Option "[group]" can\'t be used with option "[list]"'),
        (
            "--list --members",
            "Option(s) [members] are unavailable given other options on the command line",
        ),
        (
            "--delete --group a --topic t",
            "The consumer does not support topic-specific offset deletion from a consumer group.",
        ),
        (
            "--delete-offsets --group a",
            "Option [delete-offsets] takes the following options: [group], [topic]",
        ),
        (
            "--reset-offsets --group a --dry-run --execute",
            "Option [reset-offsets] only accepts one of [execute] and [dry-run]",
        ),
        (
            "--reset-offsets --group a --to-latest --to-earliest",
            'Option "[to-earliest]" can\'t be used with option "[to-latest]"',
        ),
    ],
)
def test_options_go_with_their_actions(line: str, result: str):
    try:
        found = check_words(words(line))
    except UsageFailure as failure:
        found = str(failure)
    assert found == result


def test_a_reset_says_of_what_and_to_what():
    check_scope(words("--all-topics --to-latest"))
    check_scope(words("--from-file f"))
    with pytest.raises(UsageFailure, match="One of the reset scopes"):
        check_scope(words("--to-latest"))
    with pytest.raises(UsageFailure, match="requires one of the following scenarios"):
        check_scope(words("--topic t"))


def test_states_and_types_are_known_ones_in_any_case():
    assert wanted_states(words("--list --state EMPTY,stable")) == ("Empty", "Stable")
    assert wanted_states(words("--list --state --type")) == ()
    assert wanted_types(words("--list --type classic")) == ("Classic",)
    with pytest.raises(UsageFailure, match="Valid types are: Consumer, Classic"):
        wanted_types(words("--list --type x"))


def test_topics_are_named_whole_or_in_part():
    named = named_partitions(["a:0,2", "b", "a:2"])
    a0, a2, b0 = TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 0)
    assert (named.partitions, named.whole_topics) == ((a0, a2), ("b",))
    assert all_named(named, {"b": [b0]}) == [a0, a2, b0]
    for word in ("a:b:c", "a:", "a:x"):
        with pytest.raises(UsageFailure, match=f"topic arg '{word}'"):
            named_partitions([word])
